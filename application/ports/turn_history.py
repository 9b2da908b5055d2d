"""Turns that have been, a page at a time."""

from datetime import datetime
from typing import Protocol

from turnkeeper.domain.events import Entry
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.owner import Owner


@frozen
class TurnQuery:
    """Which turns are looked for; None is any.

    Attributes:
        server: Those of one server.
        user_id: Those that one user asked for.
        status: A `TurnStatus`, ``running`` or ``given_up``, by its value.
        rescued_only: Those alone that were answered after something had failed.
    """

    server: Owner | None = None
    user_id: str | None = None
    status: str | None = None
    rescued_only: bool = False


@frozen
class TurnCursor:
    """A place between two turns: the next page begins with the turn before it.

    Written ``MICROSECONDS-TURN_ID``; the instant is that of the turn's opening.
    """

    opened_us: int
    turn_id: str

    def __str__(self) -> str:
        return f"{self.opened_us}-{self.turn_id}"

    @classmethod
    def parse(cls, text: str) -> "TurnCursor":
        """The cursor that `str` gave.

        Raises:
            ValueError: The text is none.
        """
        instant, dash, turn_id = text.partition("-")
        is_instant = instant.isascii() and instant.isdigit() and len(instant) <= 17
        if not (dash and is_instant and turn_id.isprintable()):
            raise ValueError(f"{text!r} is no place in the list; take `next` of an earlier page")
        return cls(opened_us=int(instant), turn_id=turn_id)


@frozen
class PastTurn:
    """A turn as it is kept.

    Attributes:
        status: A `TurnStatus`, ``running`` or ``given_up``, by its value.
        opened_at: When it began, by the store's clock.
        ended_at: When it ended, or was swept up; None before.
        entries: What its journal says of its attempts and its end.
    """

    turn_id: str
    server: Owner
    channel_id: str
    user_id: str | None
    status: str
    rescued: bool
    opened_at: datetime
    ended_at: datetime | None = None
    entries: tuple[Entry, ...] = ()

    @property
    def cursor(self) -> TurnCursor:
        """The place just after it, in a list that begins with the newest."""
        opened_us = round(self.opened_at.timestamp() * 1_000_000)
        return TurnCursor(opened_us=opened_us, turn_id=self.turn_id)


class TurnHistory(Protocol):
    """Lists turns. Safe to use from several threads and processes.

    Raises:
        StoreUnavailable: The store cannot be reached.
    """

    def page(
        self, query: TurnQuery, *, before: TurnCursor | None, limit: int
    ) -> tuple[PastTurn, ...]:
        """The newest turns of the query before a place, newest first; those that run too."""
        ...
