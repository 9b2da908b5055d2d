"""The journal in memory."""

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from threading import Lock

from turnkeeper.application.ports.journal import Journal
from turnkeeper.domain.events import Entry, Event
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.latest import Latest

Written = tuple[Entry, datetime]
"""An entry, and when it was recorded."""

_TURN_ID = attrgetter("turn_id")
_FIELDS = attrgetter("seq", "at_s", "event")


class _Turn:
    """The entries of a turn, field by field.

    Thousands of turns are kept, and the garbage collector looks at each value again and again, but
    only once at tuples of numbers: so an entry is made anew when somebody reads it.
    """

    __slots__ = ("_at_s", "_events", "_seqs", "_writes")

    def __init__(self) -> None:
        self._seqs: tuple[int, ...] = ()
        self._at_s: tuple[float, ...] = ()
        self._events: tuple[Event, ...] = ()
        # For each call that recorded some of them, the last one's number and when it was.
        self._writes: tuple[tuple[int, datetime], ...] = ()

    def add(self, new: Iterable[Entry], at: datetime) -> None:
        """Keep entries by number; of two with one number, the first stays."""
        seqs, at_s, events = zip(*map(_FIELDS, new), strict=True)
        first = self._seqs[-1] + 1 if self._seqs else seqs[0]
        self._seqs += seqs
        self._at_s += at_s
        self._events += events
        if seqs != (*range(first, first + len(seqs)),):  # else they are in order, as they are noted
            self._sort()
        self._writes += ((self._seqs[-1], at),)

    @property
    def began(self) -> bool:
        """Whether its first entry is there."""
        return self._seqs[0] == 0

    def __len__(self) -> int:
        return len(self._seqs)

    def entries(self, turn_id: str) -> tuple[Entry, ...]:
        fields = zip(self._seqs, self._at_s, self._events, strict=True)
        return tuple(
            [Entry(turn_id=turn_id, seq=seq, at_s=at_s, event=event) for seq, at_s, event in fields]
        )

    def written(self, turn_id: str) -> tuple[Written, ...]:
        return tuple([(entry, self._at(entry.seq)) for entry in self.entries(turn_id)])

    def _at(self, seq: int) -> datetime:
        return next(at for last, at in self._writes if seq <= last)

    def _sort(self) -> None:
        rows = zip(self._seqs, self._at_s, self._events, strict=True)
        by_seq = {row[0]: row for row in reversed([*rows])}
        self._seqs = tuple(sorted(by_seq))
        self._at_s = tuple([by_seq[seq][1] for seq in self._seqs])
        self._events = tuple([by_seq[seq][2] for seq in self._seqs])


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
            for turn_id, new in groupby(entries, _TURN_ID):
                turn = self._turns.get(turn_id)
                if turn is None:
                    turn = self._turns[turn_id] = _Turn()
                turn.add(new, at)

    def entries(self, turn_id: str) -> tuple[Entry, ...]:
        with self._lock:
            return self._turns.get(turn_id, UNKNOWN).entries(turn_id)

    def written(self, turn_id: str) -> tuple[Written, ...]:
        """A turn's entries with the times at which they were recorded."""
        with self._lock:
            return self._turns.get(turn_id, UNKNOWN).written(turn_id)

    def turn_ids(self) -> tuple[str, ...]:
        """The turns of which something is known, in the order in which they were first heard of."""
        with self._lock:
            return tuple(self._turns)

    def forget(self, turn_id: str) -> int:
        """Strike out a turn's entries; returns how many there were."""
        with self._lock:
            return len(self._turns.pop(turn_id, UNKNOWN))

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        with self._lock:
            began = [turn_id for turn_id, turn in self._turns.items() if turn.began]
        return tuple(began[::-1][:limit])
