"""The journal in memory."""

from threading import Lock

from turnkeeper.application.ports.journal import Journal
from turnkeeper.domain.events import Entry
from turnkeeper.infrastructure.memory.latest import Latest


class MemoryJournal(Journal):
    """Keeps the events of the latest turns."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._turns: Latest[str, dict[int, Entry]] = Latest()

    def record(self, entries: tuple[Entry, ...]) -> None:
        with self._lock:
            for entry in entries:
                if entry.turn_id not in self._turns:
                    self._turns[entry.turn_id] = {}
                self._turns[entry.turn_id].setdefault(entry.seq, entry)

    def entries(self, turn_id: str) -> tuple[Entry, ...]:
        with self._lock:
            found = self._turns.get(turn_id, {})
            return tuple(found[seq] for seq in sorted(found))

    def forget(self, turn_id: str) -> int:
        """Strike out a turn's entries; returns how many there were."""
        with self._lock:
            return len(self._turns.pop(turn_id, {}))

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        with self._lock:
            began = [turn_id for turn_id, entries in self._turns.items() if 0 in entries]
        return tuple(began[::-1][:limit])
