"""What is open in a line, where sentences end, and which lines are fences."""

import pytest

from turnkeeper.domain.segment_fence import Fence, fence_after
from turnkeeper.domain.segment_marks import NOTHING_OPEN
from turnkeeper.domain.segment_sentence import without_trailing_clause


@pytest.mark.parametrize(
    "line",
    [
        "an (open parenthesis",
        "a smile :) and (more",
        "some **bold",
        "some *slanted",
        "これは*重要",
        "some ~~gone",
        "a ||secret",
        'she said "wait',
        "「まだ",
        "a [link",
        "a [link](https://exam",
    ],
)
def test_what_is_open_is_open(line: str) -> None:
    assert NOTHING_OPEN.after(line).is_open


@pytest.mark.parametrize(
    "line",
    [
        "a closed (parenthesis)",
        "a smile :) and :-)",
        "a frown :( ",
        "1) one",
        "some **bold** words",
        "* a bullet",
        "2 * 3 * 4",
        "2*3",
        "a footnote*",
        "(*^▽^*)",
        "snake_case and __init__",
        "`a * b ** (c` is code",
        "see https://example.org/a(b*c",
        "so cute~~ ",
        "そうだね~~",
        "un*frigging*believable",
        "a ||secret|| told",
        "`a || b` is code",
        "a || b",
        'she said "wait" and left',
        'a 5" disk',
        "「もう」",
        "a [link](https://example.org)",
        "- [ ] to do",
        "as told [1]",
    ],
)
def test_what_is_closed_is_not_open(line: str) -> None:
    assert not NOTHING_OPEN.after(line).is_open


def test_emphasis_ends_with_its_paragraph() -> None:
    assert NOTHING_OPEN.after("some **bold").after("") == NOTHING_OPEN


def test_a_spoiler_outlives_its_paragraph() -> None:
    open_spoiler = NOTHING_OPEN.after("||secret").after("")

    assert (open_spoiler.is_open, open_spoiler.after("end||")) == (True, NOTHING_OPEN)


@pytest.mark.parametrize(
    ("line", "fence"),
    [
        ("```", Fence("```")),
        ("```python", Fence("```", "python")),
        ("    ```py title=x", Fence("```", "py")),
        ("- ```py", Fence("```", "py")),
        ("~~~~ sh", Fence("~~~~", "sh")),
        ("Here: ```py", Fence("```", "py")),
        ("```x``` is inline", None),
        ("a ``` b c", None),
        ("~~~ so ~~~ long", None),
        ("`x`", None),
    ],
)
def test_a_line_opens_a_block(line: str, fence: Fence | None) -> None:
    assert fence_after(None, line) == fence


@pytest.mark.parametrize(
    ("line", "closes"),
    [
        ("```", True),
        ("  ````  ", True),
        ("}```", True),
        ("``", False),
        ("~~~", False),
        ("```py", False),
    ],
)
def test_a_line_closes_a_block(line: str, closes: bool) -> None:
    assert (fence_after(Fence("```", "py"), line) is None) == closes


@pytest.mark.parametrize(
    ("text", "trimmed"),
    [
        ("I look. And then", "I look."),
        ("One line\nand then", "One line\n"),
        ("All is said.", "All is said."),
        ("It was in 2024.", "It was in 2024."),
        ("One thing. Let me look:", "One thing. Let me look:"),
        ("no end at all", "no end at all"),
        ("Sure! 😊", "Sure! 😊"),
        ("A whole line\n", "A whole line\n"),
        ("そうです。それで", "そうです。"),
        ('"Wait!" she', '"Wait!"'),
    ],
)
def test_a_trailing_clause_is_cut_off(text: str, trimmed: str) -> None:
    assert without_trailing_clause(text) == trimmed
