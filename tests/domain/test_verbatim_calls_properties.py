"""Calls in any text, cut in any way."""

import sys
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
import written_calls
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.verbatim_calls import Piece, VerbatimCalls
from turnkeeper.domain.written_call import WrittenCall

CALL = '{"name": "roll", "arguments": {"sides": 6}}'
ROLLED = WrittenCall(name="roll", arguments_json='{"sides": 6}')
SPELLINGS = (
    CALL,
    f"[{CALL}]",
    f"[TOOL_CALLS] [{CALL}]",
    f"```json\n{CALL}\n```",
    f"<tool_call>\n{CALL}\n</tool_call>",
    f'{{"tool_calls": [{CALL}]}}',
    '{"type": "function", "function": {"name": "roll", "arguments": "{\\"sides\\": 6}"}}',
)
FRAGMENTS = st.sampled_from(
    [
        *SPELLINGS,
        *'{}[]<>`",:;\\ \n',
        '{"name": "',
        '"name"',
        '"roll"',
        '"arguments": {',
        '"tool_calls": [',
        '"function": {',
        "<tool_call>",
        "</tool_call>",
        "[TOOL_CALLS]",
        "```",
        "```json\n",
        "ro",
        "words",
    ]
)
TEXTS = st.one_of(st.lists(FRAGMENTS, max_size=20).map("".join), st.text(max_size=60))
CUTS = st.lists(st.integers(min_value=0, max_value=600), max_size=40)
WORDS = st.text(alphabet="abc.!?\n", max_size=8).map(lambda text: f"x{text}x")


def read(text: str, cuts: list[int], *, was_cut: bool, name: str = "roll") -> list[Piece]:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]
    return written_calls.read(pieces, names=[name], was_cut=was_cut)


@given(text=TEXTS, cuts=CUTS, was_cut=st.booleans())
def test_how_a_text_is_cut_changes_nothing(text: str, cuts: list[int], was_cut: bool) -> None:
    assert read(text, cuts, was_cut=was_cut) == read(text, [], was_cut=was_cut)


@given(text=TEXTS, cuts=CUTS)
def test_a_text_without_an_offered_name_passes_unchanged(text: str, cuts: list[int]) -> None:
    assert read(text, cuts, was_cut=False, name="\x00other") == ([text] if text else [])


@given(parts=st.lists(st.one_of(WORDS, st.sampled_from(SPELLINGS)), max_size=8), cuts=CUTS)
def test_the_calls_are_found_and_the_rest_is_shown(parts: list[str], cuts: list[int]) -> None:
    told = read("".join(parts), cuts, was_cut=False)

    words = "".join(part for part in parts if part not in SPELLINGS)
    assert "".join(piece for piece in told if isinstance(piece, str)) == words
    calls = [piece for piece in told if isinstance(piece, WrittenCall)]
    assert calls == [ROLLED] * sum(part in SPELLINGS for part in parts)


@pytest.mark.parametrize(
    "repeated",
    [
        "{",
        "[{",
        '{"name": "',
        '{"arguments": {"a": ',
        '{"function": ',
        '{"tool_calls": [',
        '{"name": "roll", ',
        "<tool_call>",
        "[TOOL_CALLS]",
        "```json\n{",
        "`",
        " ",
        '{"name": "roll", "arguments": {"say": "\\"',
        CALL,
    ],
)
@pytest.mark.parametrize("before", ["", '{"name": "roll", "arguments": {"say": "', "[", CALL])
def test_a_text_twice_as_long_is_twice_the_work(before: str, repeated: str) -> None:
    once, twice = (steps_run(before + repeated * times) for times in (200, 400))

    assert len(repeated) * 200 < once < twice <= 2.1 * once


def steps_run(text: str) -> int:
    """How many lines run, and calls and resumptions, where a text comes by the character."""
    count = 0

    def counting(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return counting

    before = sys.gettrace()
    sys.settrace(counting)
    try:
        read_by_character(text)
    finally:
        sys.settrace(before)
    return count


def read_by_character(text: str) -> None:
    calls = VerbatimCalls(["roll"])
    for char in text:
        calls.feed(char)
    calls.end(was_cut=False)
