"""Where the events of turns are kept."""

from collections.abc import Sequence
from typing import Protocol

from turnkeeper.domain.events import Entry


class Journal(Protocol):
    """Keeps the events of turns, in order.

    Raises:
        StoreUnavailable: From every method.
    """

    def record(self, entries: Sequence[Entry]) -> None:
        """Add entries. An entry already there (same turn and seq) is left as it is."""
        ...

    def entries(self, turn_id: str) -> tuple[Entry, ...]:
        """All entries of a turn, in order; none if there is no such turn."""
        ...

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        """The ids of the latest turns, newest first."""
        ...
