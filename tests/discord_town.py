"""A bot of ours in a loopback Discord whose hours are short, for whole turns."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Event, Lock

from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import DEFAULT, Limits
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.interfaces.crashtest import town as crashtest
from turnkeeper.interfaces.crashtest.town import Seen

__all__ = ["HastyClock", "Seen", "Town", "town"]

HASTE = 100.0


class HastyClock(SystemClock):
    """A clock on which waiting takes a hundredth of the time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead_s

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._ahead_s)

    def sleep(self, seconds: float) -> None:
        self.wait(Event(), seconds)

    def wait(self, event: Event, timeout_s: float) -> bool:
        if timeout_s == float("inf"):
            return super().wait(event, timeout_s)
        is_set = super().wait(event, timeout_s / HASTE)
        if not is_set:
            with self._lock:
                self._ahead_s += timeout_s * (1 - 1 / HASTE)
        return is_set


class Town(crashtest.Town):
    """A town with threads of its own."""

    clock: HastyClock

    def __init__(
        self, discord: DiscordDouble, clock: HastyClock, manners: Manners, read_timeout_s: float
    ) -> None:
        super().__init__(discord, clock, ThreadRunner(), manners, read_timeout_s)
        self.clock = clock

    def close(self) -> None:
        super().close()
        self.runner.close()


@contextmanager
def town(
    *,
    limits: Limits = DEFAULT,
    manners: Manners = Manners(),
    read_timeout_s: float = 2.0,
) -> Iterator[Town]:
    """A town, as long as the `with` lasts."""
    clock = HastyClock()
    with DiscordDouble(clock=clock, limits=limits) as discord:
        made = Town(discord, clock, manners, read_timeout_s)
        yield made
        made.close()
