"""The journal in memory."""

from collections.abc import Callable
from datetime import datetime
from threading import Lock

from turnkeeper.application.ports.journal import Journal
from turnkeeper.domain.events import Entry
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.latest import Latest

Written = tuple[Entry, datetime]
"""An entry, and when it was recorded."""


class MemoryJournal(Journal):
    """Keeps the events of the latest turns.

    Args:
        now: The time of day.
    """

    def __init__(self, now: Callable[[], datetime] = SystemClock().now) -> None:
        self._now = now
        self._lock = Lock()
        self._turns: Latest[str, dict[int, Written]] = Latest()

    def record(self, entries: tuple[Entry, ...]) -> None:
        at = self._now()
        with self._lock:
            for entry in entries:
                if entry.turn_id not in self._turns:
                    self._turns[entry.turn_id] = {}
                self._turns[entry.turn_id].setdefault(entry.seq, (entry, at))

    def entries(self, turn_id: str) -> tuple[Entry, ...]:
        return tuple(entry for entry, _ in self.written(turn_id))

    def written(self, turn_id: str) -> tuple[Written, ...]:
        """A turn's entries with the times at which they were recorded."""
        with self._lock:
            found = self._turns.get(turn_id, {})
            return tuple(found[seq] for seq in sorted(found))

    def turn_ids(self) -> tuple[str, ...]:
        """The turns of which something is known, in the order in which they were first heard of."""
        with self._lock:
            return tuple(self._turns)

    def forget(self, turn_id: str) -> int:
        """Strike out a turn's entries; returns how many there were."""
        with self._lock:
            return len(self._turns.pop(turn_id, {}))

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        with self._lock:
            began = [turn_id for turn_id, entries in self._turns.items() if 0 in entries]
        return tuple(began[::-1][:limit])
