"""The journal in memory."""

from collections.abc import Callable
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from threading import Lock

from turnkeeper.application.ports.journal import Journal
from turnkeeper.domain.events import Entry
from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.latest import Latest

Written = tuple[Entry, datetime]
"""An entry, and when it was recorded."""


@frozen
class _Turn:
    """What is kept of a turn.

    Attributes:
        entries: In order.
        writes: For each call that recorded some of them, the last one's number and when it was.
    """

    entries: tuple[Entry, ...] = ()
    writes: tuple[tuple[int, datetime], ...] = ()

    def written(self) -> tuple[Written, ...]:
        return tuple((entry, self._at(entry.seq)) for entry in self.entries)

    def _at(self, seq: int) -> datetime:
        return next(at for last, at in self.writes if seq <= last)


UNKNOWN = _Turn()


class MemoryJournal(Journal):
    """Keeps the events of the latest turns.

    Args:
        now: The time of day.
    """

    def __init__(self, now: Callable[[], datetime] = SystemClock().now) -> None:
        self._now = now
        self._lock = Lock()
        self._turns: Latest[str, _Turn] = Latest()

    def record(self, entries: tuple[Entry, ...]) -> None:
        at = self._now()
        with self._lock:
            for turn_id, new in groupby(entries, attrgetter("turn_id")):
                known = self._turns.get(turn_id, UNKNOWN)
                together = _together(known.entries, tuple(new))
                writes = (*known.writes, (together[-1].seq, at))
                self._turns[turn_id] = _Turn(entries=together, writes=writes)

    def entries(self, turn_id: str) -> tuple[Entry, ...]:
        with self._lock:
            return self._turns.get(turn_id, UNKNOWN).entries

    def written(self, turn_id: str) -> tuple[Written, ...]:
        """A turn's entries with the times at which they were recorded."""
        with self._lock:
            return self._turns.get(turn_id, UNKNOWN).written()

    def turn_ids(self) -> tuple[str, ...]:
        """The turns of which something is known, in the order in which they were first heard of."""
        with self._lock:
            return tuple(self._turns)

    def forget(self, turn_id: str) -> int:
        """Strike out a turn's entries; returns how many there were."""
        with self._lock:
            return len(self._turns.pop(turn_id, UNKNOWN).entries)

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        with self._lock:
            began = [turn_id for turn_id, one in self._turns.items() if one.entries[0].seq == 0]
        return tuple(began[::-1][:limit])


def _together(known: tuple[Entry, ...], new: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """All of them by number; of two with one number, the first stays."""
    together = (*known, *new)
    numbers = [entry.seq for entry in together]
    if numbers == [*range(numbers[0], numbers[0] + len(numbers))]:  # as they are noted
        return together
    by_number = {entry.seq: entry for entry in reversed(together)}
    return tuple([by_number[number] for number in sorted(by_number)])
