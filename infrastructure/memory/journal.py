"""The journal in memory."""

from itertools import groupby
from operator import attrgetter
from threading import Lock

from turnkeeper.application.ports.journal import Journal
from turnkeeper.domain.events import Entry
from turnkeeper.infrastructure.memory.latest import Latest


class MemoryJournal(Journal):
    """Keeps the events of the latest turns."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._turns: Latest[str, tuple[Entry, ...]] = Latest()

    def record(self, entries: tuple[Entry, ...]) -> None:
        with self._lock:
            for turn_id, new in groupby(entries, attrgetter("turn_id")):
                self._turns[turn_id] = _together(self._turns.get(turn_id, ()), tuple(new))

    def entries(self, turn_id: str) -> tuple[Entry, ...]:
        with self._lock:
            return self._turns.get(turn_id, ())

    def forget(self, turn_id: str) -> int:
        """Strike out a turn's entries; returns how many there were."""
        with self._lock:
            return len(self._turns.pop(turn_id, ()))

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        with self._lock:
            began = [turn_id for turn_id, known in self._turns.items() if known[0].seq == 0]
        return tuple(began[::-1][:limit])


def _together(known: tuple[Entry, ...], new: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """All of them by number; of two with one number, the first stays."""
    together = (*known, *new)
    numbers = [entry.seq for entry in together]
    if numbers == [*range(numbers[0], numbers[0] + len(numbers))]:  # as they are noted
        return together
    by_number = {entry.seq: entry for entry in reversed(together)}
    return tuple([by_number[number] for number in sorted(by_number)])
