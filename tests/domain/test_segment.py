"""Messages that are cut from a text lose nothing, fit, and keep code blocks whole."""

import re

from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.segment import ready, rest

LIMIT = 200

texts = st.text(alphabet=st.sampled_from(list("abc   \n\n.!?`é👨\u200d👩🇩🇪ก็")), max_size=1500)


def cut(text: str, pieces: list[int], limit: int = LIMIT) -> list[str]:
    """The messages of a text that arrives in pieces of these sizes."""
    messages: list[str] = []
    buffer, at = "", 0
    for size in pieces:
        buffer += text[at : at + size]
        at += size
        done, buffer = ready(buffer, limit=limit)
        messages.extend(done)
    messages.extend(rest(buffer + text[at:], limit=limit))
    return messages


def visible(text: str) -> str:
    """What can be seen of a text, fences and blanks aside."""
    return re.sub(r"\s+", "", text)


@given(texts.filter(lambda text: "`" not in text), st.lists(st.integers(1, 90), max_size=30))
def test_nothing_is_lost_whatever_the_pieces(text: str, pieces: list[int]) -> None:
    assert visible("".join(cut(text, pieces))) == visible(text)


@given(texts, st.lists(st.integers(1, 90), max_size=30))
def test_every_message_fits_and_is_not_blank(text: str, pieces: list[int]) -> None:
    messages = cut(text, pieces)

    assert all(0 < len(message) <= LIMIT and message.strip() for message in messages)


@given(st.integers(1, 400), st.integers(10, 60), st.lists(st.integers(1, 90), max_size=30))
def test_a_code_block_that_is_cut_is_closed_and_opened_again(
    lines: int, width: int, pieces: list[int]
) -> None:
    code = "\n".join(f"{n:04d} " + "x" * width for n in range(lines))
    messages = cut(f"Look:\n```python\n{code}\n```\nDone.", pieces)

    assert all(message.count("```") % 2 == 0 for message in messages)
    assert [n for m in messages for n in re.findall(r"^(\d{4}) ", m, re.MULTILINE)] == [
        f"{n:04d}" for n in range(lines)
    ]


def test_a_short_text_waits_for_more() -> None:
    assert ready("Hello there.\n\nMore to come", limit=2000) == ((), "Hello there.\n\nMore to come")


def test_a_long_text_goes_out_at_a_paragraph() -> None:
    first, second = "a" * 800, "b" * 400

    assert ready(f"{first}\n\n{second}", limit=2000) == ((first,), second)


def test_a_sentence_is_a_better_place_than_a_word() -> None:
    text = "One two three. " * 20

    assert all(message.endswith("three.") for message in rest(text.strip(), limit=100))


def test_a_family_is_not_parted() -> None:
    family = "👨\u200d👩\u200d👧"
    messages = rest("x" * 98 + family, limit=100)

    assert messages == ("x" * 98, family)


def test_a_blank_rest_is_no_message() -> None:
    assert rest("  \n ", limit=100) == ()
