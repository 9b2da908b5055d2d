"""Looks back on turns in Postgres."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from json import JSONDecoder
from operator import itemgetter

from sqlalchemy import Engine

from turnkeeper.application.ports.reports import MOST_KEY_TROUBLES, MOST_TROUBLED, Reports
from turnkeeper.domain.events import KeyBooked
from turnkeeper.domain.pool_history import KeyTrouble
from turnkeeper.domain.reports import Past, TurnJournal
from turnkeeper.infrastructure.journal_codec import event_from_json
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, run, squeezed
from turnkeeper.infrastructure.postgres.turn_history import KINDS, entry_of
from turnkeeper.infrastructure.postgres.turn_tables import HAS_FAILED, IS_KEY_ERROR

IS_OVER = "kind IN ('turn_ended', 'turn_swept')"

# Turns are found by when they began, so that no index is needed but that of the list of turns.
OVER = "FROM turns t WHERE opened_at >= %(since)s AND ended_at IS NOT NULL"
FAILED = f"EXISTS (SELECT 1 FROM turn_events f WHERE f.turn_id = t.turn_id AND {HAS_FAILED})"  # noqa: S608

ONE = f"""
SELECT turn_id, server, seq, at_s, kind, data,
    COALESCE(min(written_at) FILTER (WHERE {IS_OVER}) OVER (), max(written_at) OVER ()) AS over_at
FROM turn_events WHERE turn_id = %(turn_id)s ORDER BY seq, server DESC
"""  # noqa: S608

# With what `summary` reads of a turn. OFFSET lets the entries be found turn by turn: the planner
# takes the failed for far more than they are, and would read the whole journal to join it.
TROUBLED = squeezed(
    "WITH page AS MATERIALIZED (",
    "SELECT server, turn_id, opened_at, ended_at AS over_at",
    f"{OVER} AND {FAILED} ORDER BY opened_at DESC, turn_id DESC LIMIT %(limit)s)",
    """
SELECT p.turn_id, p.server, p.over_at, e.seq, e.at_s, e.kind, e.data
FROM page p CROSS JOIN LATERAL (
    SELECT seq, at_s, kind, data FROM turn_events j
    WHERE j.turn_id = p.turn_id AND kind = ANY (%(kinds)s::text[]) OFFSET 0) e
ORDER BY p.opened_at DESC, p.turn_id DESC, e.seq
""",
)

# The rest of the text from the model's name on, which begins with the name as JSON spells it: to
# cut it out here took ten times as long.
CALM = squeezed(f"""
WITH ends AS (
    SELECT (SELECT data FROM turn_events e
        WHERE e.turn_id = t.turn_id AND e.kind = 'turn_ended' LIMIT 1) AS data
    {OVER} AND NOT {FAILED})
SELECT substr(data, strpos(data, '"success_model":') + length('"success_model":')) AS rest,
    count(*) AS turns
FROM ends WHERE strpos(data, '"success_model":') > 0 GROUP BY rest
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

    def turn(self, turn_id: str) -> TurnJournal | None:
        (rows,) = run(self._engine, Statement(ONE, {"turn_id": turn_id}))
        return next(iter(_turns(rows)), None)

    def past(self, since: datetime, *, most: int = MOST_TROUBLED) -> Past:
        values = {"since": since, "limit": most + 1, "kinds": KINDS}
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


def _counted(rows: Iterable[Row]) -> tuple[tuple[str, int], ...]:
    """How many turns each model answered."""
    counts: Counter[str] = Counter()
    for row in rows:
        model, _ = JSONDecoder().raw_decode(row["rest"])
        if model is not None:
            counts[model] += row["turns"]
    return tuple(sorted(counts.items()))


def _turns(rows: Iterable[Row]) -> tuple[TurnJournal, ...]:
    """The turns of rows that come turn by turn, each entry once."""
    return tuple(_turn(list(of_one)) for _, of_one in groupby(rows, key=itemgetter("turn_id")))


def _turn(rows: list[Row]) -> TurnJournal:
    entries = {row["seq"]: entry_of(row) for row in rows}
    first = rows[0]
    return TurnJournal(
        turn_id=first["turn_id"],
        server=first["server"],
        over_at=first["over_at"],
        entries=tuple(entries.values()),
    )
