"""How things stand for a turn that has not begun."""

from datetime import datetime
from typing import Protocol

from turnkeeper.application.ports.turn_store import Opening
from turnkeeper.domain.standing import Standing


class Standings(Protocol):
    """Looks at what `TurnStore.open` would find. Safe to use from several threads and processes.

    Raises:
        StoreUnavailable: The store cannot be reached.
    """

    def look(self, opening: Opening) -> Standing:
        """How things stand; nothing is opened, taken or changed.

        What the trigger or the turn itself already holds counts as somebody else's.
        """
        ...

    def now(self) -> datetime:
        """The store's time."""
        ...
