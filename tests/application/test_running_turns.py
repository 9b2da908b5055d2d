from collections.abc import Callable
from threading import Event
from time import monotonic

import pytest

from turnkeeper.application.ports.runner import Stop, Work
from turnkeeper.application.running_turns import RunningTurns
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import AlreadyRunning, Busy, Closed
from turnkeeper.infrastructure.threads import ThreadRunner

HERE = ("guild", "channel")
LONG_S = 30.0


class Crowd:
    """Turns that stay in until they are let out, each on a thread."""

    def __init__(self, running: RunningTurns) -> None:
        self._running = running
        self._runner = ThreadRunner()
        self.out: dict[str, Event] = {}
        self.entered: list[str] = []

    def send(self, turn_id: str) -> Work[None]:
        inside, self.out[turn_id] = Event(), Event()

        def turn(stop: Stop) -> None:
            with self._running.entered(turn_id, HERE):
                self.entered.append(turn_id)
                inside.set()
                assert self.out[turn_id].wait(LONG_S)

        self.inside = inside
        return self._runner.start(turn, turn_id)

    def send_in(self, turn_id: str) -> Work[None]:
        work = self.send(turn_id)
        assert self.inside.wait(LONG_S)
        return work

    def close(self) -> None:
        for event in self.out.values():
            event.set()
        self._runner.close()


@pytest.fixture
def make_crowd(request: pytest.FixtureRequest) -> Callable[[RunningTurns], Crowd]:
    def make(running: RunningTurns) -> Crowd:
        crowd = Crowd(running)
        request.addfinalizer(crowd.close)
        return crowd

    return make


def test_turns_that_run_are_listed_oldest_first() -> None:
    running = RunningTurns(max_turns=2, queue_s=0)

    with running.entered("one", HERE), running.entered("two", ("guild", "elsewhere")):
        assert running.ids == ("one", "two")
        assert running.within(HERE) == ("one",)
    assert not running.ids


def test_without_room_a_turn_is_refused_as_busy() -> None:
    running = RunningTurns(max_turns=1, queue_s=0)

    refused = pytest.raises(Busy, match=r"1 turns are running .* TURNKEEPER_MAX_TURNS")
    with running.entered("one", HERE), refused:
        running.entered("two", HERE).__enter__()
    with running.entered("three", HERE):
        assert running.ids == ("three",)


def test_a_turn_whose_id_runs_already_is_refused() -> None:
    running = RunningTurns(max_turns=2, queue_s=0)

    with running.entered("one", HERE):
        with pytest.raises(AlreadyRunning):
            running.entered("one", HERE).__enter__()
        assert running.ids == ("one",)


def test_a_waiting_turn_enters_when_another_leaves(
    make_crowd: Callable[[RunningTurns], Crowd],
) -> None:
    running = RunningTurns(max_turns=1, queue_s=LONG_S)
    crowd = make_crowd(running)
    crowd.send_in("one")
    second = crowd.send("two")

    crowd.out["one"].set()
    crowd.out["two"].set()

    assert second.result(LONG_S) is None
    assert crowd.entered == ["one", "two"]


def test_closing_sends_the_waiting_away_and_lets_the_running_end(
    make_crowd: Callable[[RunningTurns], Crowd],
) -> None:
    running = RunningTurns(max_turns=1, queue_s=LONG_S)
    crowd = make_crowd(running)
    first = crowd.send_in("one")
    second = crowd.send("two")

    running.close()

    with pytest.raises(Closed):
        second.result(LONG_S)
    with pytest.raises(Closed):
        running.entered("three", HERE).__enter__()
    assert not running.drained(0)
    crowd.out["one"].set()
    assert running.drained(LONG_S)
    assert first.result(LONG_S) is None


def test_a_signal_reaches_the_turn_it_is_for() -> None:
    running = RunningTurns(max_turns=2, queue_s=0)

    with running.entered("one", HERE) as one, running.entered("two", HERE) as two:
        assert running.signal("two", Signal.STOP_REQUESTED)
        assert (one.mailbox.signal, two.mailbox.signal) == (None, Signal.STOP_REQUESTED)
    assert not running.signal("two", Signal.STOP_REQUESTED)


def test_a_turn_that_waits_for_room_hears_of_a_stop(
    make_crowd: Callable[[RunningTurns], Crowd],
) -> None:
    running = RunningTurns(max_turns=1, queue_s=LONG_S)
    crowd = make_crowd(running)
    crowd.send_in("one")
    crowd.send("two")

    given_up = monotonic() + LONG_S
    while not (is_heard := running.signal("two", Signal.STOP_REQUESTED)):
        assert monotonic() < given_up

    assert is_heard
    assert running.within(HERE) == ("one", "two")
