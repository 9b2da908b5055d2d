"""The journal in memory."""

from collections.abc import Callable
from datetime import datetime
from threading import Lock
from typing import Any

from turnkeeper.application.ports.journal import Journal
from turnkeeper.domain.events import Entry, Event
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.latest import Latest

Written = tuple[Entry, datetime]
"""An entry, and when it was recorded."""

_Row = tuple[int, float, Event, datetime]
"""An entry's number, time and event, and when it was recorded."""


class MemoryJournal(Journal):
    """Keeps the events of the latest turns.

    Args:
        now: The time of day.
    """

    def __init__(self, now: Callable[[], datetime] = SystemClock().now) -> None:
        self._now = now
        self._lock = Lock()
        # Of each turn its rows in one flat list, as they came: thousands of turns are kept, and
        # the garbage collector looks at each value of theirs again and again.
        self._turns: Latest[str, list[Any]] = Latest()

    def record(self, entries: tuple[Entry, ...]) -> None:
        at = self._now()
        turns = self._turns
        with self._lock:
            for entry in entries:
                kept = turns.get(entry.turn_id)
                if kept is None:
                    kept = turns[entry.turn_id] = []
                kept += (entry.seq, entry.at_s, entry.event, at)

    def entries(self, turn_id: str) -> tuple[Entry, ...]:
        return tuple([entry for entry, _ in self.written(turn_id)])

    def written(self, turn_id: str) -> tuple[Written, ...]:
        """A turn's entries with the times at which they were recorded."""
        return tuple(
            [
                (Entry(turn_id=turn_id, seq=seq, at_s=at_s, event=event), at)
                for seq, at_s, event, at in self._rows(turn_id)
            ]
        )

    def turn_ids(self) -> tuple[str, ...]:
        """The turns of which something is known, in the order in which they were first heard of."""
        with self._lock:
            return tuple(self._turns)

    def forget(self, turn_id: str) -> int:
        """Strike out a turn's entries; returns how many there were."""
        with self._lock:
            return len(set(self._turns.pop(turn_id, [])[::4]))

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        with self._lock:
            began = [turn_id for turn_id, kept in self._turns.items() if 0 in kept[::4]]
        return tuple(began[::-1][:limit])

    def _rows(self, turn_id: str) -> list[_Row]:
        """By number; of two with one number, the first."""
        with self._lock:
            kept = self._turns.get(turn_id, [])[:]
        by_seq: dict[int, _Row] = {}
        for row in zip(kept[::4], kept[1::4], kept[2::4], kept[3::4], strict=True):
            by_seq.setdefault(row[0], row)
        return [by_seq[seq] for seq in sorted(by_seq)]
