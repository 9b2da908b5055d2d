"""The journal in memory."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import count, islice
from threading import Lock
from typing import Any

from turnkeeper.application.ports.journal import Journal
from turnkeeper.domain.events import Entries, Entry, Event
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
        # Of each turn what was recorded, as it came: a number, how many values follow, when that
        # was, and so many times and events. It is all in one flat list, as thousands of turns are
        # kept, and the garbage collector looks at each value of theirs again and again.
        self._turns: Latest[str, list[Any]] = Latest()

    def record(self, entries: Sequence[Entry]) -> None:
        at = self._now()
        with self._lock:
            for run in (entries,) if type(entries) is Entries else _runs(entries):
                rows, turn_id = run.rows, run.turn_id
                if not rows:
                    continue
                kept = self._turns.get(turn_id)
                if kept is None:
                    kept = self._turns[turn_id] = []
                kept += (run.first_no, len(rows), at, *rows)

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
            kept = self._turns.pop(turn_id, [])
        return len(_by_number(kept))

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        with self._lock:
            newest = reversed(self._turns.items())
            began = (turn_id for turn_id, kept in newest if _knows_its_begin(kept))
            return tuple(islice(began, limit))

    def _rows(self, turn_id: str) -> list[_Row]:
        """By number; of two with one number, the first."""
        with self._lock:
            kept = self._turns.get(turn_id, [])[:]
        by_number = _by_number(kept)
        return [by_number[number] for number in sorted(by_number)]


def _runs(entries: Sequence[Entry]) -> Iterator[Entries]:
    """The entries, those together that follow each other."""
    run: Entries | None = None
    for entry in entries:
        if run is None or (run.turn_id, run.first_no + len(run)) != (entry.turn_id, entry.seq):
            if run is not None:
                yield run
            run = Entries(entry.turn_id, entry.seq, [])
        run.rows += (entry.at_s, entry.event)
    if run is not None:
        yield run


def _recorded(kept: list[Any]) -> Iterator[tuple[int, list[Any], datetime]]:
    """What was recorded each time: the first number, times and events, and when."""
    place = 0
    while place < len(kept):
        first_no, length, at = kept[place : place + 3]
        place += 3 + length
        yield first_no, kept[place - length : place], at


def _knows_its_begin(kept: list[Any]) -> bool:
    return any(first_no == 0 for first_no, _, _ in _recorded(kept))


def _by_number(kept: list[Any]) -> dict[int, _Row]:
    rows: dict[int, _Row] = {}
    for first_no, parts, at in _recorded(kept):
        for number, at_s, event in zip(count(first_no), parts[::2], parts[1::2], strict=False):
            rows.setdefault(number, (number, at_s, event, at))
    return rows
