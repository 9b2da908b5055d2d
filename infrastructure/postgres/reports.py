"""Looks back on turns in Postgres. What a page costs depends on its length, not on the table's."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from json import JSONDecoder
from operator import itemgetter

from sqlalchemy import Engine

from turnkeeper.application.ports.reports import (
    MOST_KEY_TROUBLES,
    MOST_TROUBLED,
    Asked,
    Page,
    Place,
    Reports,
)
from turnkeeper.domain.events import Entry, KeyBooked
from turnkeeper.domain.pool_history import KeyTrouble
from turnkeeper.domain.reports import Past, PastTurn
from turnkeeper.infrastructure.journal_codec import event_from_json
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, run, squeezed
from turnkeeper.infrastructure.postgres.turn_tables import (
    HAS_FAILED,
    IS_KEY_ERROR,
    IS_OVER,
    STATUS,
)

# A turn that was swept more than once, or ended all the same, is listed where it first was over.
OVER = f"""
SELECT turn_id, server, written_at AS over_at, kind, data FROM turn_events e
WHERE {IS_OVER}
    AND (kind = 'turn_ended' OR NOT EXISTS (
        SELECT 1 FROM turn_events o WHERE o.turn_id = e.turn_id AND o.seq < e.seq AND {IS_OVER}))
"""  # noqa: S608
FAILED = f"EXISTS (SELECT 1 FROM turn_events f WHERE f.turn_id = e.turn_id AND {HAS_FAILED})"  # noqa: S608
LATEST_FIRST = "ORDER BY written_at DESC, turn_id DESC LIMIT %(limit)s"
NEXT_PAGE = "AND (written_at, turn_id) < (%(over_at)s, %(turn_id)s)"

# What `summary` reads of a turn.
WITH_ENTRIES = """
SELECT p.turn_id, p.server, p.over_at, e.seq, e.at_s, e.kind, e.data
FROM page p JOIN turn_events e ON e.turn_id = p.turn_id
WHERE e.kind IN ('turn_started', 'server_route_asked', 'invocation_started', 'invocation_ended',
    'turn_ended', 'turn_swept')
ORDER BY p.over_at DESC, p.turn_id DESC, e.seq
"""

ONE = f"""
SELECT turn_id, server, seq, at_s, kind, data,
    COALESCE(min(written_at) FILTER (WHERE {IS_OVER}) OVER (), max(written_at) OVER ()) AS over_at
FROM turn_events WHERE turn_id = %(turn_id)s ORDER BY seq, server DESC
"""  # noqa: S608

TROUBLED = squeezed(
    "WITH page AS MATERIALIZED (",
    f"{OVER} AND written_at >= %(since)s AND {FAILED} {LATEST_FIRST})",
    WITH_ENTRIES,
)

# The rest of the text from the model's name on, which begins with the name as JSON spells it: to
# cut it out here took ten times as long.
CALM = squeezed(f"""
WITH page AS ({OVER} AND kind = 'turn_ended' AND written_at >= %(since)s AND NOT {FAILED})
SELECT substr(data, strpos(data, '"success_model":') + length('"success_model":')) AS rest,
    count(*) AS turns
FROM page WHERE strpos(data, '"success_model":') > 0 GROUP BY rest
""")  # noqa: S608

KEY_TROUBLES = f"""
SELECT turn_id, written_at, kind, data FROM turn_events
WHERE {IS_KEY_ERROR} AND written_at >= %(since)s
ORDER BY written_at DESC LIMIT %(limit)s
"""  # noqa: S608


class PostgresReports(Reports):
    """Reads with one statement a question."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def page(self, asked: Asked) -> Page:
        (rows,) = run(self._engine, page_of(asked))
        found = _turns(rows)
        listed = found[: asked.limit]
        if len(found) <= asked.limit:
            return Page(turns=listed)
        last = listed[-1]
        return Page(turns=listed, next=Place(over_at=last.over_at, turn_id=last.turn_id))

    def turn(self, turn_id: str) -> PastTurn | None:
        (rows,) = run(self._engine, Statement(ONE, {"turn_id": turn_id}))
        return next(iter(_turns(rows)), None)

    def past(self, since: datetime, *, most: int = MOST_TROUBLED) -> Past:
        values = {"since": since, "limit": most + 1}
        calm, troubled = run(self._engine, Statement(CALM, values), Statement(TROUBLED, values))
        turns = _turns(troubled)
        return Past(
            calm=_counted(calm),
            troubled=turns[:most],
            is_cut=len(turns) > most,
        )

    def key_troubles(
        self, since: datetime, *, most: int = MOST_KEY_TROUBLES
    ) -> tuple[KeyTrouble, ...]:
        (rows,) = run(self._engine, Statement(KEY_TROUBLES, {"since": since, "limit": most}))
        events = ((row, event_from_json(row["kind"], row["data"])) for row in rows)
        return tuple(
            KeyTrouble(at=row["written_at"], turn_id=row["turn_id"], booked=event)
            for row, event in events
            if isinstance(event, KeyBooked)
        )


def page_of(asked: Asked) -> Statement:
    """What reads a page, and one turn more where another follows."""
    # A server's turns are found by their server, and the index of the status is kept out of it:
    # nobody knows how frequent a status is, and both together cost more than either.
    status = STATUS if asked.server is None else f"{STATUS} || ''"
    wants = (
        f"AND {status} = %(status)s" if asked.status is not None else "",
        "AND server = %(server)s" if asked.server is not None else "",
        f"AND {status} = 'completed' AND {FAILED}" if asked.rescued else "",
        NEXT_PAGE if asked.before is not None else "",
    )
    page = ("WITH page AS MATERIALIZED (", OVER, *wants, LATEST_FIRST, ")")
    before = asked.before
    values = {
        "status": asked.status,
        "server": asked.server,
        "over_at": before.over_at if before else None,
        "turn_id": before.turn_id if before else None,
        "limit": asked.limit + 1,
    }
    return Statement(squeezed(*page, WITH_ENTRIES), values)


def _counted(rows: Iterable[Row]) -> tuple[tuple[str, int], ...]:
    """How many turns each model answered."""
    counts: Counter[str] = Counter()
    for row in rows:
        model, _ = JSONDecoder().raw_decode(row["rest"])
        if model is not None:
            counts[model] += row["turns"]
    return tuple(sorted(counts.items()))


def _turns(rows: Iterable[Row]) -> tuple[PastTurn, ...]:
    """The turns of rows that come turn by turn, each entry once."""
    return tuple(_turn(list(of_one)) for _, of_one in groupby(rows, key=itemgetter("turn_id")))


def _turn(rows: list[Row]) -> PastTurn:
    entries = {
        row["seq"]: Entry(
            turn_id=row["turn_id"],
            seq=row["seq"],
            at_s=row["at_s"],
            event=event_from_json(row["kind"], row["data"]),
        )
        for row in rows
    }
    first = rows[0]
    return PastTurn(
        turn_id=first["turn_id"],
        server=first["server"],
        over_at=first["over_at"],
        entries=tuple(entries.values()),
    )
