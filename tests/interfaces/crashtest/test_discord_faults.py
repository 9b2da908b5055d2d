"""The faults of Discord: what is expected of a turn is really looked at."""

from dataclasses import replace

import pytest

from turnkeeper.infrastructure.discord_double import faults as of_discord
from turnkeeper.interfaces.crashtest.discord_faults import (
    FAULTS,
    DiscordFault,
    End,
    met,
    score_of,
)
from turnkeeper.interfaces.crashtest.ground import Ground
from turnkeeper.interfaces.crashtest.score import Grade

BY_ID = {fault.id: fault for fault in FAULTS}


def graded(fault: DiscordFault) -> Grade:
    with Ground(speed=20.0) as ground:
        return met(ground, fault, "openai")[0].grade


def test_each_is_one_that_the_double_can_show() -> None:
    assert {fault.name for fault in FAULTS} <= set(of_discord.FAULTS)
    assert len(BY_ID) == len(FAULTS)


def test_a_fault_that_was_never_met_is_not_passed() -> None:
    with Ground(speed=20.0) as ground:
        passed, seen = met(ground, BY_ID["D01"], "openai")
        assert seen is not None
        unmet = score_of(BY_ID["D01"], seen, ground, was_met=False)

    assert (passed.grade, unmet.grade) == (Grade.PASS, Grade.FAIL)
    assert unmet.why == ("it never met the fault",)


@pytest.mark.parametrize(
    ("fault_id", "end", "grade"),
    [
        ("D01", End.STUCK, Grade.PARTIAL),
        ("D01", End.UNREACHABLE, Grade.FAIL),
        ("D07", End.ANSWERED, Grade.PARTIAL),
        ("D08", End.UNSAID, Grade.FAIL),
        ("D14", End.ANSWERED, Grade.FAIL),
    ],
)
def test_an_end_that_is_not_the_expected_one_is_not_passed(
    fault_id: str, end: End, grade: Grade
) -> None:
    assert graded(replace(BY_ID[fault_id], end=end)) is grade
