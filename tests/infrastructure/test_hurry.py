from threading import Event

import pytest

from turnkeeper.application.ports.runner import StillRunning, Stop
from turnkeeper.infrastructure.hurry import HurriedClock, HurriedRunner
from turnkeeper.infrastructure.threads import ThreadRunner

MILLION = 1_000_000.0


def test_time_passes_faster() -> None:
    clock = HurriedClock(MILLION)
    before_s, before = clock.monotonic(), clock.now()

    clock.sleep(1000.0)

    assert clock.monotonic() >= before_s + 1000.0
    assert (clock.now() - before).total_seconds() >= 1000.0


def test_a_wait_ends_by_its_event_or_by_its_time() -> None:
    clock, event = HurriedClock(MILLION), Event()

    assert clock.wait(event, 1000.0) is False
    event.set()
    assert clock.wait(event, 1000.0) is True
    assert clock.wait(Event(), -1.0) is False


def test_an_instant_of_the_machine_is_found_on_it() -> None:
    clock = HurriedClock(10.0)
    at_s = clock._began_s

    assert clock.of_machine(at_s + 2.0) - clock.of_machine(at_s) == pytest.approx(20.0)


def test_at_the_machines_own_speed_it_is_the_machines_clock() -> None:
    clock = HurriedClock(1.0)

    assert clock.of_machine(clock._began_s + 5.0) == clock._began_s + 5.0


def test_a_clock_does_not_stand_still() -> None:
    with pytest.raises(ValueError, match="above 0"):
        HurriedClock(0.0)


def test_work_is_waited_for_in_hurried_time() -> None:
    threads = ThreadRunner()
    runner = HurriedRunner(threads, MILLION)
    free = Event()

    def until_free(stop: Stop) -> str:
        free.wait()
        return "done"

    work = runner.start(until_free, "slow")
    with pytest.raises(StillRunning):
        work.result(1000.0)
    assert work.abandon(1000.0) is False
    free.set()
    assert work.result(None) == "done"
    assert (work.done, runner.running) == (True, 0)
    runner.close()
