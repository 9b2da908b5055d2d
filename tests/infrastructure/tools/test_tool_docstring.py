"""What a docstring tells a model."""

from turnkeeper.infrastructure.tools.docstring import Docstring


def test_what_stands_before_the_first_section_is_the_description() -> None:
    docstring = Docstring.of(
        """Roll dice.

        As many as you like.

        Returns:
            The sum.
        """
    )

    assert docstring == Docstring(description="Roll dice.\n\nAs many as you like.")


def test_each_argument_has_its_text_in_one_line() -> None:
    docstring = Docstring.of(
        """Roll dice.

        Args:
            sides (int): How many sides: two
                or more.
            times:
                How often.

        Raises:
            ValueError: Never told.
        """
    )

    assert docstring == Docstring(
        description="Roll dice.",
        arguments={"sides": "How many sides: two or more.", "times": "How often."},
    )


def test_no_docstring_says_nothing() -> None:
    assert Docstring.of(None) == Docstring.of("") == Docstring()


def test_a_word_that_only_looks_like_a_section_is_text() -> None:
    assert Docstring.of("Args: none at all.") == Docstring(description="Args: none at all.")
