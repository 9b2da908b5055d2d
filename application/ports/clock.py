"""The port to time."""

from datetime import datetime
from threading import Event
from typing import Protocol


class Clock(Protocol):
    """What time it is, and how to let some pass. Safe to use from several threads."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow; only differences and deadlines mean something."""
        ...

    def now(self) -> datetime:
        """Return the time of day, aware and in UTC; it may jump."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds; at once if there are none to wait."""
        ...

    def wait(self, event: Event, timeout_s: float) -> bool:
        """Return as soon as the event is set, or after the time; whether it is set."""
        ...
