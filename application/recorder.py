"""What happens in one turn, noted as it happens."""

from collections.abc import Callable, Sequence
from threading import Lock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.events import Entries, Entry, Event

Listener = Callable[[Entry], None]


class Recorder:
    """Numbers a turn's events and hands them to whoever writes next. Safe from several threads."""

    def __init__(self, turn_id: str, clock: Clock, listeners: tuple[Listener, ...] = ()) -> None:
        self.turn_id = turn_id
        self._monotonic = clock.monotonic
        self._listeners = listeners
        self._began_s = clock.monotonic()
        self._rows: list[float | Event] = []  # both of an event are added at once
        self._lock = Lock()  # guards the two below, and which number a listener hears
        self._handed_out = 0  # of the rows
        self._given_back: tuple[Entry, ...] = ()

    def note(self, event: Event) -> None:
        """Add an event."""
        if not self._listeners:
            self._rows += (self._monotonic() - self._began_s, event)
            return
        at_s = self._monotonic() - self._began_s
        with self._lock:
            entry = Entry(self.turn_id, len(self._rows) // 2, at_s, event)
            self._rows += (at_s, event)
        for listener in self._listeners:
            listener(entry)

    def at_s(self, monotonic_s: float) -> float:
        """An instant of the monotonic clock in seconds since the turn began."""
        return monotonic_s - self._began_s

    def take(self) -> Sequence[Entry]:
        """The entries that were not handed out yet; they go with the next write."""
        with self._lock:
            first = self._handed_out
            rows = self._rows[first:]
            self._handed_out = first + len(rows)
            new = Entries(self.turn_id, first // 2, rows)
            if not self._given_back:
                return new
            back, self._given_back = self._given_back, ()
        return (*back, *new)

    def give_back(self, entries: Sequence[Entry]) -> None:
        """Entries that could not be written; they go with the write after."""
        with self._lock:
            self._given_back = (*entries, *self._given_back)

    def has_noted(self, kind: type[Event]) -> bool:
        """Whether an event of this kind happened."""
        return kind in map(type, self._rows[:])

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries so far."""
        return tuple(Entries(self.turn_id, 0, self._rows[:]))
