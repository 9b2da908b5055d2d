"""Looks back on turns that are over. It only reads."""

from datetime import datetime
from typing import Protocol

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.pool_history import KeyTrouble
from turnkeeper.domain.reports import Past, PastTurn

MOST_TROUBLED = 2_000
MOST_KEY_TROUBLES = 2_000


@frozen
class Place:
    """Where a page ends, and the next one goes on."""

    over_at: datetime
    turn_id: str


@frozen
class Asked:
    """Which turns a page lists.

    Attributes:
        status: Only those that ended so; `SWEPT` for those whose process died; None for all.
        rescued: Only those that were answered after a failure.
        server: Only this server's, such as ``server:12``; None for all.
        before: Only what was over before; None begins with the latest.
        limit: How many a page has; at least 1.
    """

    status: str | None = None
    rescued: bool = False
    server: str | None = None
    before: Place | None = None
    limit: int = 50


@frozen
class Page:
    """Some turns, the latest first.

    Attributes:
        turns: With the entries that `domain.reports.summary` needs.
        next: Where the next page begins; None where there is none.
    """

    turns: tuple[PastTurn, ...]
    next: Place | None = None


class Reports(Protocol):
    """Reads the journals of turns that are over, also of those that were swept.

    Raises:
        StoreUnavailable: From every method.
    """

    def page(self, asked: Asked) -> Page:
        """One page of the turns that are asked for, latest end first."""
        ...

    def turn(self, turn_id: str) -> PastTurn | None:
        """A turn with its whole journal, also while it runs; None where nothing is known of it."""
        ...

    def past(self, since: datetime, *, most: int = MOST_TROUBLED) -> Past:
        """What the turns that ended since then say of models and errors."""
        ...

    def key_troubles(
        self, since: datetime, *, most: int = MOST_KEY_TROUBLES
    ) -> tuple[KeyTrouble, ...]:
        """The errors that were booked on keys since then, latest first; at most so many."""
        ...
