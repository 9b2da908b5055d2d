"""`turnkeeper replay`, and what it reads: `explain --export` and `turns --export`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import a_plan
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from past_turns import journal

from turnkeeper.domain import events as ev
from turnkeeper.domain.events import Entry
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import ServerRoute
from turnkeeper.domain.policy import TurnPolicy
from turnkeeper.infrastructure.journal_file import lines_of
from turnkeeper.interfaces.cli.program import program

STARTED = ev.TurnStarted(
    route=Route.SERVER,
    attempts=a_plan(1).attempts,
    server_route=ServerRoute.NOT_APPLICABLE.value,
    audience="person",
    policy=TurnPolicy(),
)
SAME = journal(
    (0.0, STARTED),
    (0.1, ev.AttemptUnpreparable(attempt_no=0, cause="no such model")),
    (0.2, ev.Said(what="error", to="person")),
    (0.3, ev.TurnEnded(status="error", responses=0, delivered_by_tool=False)),
)
OTHER = tuple(
    replace(entry, turn_id="t2", event=replace(entry.event, status="timeout"))
    if isinstance(entry.event, ev.TurnEnded)
    else replace(entry, turn_id="t2")
    for entry in SAME
)


def a_file(folder: Path, *journals: tuple[Entry, ...]) -> str:
    file = folder / "turns.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines_of(journals)))
    return str(file)


def replay(*arguments: str, typed: str = "") -> Result:
    """The command, where there is no database and no folder for one."""
    nowhere = ("--data-dir", "/proc/none", "--database-url", "postgresql://nobody@127.0.0.1:1/no")
    result = CliRunner().invoke(program, [*nowhere, "replay", *arguments], input=typed)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_the_same_decisions_end_with_0(tmp_path: Path) -> None:
    result = replay(a_file(tmp_path, SAME))

    assert (result.exit_code, result.output) == (0, "turn t1: same decisions (2 compared)\n")


def test_a_decision_that_differs_is_one_line_and_ends_with_1(tmp_path: Path) -> None:
    result = replay(a_file(tmp_path, SAME, OTHER))

    assert (result.exit_code, result.output) == (
        1,
        "turn t1: same decisions (2 compared)\n"
        "turn t2: 1 of 2 decisions differs\n"
        "  entry 3: recorded: end the turn (status timeout); this version: end the turn (status"
        " error)\n",
    )


def test_the_standard_input_is_read_where_a_dash_is_named() -> None:
    typed = "\n".join(lines_of((SAME,)))

    assert replay("-", typed=typed).output == "turn t1: same decisions (2 compared)\n"


def test_json_has_one_object_a_turn(tmp_path: Path) -> None:
    result = replay("--json", a_file(tmp_path, SAME, OTHER))

    first, second = map(json.loads, result.stdout.splitlines())
    assert first == {
        "turn_id": "t1",
        "same": True,
        "decisions": 2,
        "differences": [],
        "remarks": [],
    }
    (found,) = second["differences"]
    assert (second["same"], found["seq"]) == (False, 3)
    assert (found["recorded"]["what"], found["recorded"]["status"]) == ("finish", "timeout")
    assert (found["would"]["what"], found["would"]["status"]) == ("finish", "error")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"hello\n", "is no exported journal"),
        (b"\xff\xfe\n", "is no exported journal: it is no UTF-8 text"),
        (b'{"turnkeeper_journal": 7, "version": "3.0"}\n', "has the journal format 7"),
        ("\n".join(list(lines_of((SAME,)))[:-1]).encode(), "is cut off after line 5"),
    ],
)
def test_a_file_that_cannot_be_read_ends_with_2_and_one_line(
    tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_bytes(content)

    result = replay(str(file))

    assert (result.exit_code, len(result.stderr.splitlines()), result.stdout) == (2, 1, "")
    assert f"turns.jsonl {said}" in result.stderr


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = replay(str(tmp_path / "none.jsonl"))

    assert result.exit_code == 2
    assert "none.jsonl cannot be read: No such file" in result.stderr


def test_an_error_is_json_where_json_was_asked_for() -> None:
    result = replay("-", "--json", typed="hello")

    assert (result.exit_code, json.loads(result.stderr)["type"]) == (2, "JournalFileError")


def test_a_journal_that_contradicts_itself_ends_with_2(tmp_path: Path) -> None:
    result = replay(a_file(tmp_path, (replace(SAME[0], event=replace(STARTED, audience="all")),)))

    assert result.exit_code == 2
    assert "the journal of turn t1 contradicts itself: ValueError: 'all'" in result.stderr


def test_what_a_file_has_for_a_terminal_is_not_shown_to_it(tmp_path: Path) -> None:
    sly = tuple(replace(entry, turn_id="\x1b]0;sly\x07\x9b2J") for entry in SAME)

    result = replay(a_file(tmp_path, sly))

    assert (result.exit_code, result.output) == (
        0,
        "turn �]0;sly��2J: same decisions (2 compared)\n",
    )


ANYTHING = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.none())


@given(st.data())
def test_a_file_with_anything_in_it_is_replayed_or_refused(data: st.DataObject) -> None:
    lines = list(lines_of((SAME,)))
    number = data.draw(st.integers(1, len(lines) - 2))
    whole = json.loads(lines[number])
    place: Any = whole if data.draw(st.booleans()) else whole["event"]
    if place:
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(ANYTHING)
    lines[number] = json.dumps(whole)

    result = replay("-", typed="\n".join(lines))

    assert result.exit_code in (0, 1, 2)
    assert "Traceback" not in result.output
