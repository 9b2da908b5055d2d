"""An interrupt stops a turn, wherever in this thread it hits."""

import os
import signal
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.turn import TurnResult
from turnkeeper.interfaces.cli.run import _stopped_by_interrupt

LONG_S = 30.0


class OneTurn:
    """A turnkeeper with one turn, which runs until it is stopped."""

    def __init__(self, *, deaf: int = 0) -> None:
        self.deaf = deaf
        self.asked: list[str] = []
        self.stopped = Event()

    def stop(self, turn_id: str) -> bool:
        self.asked.append(turn_id)
        if len(self.asked) <= self.deaf:
            return False
        self.stopped.set()
        return True

    def turn(self, *signals: int) -> TurnResult:
        for number in signals:
            os.kill(os.getpid(), number)
        assert self.stopped.wait(LONG_S)
        return TurnResult(status=TurnStatus.STOPPED_BY_USER, turn_id="t1")


def run(keeper: Any, *signals: int) -> TurnResult:
    return _stopped_by_interrupt(keeper, "t1", lambda: keeper.turn(*signals))


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Interrupts are heard, as at a terminal, also where this process ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keeper = OneTurn()
    keeper.stopped.set()

    run(keeper, signal.SIGINT)

    assert (keeper.asked, signal.getsignal(signal.SIGINT)) == ([], signal.SIG_IGN)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_as_the_turn_begins_stops_it(number: int) -> None:
    for _ in range(20):
        keeper = OneTurn()

        result = run(keeper, number)

        assert (result.status, keeper.asked) == (TurnStatus.STOPPED_BY_USER, ["t1"])


def test_it_is_asked_again_where_the_turn_has_not_begun() -> None:
    keeper = OneTurn(deaf=1)

    assert run(keeper, signal.SIGINT).status is TurnStatus.STOPPED_BY_USER
    assert keeper.asked == ["t1", "t1"]


def test_without_an_interrupt_nothing_is_stopped() -> None:
    keeper = OneTurn()
    keeper.stopped.set()

    assert run(keeper).turn_id == "t1"
    assert keeper.asked == []


def test_the_signals_are_as_they_were_after_it() -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    keeper = OneTurn()

    run(keeper, signal.SIGINT)

    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before
