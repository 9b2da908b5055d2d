"""What happens in one turn, noted as it happens."""

from collections.abc import Callable
from threading import Lock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.events import Entry, Event
from turnkeeper.domain.frozen import maker

Listener = Callable[[Entry], None]

_new_entry = maker(Entry)


class Recorder:
    """Numbers a turn's events and hands them to whoever writes next. Safe from several threads."""

    def __init__(self, turn_id: str, clock: Clock, listeners: tuple[Listener, ...] = ()) -> None:
        self.turn_id = turn_id
        self._monotonic = clock.monotonic
        self._listeners = listeners
        self._began_s = clock.monotonic()
        self._lock = Lock()  # guards all below
        self._entries: list[Entry] = []
        self._handed_out = 0
        self._given_back: tuple[Entry, ...] = ()

    def note(self, event: Event) -> None:
        """Add an event."""
        at_s = self._monotonic() - self._began_s
        with self._lock:
            entry = _new_entry(self.turn_id, len(self._entries), at_s, event)
            self._entries.append(entry)
        for listener in self._listeners:
            listener(entry)

    def at_s(self, monotonic_s: float) -> float:
        """An instant of the monotonic clock in seconds since the turn began."""
        return monotonic_s - self._began_s

    def take(self) -> tuple[Entry, ...]:
        """The entries that were not handed out yet; they go with the next write."""
        with self._lock:
            new = tuple(self._entries[self._handed_out :])
            self._handed_out += len(new)
            if self._given_back:
                new, self._given_back = self._given_back + new, ()
        return new

    def give_back(self, entries: tuple[Entry, ...]) -> None:
        """Entries that could not be written; they go with the write after."""
        with self._lock:
            self._given_back = (*entries, *self._given_back)

    def has_noted(self, kind: type[Event]) -> bool:
        """Whether an event of this kind happened."""
        return any(type(entry.event) is kind for entry in self.entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries so far."""
        with self._lock:
            return tuple(self._entries)
