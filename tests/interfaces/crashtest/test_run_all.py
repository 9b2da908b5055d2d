"""Cells are run beside each other, and reported in their order."""

from threading import Event
from typing import Any

import pytest

from turnkeeper.interfaces.crashtest.crash_test import PROFILES, Profile, run_all
from turnkeeper.interfaces.crashtest.row import Cell, Result
from turnkeeper.interfaces.crashtest.score import LATE, Grade, Score

PASSED = Score(grade=Grade.PASS)
WAS_LATE = Score(grade=Grade.PARTIAL, why=(f"{LATE} it took 16 s",))
ONE_BY_ONE = Profile(speed=1.0, at_once=1)


def a_cell(name: str, *scores: Score, **more: Any) -> Cell:
    """Scores, one a run; the last one stays."""
    left = list(scores or (PASSED,))

    def run() -> Result:
        return (left.pop(0) if len(left) > 1 else left[0]), None

    return Cell(fault=name, name=name, dialect="openai", **{"run": run, **more})


def test_rows_come_in_order_whoever_is_done_first() -> None:
    second_is_done = Event()

    def first() -> Result:
        assert second_is_done.wait(30.0)
        return PASSED, None

    def second() -> Result:
        second_is_done.set()
        return PASSED, None

    cells = [a_cell("a", run=first), a_cell("b", run=second)]

    rows = list(run_all(cells, Profile(speed=1.0, at_once=2)))

    assert [row.fault for row in rows] == ["a", "b"]


def test_the_longest_is_begun_first() -> None:
    begun: list[str] = []

    def noting(name: str) -> Any:
        def run() -> Result:
            begun.append(name)
            return PASSED, None

        return run

    cells = [a_cell(name, run=noting(name), weight_s=s) for name, s in (("a", 1.0), ("b", 9.0))]

    list(run_all(cells, ONE_BY_ONE))

    assert begun == ["b", "a"]


def test_each_cell_that_is_done_is_told() -> None:
    done: list[None] = []

    list(run_all([a_cell("a"), a_cell("b")], ONE_BY_ONE, on_done=lambda: done.append(None)))

    assert len(done) == 2


@pytest.mark.parametrize(
    ("scores", "retries", "grade"),
    [
        ((WAS_LATE, PASSED), 2, Grade.PASS),
        ((WAS_LATE, WAS_LATE, PASSED), 2, Grade.PASS),
        ((WAS_LATE,), 2, Grade.PARTIAL),
        ((WAS_LATE, PASSED), 0, Grade.PARTIAL),
        ((Score(grade=Grade.PARTIAL, why=("asked 3 times",)), PASSED), 2, Grade.PARTIAL),
        ((Score(grade=Grade.FAIL, why=(f"{LATE} never",)), PASSED), 2, Grade.FAIL),
    ],
)
def test_only_what_was_late_is_run_again(
    scores: tuple[Score, ...], retries: int, grade: Grade
) -> None:
    profile = Profile(speed=20.0, at_once=1, retries=retries)

    (row,) = run_all([a_cell("a", *scores)], profile)

    assert row.score.grade is grade


def test_a_real_second_is_never_repeated() -> None:
    assert PROFILES["full"] == Profile(speed=1.0, at_once=PROFILES["full"].at_once, retries=0)


def test_a_cell_that_cannot_be_run_fails_and_keeps_no_other_from_it() -> None:
    def broken() -> Result:
        raise OSError("no such program, key sk-canary-0123456789abcdef")

    failed, passed = run_all([a_cell("a", run=broken), a_cell("b")], ONE_BY_ONE)

    assert (failed.score.grade, passed.score) == (Grade.FAIL, PASSED)
    assert failed.score.why[0].startswith("could not be run: OSError: no such program")
    assert "canary" not in failed.score.why[0]
