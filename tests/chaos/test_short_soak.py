"""Hundreds of turns in two processes while everything fails: the short form of the soak."""

import os
from pathlib import Path

import pytest
from chaos import audit
from chaos.play import Play, play

pytestmark = pytest.mark.postgres
LONG = os.environ.get("TURNKEEPER_SOAK") == "1"
SHORT = Play(
    seed=20261130,
    turns=2000 if LONG else 160,
    processes=4 if LONG else 2,
    servers=10,
    blow_each=100 if LONG else 16,
    waits=LONG,
)


@pytest.mark.timeout(1800 if LONG else 300)
def test_nothing_is_lost_or_left_when_everything_fails(tmp_path: Path) -> None:
    wrong = play(SHORT, tmp_path)

    assert wrong == [], f"again: {SHORT.command}"


def test_growth_is_the_slope_of_what_came_after_the_start() -> None:
    levels_off = [(turns, 100_000_000 + min(turns, 300) * 1000) for turns in range(0, 1000, 100)]
    grows = [(turns, 100_000_000 + turns * 2000) for turns in range(0, 1000, 100)]

    assert audit.growth_mb(levels_off) == 0.0
    assert audit.growth_mb(grows) == pytest.approx(6.0)
    assert audit.growth_mb(grows[:3]) is None


def test_what_stands_too_much_and_what_is_missing_is_found() -> None:
    found = audit.strays({"a": {"1", "2"}, "b": {"3"}}, {"a": {"1", "9"}, "b": {"3"}})

    assert list(found) == [("a", "still shows ['9']"), ("a", "misses ['2']")]
