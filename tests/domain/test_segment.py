"""Messages that are cut from a text lose nothing, fit, and keep code blocks whole."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnkeeper.domain.segment import Segmenter
from turnkeeper.domain.segment_grapheme import joins

LINE, INDENTED, PARAGRAPH = "x = 1\n", "    x = 1\n", "x = 1\n\n"
LIMITS = st.sampled_from((20, 33, 64, 200, 2000))
SIZES = st.lists(st.integers(1, 90), max_size=60)
MARKED = st.text(
    alphabet=st.sampled_from(list('abc   \n\n.!?`*|[]()"~#:é。「」👨\u200d👩🇩🇪🇫🇷ก็\u0301')),
    max_size=900,
)
PLAIN = st.text(
    alphabet=st.sampled_from(list("abc   \n\n.!?。é👨\u200d👩🏽🇩🇪🇫🇷ก็ำ한각\u0301")), max_size=900
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Prose, tables and blocks of code, one after the other."""
    parts = []
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(("prose", "table", "ticks", "tildes", "open")))
        lines = draw(st.lists(st.text("abc de.", max_size=70), max_size=12))
        body = "\n".join(lines)
        if kind == "ticks":
            body = f"```py\n{body}\n```"
        elif kind == "tildes":
            body = f"~~~\n{body}\n~~~"
        elif kind == "table":
            body = "\n".join(f"| {line} | x |" for line in lines)
        parts.append(body)
    ending = draw(st.sampled_from(("", "\n```py\n", "\n", "\nHere: ```py\nabc")))
    return draw(st.sampled_from(("\n", "\n\n"))).join(parts) + ending


def cut(text: str, pieces: list[int], limit: int) -> list[str]:
    """The messages of a text that arrives in pieces of these sizes."""
    segmenter = Segmenter(limit=limit)
    messages: list[str] = []
    at = 0
    for size in pieces:
        messages.extend(segmenter.take(text[at : at + size]))
        at += size
    messages.extend(segmenter.take(text[at:]))
    messages.extend(segmenter.rest())
    return messages


def visible(text: str) -> str:
    """What can be seen of a text, fences and blanks aside."""
    return re.sub(r"\s+|```(?:py)?|~~~", "", text)


def unfenced(text: str) -> str:
    return re.sub(r"[\s`~]+", "", text)


class TestAnyText:
    @given(documents(), SIZES, LIMITS)
    def test_nothing_is_lost_whatever_the_pieces(
        self, text: str, pieces: list[int], limit: int
    ) -> None:
        assert visible("".join(cut(text, pieces, limit))) == visible(text)

    @given(MARKED, SIZES, LIMITS)
    def test_nothing_is_lost_of_the_oddest_text(
        self, text: str, pieces: list[int], limit: int
    ) -> None:
        assert unfenced("".join(cut(text, pieces, limit))) == unfenced(text)

    @given(st.one_of(documents(), MARKED), SIZES, LIMITS)
    def test_the_pieces_do_not_matter(self, text: str, pieces: list[int], limit: int) -> None:
        assert cut(text, pieces, limit) == cut(text, [], limit)

    @given(st.one_of(documents(), MARKED), SIZES, LIMITS)
    def test_every_message_fits_and_is_not_blank(
        self, text: str, pieces: list[int], limit: int
    ) -> None:
        messages = cut(text, pieces, limit)

        assert all(0 < len(message) <= limit and message.strip() for message in messages)

    @given(documents(), SIZES, LIMITS)
    def test_every_message_closes_the_code_it_opens(
        self, text: str, pieces: list[int], limit: int
    ) -> None:
        messages = cut(text, pieces, limit)

        assert all(m.count("```") % 2 == 0 and m.count("~~~") % 2 == 0 for m in messages)

    @given(PLAIN, SIZES, LIMITS)
    @example(text="🇩🇪" * 30, pieces=[], limit=33)
    @example(text="👨\u200d👩\u200d👧" * 30, pieces=[], limit=33)
    def test_no_character_is_parted(self, text: str, pieces: list[int], limit: int) -> None:
        left = text
        for message in cut(text, pieces, limit):
            at = left.index(message)
            assert not joins(left, at) or not left[:at].strip()
            left = left[at:]
            assert not joins(left, len(message))
            left = left[len(message) :]

    @given(st.one_of(documents(), MARKED), SIZES, LIMITS)
    def test_the_preview_fits_too(self, text: str, pieces: list[int], limit: int) -> None:
        segmenter = Segmenter(limit=limit)
        at = 0
        for size in pieces:
            segmenter.take(text[at : at + size])
            at += size
            assert len(segmenter.preview) <= limit

    @given(documents(), SIZES, LIMITS)
    def test_a_text_that_waits_is_cut_as_one_that_does_not(
        self, text: str, pieces: list[int], limit: int
    ) -> None:
        patient = Segmenter(limit=limit, is_eager=False)

        assert patient.take(text) == ()
        assert list(patient.rest()) == cut(text, pieces, limit)


class TestWhenAMessageGoesOut:
    """A line is no message of its own, only what can stand alone is: sends are rate limited."""

    def test_a_short_text_waits_for_more(self) -> None:
        assert Segmenter(limit=2000).take("Hello there.\n\nMore to come") == ()

    def test_a_long_text_goes_out_at_the_end_of_its_paragraph(self) -> None:
        segmenter = Segmenter(limit=2000)

        assert segmenter.take(f"{'a ' * 600}\n\n{'b' * 40}") == (("a " * 600).strip(),)
        assert segmenter.rest() == ("b" * 40,)

    def test_a_long_text_goes_out_with_its_block_of_code(self) -> None:
        text = f"{'a' * 600}\n```py\n{'x = 1 ' * 80}\n```\n"

        assert Segmenter(limit=2000).take(text + "And") == (text.strip(),)

    def test_a_heading_stays_with_what_follows(self) -> None:
        segmenter = Segmenter(limit=2000)

        assert segmenter.take(f"{'a ' * 600}\n## Next\n\n") == ()

    def test_a_line_with_a_colon_stays_with_what_follows(self) -> None:
        assert Segmenter(limit=2000).take(f"{'a ' * 600}\nLook:\n\n") == ()

    def test_an_open_block_of_code_waits(self) -> None:
        assert Segmenter(limit=2000).take(f"```py\n{PARAGRAPH * 200}") == ()

    def test_a_table_that_goes_on_waits(self) -> None:
        assert Segmenter(limit=2000).take("| a | b |\n" * 150) == ()

    def test_a_spoiler_in_a_table_is_of_the_table(self) -> None:
        segmenter = Segmenter(limit=2000)

        assert segmenter.take("| a | ||b|| |\n" + "| a | b |\n" * 150) == ()

    def test_a_mark_that_nobody_closes_is_left_as_it_is(self) -> None:
        """Nothing but fences is added to what the model wrote."""
        segmenter = Segmenter(limit=2000)
        segmenter.take("an (open **end")

        assert segmenter.rest() == ("an (open **end",)

    def test_an_open_spoiler_over_lines_waits(self) -> None:
        segmenter = Segmenter(limit=2000)

        assert segmenter.take(f"||{'a ' * 600}\n\n") == ()
        assert len(segmenter.take("the end||\n\n")) == 1


class TestWhereATextIsCut:
    """A paragraph, a line, a sentence, a blank, then anywhere; what is open comes last."""

    def test_a_paragraph_is_better_than_a_line(self) -> None:
        text = f"{'a' * 55}\n\n{'b' * 20}\n{'c' * 60}"

        assert cut(text, [], 100) == ["a" * 55, f"{'b' * 20}\n{'c' * 60}"]

    def test_a_sentence_is_a_better_place_than_a_word(self) -> None:
        text = "One two three. " * 20

        assert all(message.endswith("three.") for message in cut(text.strip(), [], 100))

    @pytest.mark.parametrize("text", ["e.g.", "Dr.", "3.", "U.S."])
    def test_an_abbreviation_ends_no_sentence(self, text: str) -> None:
        first = cut(f"{'Aa bb. ' * 9}cc {text} {'d' * 10} {'e' * 40}", [], 80)[0]

        assert not first.endswith(text)

    def test_a_sentence_ends_without_a_blank_in_japanese(self) -> None:
        assert cut("あいうえ。" * 30, [], 52) == ["あいうえ。" * 10] * 3

    def test_a_word_is_a_better_place_than_its_middle(self) -> None:
        assert cut("word " * 30, [], 64)[0] == ("word " * 13).strip()

    def test_a_text_without_a_blank_is_cut_where_it_is_full(self) -> None:
        assert cut("x" * 150, [], 64) == ["x" * 64, "x" * 64, "x" * 22]

    def test_a_place_in_emphasis_comes_last(self) -> None:
        text = f"{'a ' * 30}**bold words. and more of them** then"

        assert cut(text, [], 85)[0] == ("a " * 30).strip()

    def test_a_link_is_not_parted(self) -> None:
        text = f"{'a ' * 30}[the long name](https://example.org/path) then"

        assert cut(text, [], 80) == [("a " * 30).strip(), text[60:]]

    def test_inline_code_is_not_parted(self) -> None:
        text = f"{'a ' * 30}`some code here that is long` then"

        assert cut(text, [], 80)[0] == ("a " * 30).strip()

    def test_a_table_is_kept_whole_where_it_fits(self) -> None:
        table = "| a | b |\n" * 12

        assert cut(f"{'word ' * 10}\n{table}", [], 130) == [
            ("word " * 10).strip(),
            table.strip(),
        ]

    def test_a_table_that_is_too_long_is_cut_between_rows(self) -> None:
        assert cut("| a | b |\n" * 12, [], 65) == [("| a | b |\n" * 6).strip()] * 2

    def test_a_family_is_not_parted(self) -> None:
        family = "👨\u200d👩\u200d👧"

        assert cut("x" * 98 + family, [], 100) == ["x" * 98, family]

    def test_flags_are_parted_between_two(self) -> None:
        assert cut("x" + "🇩🇪" * 30, [], 40)[0] == "x" + "🇩🇪" * 19

    def test_a_character_that_is_longer_than_a_message_is_parted(self) -> None:
        assert [len(message) for message in cut("a" + "\u0301" * 70, [], 64)] == [64, 7]

    def test_a_mark_stays_with_the_full_stop_it_is_on(self) -> None:
        assert cut("あ" * 40 + "。\u0301" + "い" * 40, [], 64)[0].endswith("い")

    def test_a_blank_text_is_no_message(self) -> None:
        assert cut("  \n " * 300, [], 100) == []


class TestCode:
    @given(st.integers(1, 200), st.integers(10, 60), SIZES)
    def test_a_block_that_is_cut_is_closed_and_opened_again(
        self, lines: int, width: int, pieces: list[int]
    ) -> None:
        code = "\n".join(f"{n:04d} " + "x" * width for n in range(lines))
        messages = cut(f"Look:\n```python\n{code}\n```\nDone.", pieces, 200)

        assert all(message.count("```") % 2 == 0 for message in messages)
        assert [n for m in messages for n in re.findall(r"^(\d{4}) ", m, re.MULTILINE)] == [
            f"{n:04d}" for n in range(lines)
        ]

    def test_a_block_is_kept_whole_where_it_fits(self) -> None:
        block = f"```py\n{LINE * 14}```"

        assert cut(f"Some words before it.\n{block}\nAnd after.", [], 100) == [
            "Some words before it.",
            block,
            "And after.",
        ]

    def test_a_block_that_fills_a_message_exactly_is_one(self) -> None:
        block = f"```\n{'x' * 92}\n```"

        assert (len(block), cut(f"{block}\n", [], 100)) == (100, [block])

    def test_a_long_block_is_cut_between_lines(self) -> None:
        code = INDENTED * 9

        assert cut(f"```py\n{code}```", [], 64) == [
            f"```py\n{INDENTED * 5}```",
            f"```py\n{INDENTED * 4}```",
        ]

    def test_a_line_longer_than_a_message_is_cut_too(self) -> None:
        messages = cut(f"```py\n{'x' * 100}\n```", [], 64)

        assert messages == [f"```py\n{'x' * 54}\n```", f"```py\n{'x' * 46}\n```"]

    def test_a_block_of_one_line_is_fenced_again(self) -> None:
        assert cut(f"```{'x' * 80}``` then", [], 64) == [
            f"```\n{'x' * 56}\n```",
            f"```\n{'x' * 24}``` then",
        ]

    def test_code_may_begin_behind_words(self) -> None:
        messages = cut(f"Here: ```py\n{LINE * 12}```", [], 64)

        assert [message.count("```") for message in messages] == [0, 2, 2]

    def test_code_behind_a_long_line_begins_the_next_message(self) -> None:
        assert cut(f"{'word ' * 10}```py\n{LINE * 5}```", [], 64) == [
            ("word " * 10).strip(),
            f"```py\n{LINE * 5}```",
        ]

    def test_a_block_that_nobody_closes_is_closed(self) -> None:
        assert cut("```py\nx = 1", [], 100) == ["```py\nx = 1\n```"]

    def test_a_cut_before_the_end_of_a_block_leaves_no_empty_block(self) -> None:
        messages = cut(f"```py\n{'x' * 52}\n\n\n\n\n\n```\nDone.", [], 64)

        assert messages == [f"```py\n{'x' * 52}\n```", "Done."]

    def test_a_cut_line_of_code_does_not_look_like_the_end_of_its_block(self) -> None:
        messages = cut(f"```py\n{'x' * 51}``` y{'z' * 20}\n```", [], 64)

        assert [message.count("```") for message in messages] == [2, 3]
        assert messages[0] == f"```py\n{'x' * 51}\n```"

    def test_a_long_language_is_left_out_of_what_follows(self) -> None:
        messages = cut(f"```averylonglanguage\n{LINE * 20}```", [], 44)

        assert messages[1].startswith("```\nx = 1")


class TestBeforeATool:
    def test_a_trailing_clause_is_left_out(self) -> None:
        segmenter = Segmenter(limit=2000)
        segmenter.take("I look it up. And then I")

        assert segmenter.rest(trim=True) == ("I look it up.",)

    def test_code_is_not_trimmed(self) -> None:
        segmenter = Segmenter(limit=2000)
        segmenter.take("Look.\n```\nx = 1. and")

        assert segmenter.rest(trim=True) == ("Look.\n```\nx = 1. and\n```",)


class TestTheWork:
    """Each character is looked at a few times, however long the text and small the pieces."""

    @pytest.mark.parametrize(
        "text",
        [
            "word " * 20_000,
            "Some words. " * 8_000,
            "line\n" * 20_000,
            "para\n\n" * 15_000,
            "```py\n" + "x = 1\n" * 15_000,
            "x" * 100_000,
            "```" + "x" * 100_000,
            "| a | b |\n" * 10_000,
            "**" + "open " * 20_000,
            "\n" * 100_000,
        ],
    )
    def test_it_grows_with_the_text_alone(self, text: str) -> None:
        segmenter = Segmenter(limit=2000)
        for at in range(0, len(text), 4):
            segmenter.take(text[at : at + 4])
        segmenter.rest()

        assert segmenter.examined_chars <= 4 * len(text)
