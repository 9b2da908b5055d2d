"""Time that runs faster than the machine's, so that long limits can be looked at in short."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import TIMEOUT_MAX, Event
from typing import TypeVar

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Look, OwnWork, Runner, Stop, Work

T = TypeVar("T")


class HurriedClock(Clock):
    """A clock on which `speed` seconds pass in each second.

    Args:
        speed: 1 is the machine's own.
    """

    def __init__(self, speed: float) -> None:
        if speed <= 0:
            raise ValueError(f"a clock's speed is above 0, not {speed}")
        self.speed = speed
        self._began_s = time.monotonic()
        self._began = datetime.now(UTC)

    def monotonic(self) -> float:
        return self.of_machine(time.monotonic())

    def of_machine(self, at_s: float) -> float:
        """The instant here that the machine's monotonic clock calls `at_s`."""
        return self._began_s + (at_s - self._began_s) * self.speed

    def now(self) -> datetime:
        return self._began + timedelta(seconds=self.monotonic() - self._began_s)

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds / self.speed)

    def wait(self, event: Event, timeout_s: float) -> bool:
        return event.wait(min(max(0.0, timeout_s / self.speed), TIMEOUT_MAX))


@dataclass(frozen=True, slots=True)
class _HurriedWork(Work[T]):
    work: Work[T]
    speed: float

    @property
    def done(self) -> bool:
        return self.work.done

    def result(self, timeout_s: float | None) -> T:
        return self.work.result(None if timeout_s is None else timeout_s / self.speed)

    def abandon(self, settle_s: float) -> bool:
        return self.work.abandon(settle_s / self.speed)


class HurriedRunner(Runner):
    """Another's threads; whoever waits for their work does so on a hurried clock."""

    def __init__(self, runner: Runner, speed: float) -> None:
        self._runner = runner
        self._speed = speed

    @property
    def running(self) -> int:
        return self._runner.running

    def start(self, work: Callable[[Stop], T], name: str) -> Work[T]:
        return _HurriedWork(self._runner.start(work, name), self._speed)

    def here(self, work: Callable[[Stop], T], look: Look, *, first_look_s: float) -> OwnWork[T]:
        speed = self._speed
        return self._runner.here(
            work, lambda stop: look(stop) / speed, first_look_s=first_look_s / speed
        )

    def close(self) -> None:
        self._runner.close()
