import logging
from collections.abc import Iterator
from threading import Event

import pytest

from turnkeeper.infrastructure.telemetry.aside import Aside
from turnkeeper.infrastructure.threads import ThreadRunner

LONG_S = 30.0


@pytest.fixture
def runner() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


class Held:
    """Work that says when it has begun, and ends when it is let."""

    def __init__(self) -> None:
        self.begun = Event()
        self.let = Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.let.wait(LONG_S)


def test_works_are_done_in_their_order(runner: ThreadRunner) -> None:
    done: list[int] = []
    aside = Aside(runner)

    for number in range(100):
        aside.put(lambda number=number: done.append(number))  # type: ignore[misc]

    assert aside.flush(LONG_S)
    assert done == list(range(100))


def test_whoever_puts_does_not_wait(runner: ThreadRunner) -> None:
    held, after = Held(), Event()
    aside = Aside(runner)

    aside.put(held)
    assert held.begun.wait(LONG_S)
    aside.put(after.set)

    assert not after.is_set()
    held.let.set()
    assert after.wait(LONG_S)


def test_what_is_too_much_is_dropped_and_counted(runner: ThreadRunner) -> None:
    held, done = Held(), list[int]()
    aside = Aside(runner, max_waiting=2)
    aside.put(held)
    assert held.begun.wait(LONG_S)

    for number in range(5):
        aside.put(lambda number=number: done.append(number))  # type: ignore[misc]
    held.let.set()

    assert aside.flush(LONG_S)
    assert (done, aside.dropped) == ([0, 1], 3)


def test_a_work_that_fails_is_said_once_and_the_next_is_done(
    runner: ThreadRunner, caplog: pytest.LogCaptureFixture
) -> None:
    done = Event()
    aside = Aside(runner)

    def fail() -> None:
        raise OSError("sk-canary-0123456789abcdef")

    with caplog.at_level(logging.WARNING, "turnkeeper"):
        for work in (fail, fail, done.set):
            aside.put(work)
        assert aside.flush(LONG_S)

    assert (done.is_set(), aside.dropped) == (True, 2)
    assert caplog.messages == ["telemetry is not written: OSError"]


def test_a_flush_does_not_wait_longer_than_it_may(runner: ThreadRunner) -> None:
    held = Held()
    aside = Aside(runner)
    aside.put(held)

    assert not aside.flush(0)
    held.let.set()
    assert aside.flush(LONG_S)


def test_once_the_threads_are_gone_works_are_dropped() -> None:
    runner = ThreadRunner()
    runner.close()
    aside = Aside(runner)

    aside.put(Event().set)

    assert (aside.flush(), aside.dropped) == (True, 1)


def test_it_holds_no_thread_when_there_is_nothing_to_do(runner: ThreadRunner) -> None:
    aside = Aside(runner)
    aside.put(Event().set)

    assert aside.flush(LONG_S)
    assert runner.running == 0
