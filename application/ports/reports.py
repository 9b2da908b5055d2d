"""Looks back on turns that are over. It only reads."""

from datetime import datetime
from typing import Protocol

from turnkeeper.domain.pool_history import KeyTrouble
from turnkeeper.domain.reports import Past, TurnJournal

MOST_TROUBLED = 2_000
MOST_KEY_TROUBLES = 2_000


class Reports(Protocol):
    """Reads the journals of turns that are over, also of those that were given up.

    Raises:
        StoreUnavailable: From every method.
    """

    def turn(self, turn_id: str) -> TurnJournal | None:
        """A turn with its whole journal, also while it runs; None where nothing is known of it."""
        ...

    def past(self, since: datetime, *, most: int = MOST_TROUBLED) -> Past:
        """What the turns that began since then, and are over, say of models and errors."""
        ...

    def key_troubles(
        self, since: datetime, *, most: int = MOST_KEY_TROUBLES
    ) -> tuple[KeyTrouble, ...]:
        """The errors that were booked on keys since then, latest first; at most so many."""
        ...
