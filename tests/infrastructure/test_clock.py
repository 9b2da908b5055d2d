from datetime import timedelta
from threading import Event, Timer

from turnkeeper.infrastructure.clock import SystemClock


def test_the_monotonic_clock_does_not_go_back() -> None:
    clock = SystemClock()

    assert clock.monotonic() <= clock.monotonic()


def test_the_time_of_day_is_aware_and_in_utc() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)


def test_a_sleep_lasts_at_least_as_long_as_asked() -> None:
    clock = SystemClock()
    before = clock.monotonic()

    clock.sleep(0.001)

    assert clock.monotonic() - before >= 0.001


def test_a_sleep_of_less_than_nothing_returns() -> None:
    SystemClock().sleep(-1.0)


def test_a_wait_ends_with_its_time() -> None:
    assert not SystemClock().wait(Event(), 0.001)


def test_a_wait_of_less_than_nothing_says_how_things_are() -> None:
    assert not SystemClock().wait(Event(), -1.0)


def test_a_wait_without_end_ends_with_its_event() -> None:
    event = Event()
    timer = Timer(0.0, event.set)
    timer.start()

    assert SystemClock().wait(event, float("inf"))
    timer.join()
