"""Turns that have been, in Postgres."""

from collections import defaultdict
from collections.abc import Iterable

from sqlalchemy import Engine

from turnkeeper.application.ports.turn_history import PastTurn, TurnCursor, TurnHistory, TurnQuery
from turnkeeper.domain.events import (
    Entry,
    InvocationEnded,
    InvocationStarted,
    ServerRouteAsked,
    TurnEnded,
    TurnStarted,
    TurnSwept,
)
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.journal_codec import event_from_json, name_of
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, run

PAGE = """
SELECT server, turn_id, channel_id, user_id, status, rescued, opened_at, ended_at FROM turns
WHERE {conditions}
ORDER BY opened_at DESC, turn_id DESC
LIMIT %(limit)s
"""
# Each as the index of it is made, so that a page is read from one in its order.
CONDITIONS = {
    "before_us": """(opened_at, turn_id) < (
        to_timestamp(0) + %(before_us)s * interval '1 microsecond', %(before_id)s)""",
    "server": "server = %(server)s",
    "user_id": "user_id = %(user_id)s",
    "status": "status = %(status)s",
    "rescued": "rescued",
}

ENTRIES = """
SELECT turn_id, seq, at_s, kind, data FROM turn_events
WHERE turn_id = ANY (%(turn_ids)s::text[]) AND kind = ANY (%(kinds)s::text[])
ORDER BY turn_id, seq
"""
# What `summary` and `cost_of` read.
KINDS = [
    name_of(kind)
    for kind in (
        TurnStarted,
        ServerRouteAsked,
        InvocationStarted,
        InvocationEnded,
        TurnEnded,
        TurnSwept,
    )
]


class PostgresTurnHistory(TurnHistory):
    """Reads a page by an index, and the entries of its turns."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def page(
        self, query: TurnQuery, *, before: TurnCursor | None, limit: int
    ) -> tuple[PastTurn, ...]:
        (rows,) = run(self._engine, paging(query, before, limit))
        if not rows:
            return ()
        (entries,) = run(self._engine, reading(row["turn_id"] for row in rows))
        known = _by_turn(entries)
        return tuple(_past(row, known[row["turn_id"]]) for row in rows)


def paging(query: TurnQuery, before: TurnCursor | None, limit: int) -> Statement:
    """What reads the rows of a page."""
    values: dict[str, object] = {}
    if before is not None:
        values |= {"before_us": before.opened_us, "before_id": before.turn_id}
    if query.server is not None:
        values["server"] = str(query.server)
    if query.user_id is not None:
        values["user_id"] = query.user_id
    if query.status is not None:
        values["status"] = query.status
    if query.rescued_only:
        values["rescued"] = True
    conditions = [CONDITIONS[name] for name in values if name in CONDITIONS] or ["true"]
    sql = PAGE.format(conditions=" AND ".join(conditions))
    return Statement(sql, {**values, "limit": limit})


def reading(turn_ids: Iterable[str]) -> Statement:
    """What reads the entries of these turns that tell of attempts and ends."""
    return Statement(ENTRIES, {"turn_ids": list(turn_ids), "kinds": KINDS})


def _by_turn(rows: Iterable[Row]) -> dict[str, tuple[Entry, ...]]:
    found: dict[str, dict[int, Entry]] = defaultdict(dict)
    for row in rows:
        found[row["turn_id"]][row["seq"]] = entry_of(row)
    known = {turn_id: tuple(entries.values()) for turn_id, entries in found.items()}
    return defaultdict(tuple, known)


def entry_of(row: Row) -> Entry:
    """The entry of a row of the journal."""
    return Entry(
        turn_id=row["turn_id"],
        seq=row["seq"],
        at_s=row["at_s"],
        event=event_from_json(row["kind"], row["data"]),
    )


def _past(row: Row, entries: tuple[Entry, ...]) -> PastTurn:
    values = {name: row[name] for name in row if name != "server"}
    return PastTurn(server=Owner.parse(row["server"]), entries=entries, **values)
