"""Reads the journal of all processes and tells listeners of each turn that is over."""

from collections.abc import Callable
from threading import Lock

from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.recorder import Listener
from turnkeeper.domain.events import Entry, TurnEnded, TurnSwept
from turnkeeper.infrastructure.memory.latest import Latest

PAGE = 256
MOST = 16_384
"""How many turns are looked through at once; of more than that the oldest are passed over."""


class JournalFollower:
    """Tells of each turn once, in the order in which they began. Safe to use from several threads.

    Turns that were over before the first look are passed over, so that a restart counts none twice.
    """

    def __init__(self, journal: Journal, listener: Listener) -> None:
        self._journal = journal
        self._listener = listener
        self._lock = Lock()  # one look at a time
        self._told: Latest[str, None] = Latest(4 * MOST)
        self._running: Latest[str, None] = Latest(MOST)
        self._has_begun = False

    def __call__(self) -> int:
        """Look once; returns how many turns were told of.

        Raises:
            StoreUnavailable: The store is away; the next look makes up for it.
        """
        with self._lock:
            if not self._has_begun:
                self._look(lambda entry: None, pages=1)
                self._has_begun = True
                return 0
            return self._look(self._listener)

    def _look(self, listener: Listener, pages: int = MOST // PAGE) -> int:
        for turn_id in self._new(pages * PAGE):
            self._running[turn_id] = None
        return sum(self._told_of(turn_id, listener) for turn_id in tuple(self._running))

    def _new(self, most: int) -> list[str]:
        """Turns that were not seen before, oldest first."""
        limit = min(PAGE, most)
        while True:
            ids = self._journal.recent(limit)
            is_enough = len(ids) < limit or limit >= most or any(map(self._is_known, ids))
            if is_enough:
                return [turn_id for turn_id in reversed(ids) if not self._is_known(turn_id)]
            limit = min(2 * limit, most)

    def _is_known(self, turn_id: str) -> bool:
        return turn_id in self._told or turn_id in self._running

    def _told_of(self, turn_id: str, listener: Callable[[Entry], None]) -> bool:
        entries = self._journal.entries(turn_id)
        if not any(isinstance(entry.event, TurnEnded | TurnSwept) for entry in entries):
            return False
        del self._running[turn_id]
        self._told[turn_id] = None
        for entry in entries:
            listener(entry)
        return True
