import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from past_turns import rescued

from turnkeeper.domain.errors import JournalFileError
from turnkeeper.domain.version import VERSION
from turnkeeper.infrastructure.journal_file import journals_in, lines_of

JOURNALS = (rescued("t1"), rescued("t2"))
LINES = list(lines_of(JOURNALS))


def error_of(lines: list[str]) -> str:
    with pytest.raises(JournalFileError) as caught:
        journals_in(lines, "turn.jsonl")
    return str(caught.value)


def test_journals_come_back_as_they_were() -> None:
    assert journals_in(lines_of(JOURNALS), "turn.jsonl") == JOURNALS


def test_a_file_of_no_turns_is_read() -> None:
    assert journals_in(lines_of(()), "turn.jsonl") == ()


def test_the_head_names_the_format_and_the_version() -> None:
    assert json.loads(LINES[0]) == {"turnkeeper_journal": 1, "version": VERSION}


def test_empty_lines_and_line_ends_are_no_matter() -> None:
    padded = [f"{line}\r\n\n" for line in LINES]

    assert journals_in(padded, "turn.jsonl") == JOURNALS


@pytest.mark.parametrize("lines", [[], ["\n", ""]])
def test_an_empty_file_is_named(lines: list[str]) -> None:
    assert error_of(lines).startswith("turn.jsonl is empty; `turnkeeper explain TURN --export")


@pytest.mark.parametrize("first", ["hello", "[]", "{}", '{"turn_id": 1}', "[" * 100_000])
def test_another_kind_of_file_is_no_journal(first: str) -> None:
    assert error_of([first, *LINES[1:]]).startswith("turn.jsonl is no exported journal;")


def test_another_format_is_named_with_the_version_that_wrote_it() -> None:
    head = '{"turnkeeper_journal": 2, "version": "9.0.0"}'

    assert error_of([head, *LINES[1:]]) == (
        "turn.jsonl has the journal format 2, made by turnkeeper 9.0.0;"
        f" this is {VERSION} and reads 1"
    )


@pytest.mark.parametrize("count", range(1, len(LINES)))
def test_a_file_that_is_cut_off_anywhere_is_known(count: int) -> None:
    assert error_of(LINES[:count]) == (
        f"turn.jsonl is cut off after line {count}: the line that counts the entries is missing;"
        " export it again"
    )


def test_a_file_that_is_cut_off_within_a_line_is_known() -> None:
    assert "is cut off after line 3" in error_of([*LINES[:2], LINES[2][:20]])


def test_a_line_that_is_missing_is_known() -> None:
    assert error_of([*LINES[:3], *LINES[4:]]) == (
        f"turn.jsonl was made with {len(LINES) - 2} entries and holds {len(LINES) - 3};"
        " export it again"
    )


@pytest.mark.parametrize("line", ["no", "{}", "[" * 100_000, '{"turn_id": 1}'])
def test_a_line_that_is_no_entry_is_named(line: str) -> None:
    lines = [*LINES[:4], line, *LINES[5:]]

    assert error_of(lines) == "line 5 of turn.jsonl is no entry of a journal"


def test_an_event_of_another_version_is_named() -> None:
    newer = json.dumps({**json.loads(LINES[4]), "kind": "mood_changed"})

    assert error_of([*LINES[:4], newer, *LINES[5:]]) == (
        f"line 5 of turn.jsonl cannot be read by turnkeeper {VERSION}: it is 'mood_changed', as"
        " another version writes it"
    )


@given(st.lists(st.text(max_size=20) | st.sampled_from(LINES), max_size=8))
def test_any_lines_are_journals_or_an_error_of_one_kind(lines: list[str]) -> None:
    with suppress(JournalFileError):
        assert isinstance(journals_in(lines, "turn.jsonl"), tuple)
