"""How things stand for a turn that has not begun, in Postgres."""

from datetime import datetime

from sqlalchemy import Engine

from turnkeeper.application.ports.standings import Standings
from turnkeeper.application.ports.turn_store import Opening
from turnkeeper.domain.admission import AdmissionCheck
from turnkeeper.domain.standing import Standing
from turnkeeper.infrastructure.postgres.admissions import values_of
from turnkeeper.infrastructure.postgres.opening import opening_values, rest_scope
from turnkeeper.infrastructure.postgres.pipeline import Statement, run, squeezed

# What an opening reads, without its gates. A period that is over counts nothing.
LOOK = squeezed("""
WITH period AS (
    SELECT period_start, used, period_start + %(period_days)s * interval '24 hours' AS ends_at
    FROM quota_periods
    WHERE server = %(rules)s AND %(wide)s > 0
        AND period_start + %(period_days)s * interval '24 hours' > now()
), held AS (
    SELECT user_id, day, period_start FROM quota_units
    WHERE server = %(rules)s AND state = 'reserved' AND expires_at > now() AND %(wants_unit)s
)
SELECT
    now() AS now,
    (SELECT until FROM unreachable_channels
     WHERE server = %(server)s AND channel_id = %(channel)s AND until > now()) AS away_until,
    (SELECT until FROM channel_leases
     WHERE server = %(server)s AND channel_id = %(channel)s AND until > now()
        AND %(serialize)s) AS busy_until,
    (SELECT until FROM cooldowns
     WHERE server = %(rules)s AND scope = %(scope)s AND until > now()) AS cooling_until,
    (SELECT COALESCE(sum(used), 0) FROM quota_days
     WHERE server = %(rules)s AND user_id = %(user)s AND day = (now() AT TIME ZONE 'UTC')::date)
    + (SELECT count(*) FROM held
       WHERE user_id = %(user)s AND day = (now() AT TIME ZONE 'UTC')::date) AS by_user,
    (SELECT COALESCE(sum(used), 0) FROM period)
    + (SELECT count(*) FROM held JOIN period USING (period_start)) AS by_server,
    (SELECT ends_at FROM period) AS period_ends_at
""")

RESTING = """
SELECT owner, place, model, until FROM model_rests
WHERE owner = ANY (%(owners)s::text[]) AND until > now()
ORDER BY owner, place, model
"""


class PostgresStandings(Standings):
    """Reads in one round trip; locks and writes nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def look(self, opening: Opening) -> Standing:
        check = opening.admission or _nothing(opening)
        values = opening_values(opening) | values_of(check)
        (row,), rests = run(self._engine, Statement(LOOK, values), Statement(RESTING, values))
        return Standing(
            now=row["now"],
            away_until=row["away_until"],
            busy_until=row["busy_until"],
            cooling_until=row["cooling_until"],
            by_user=int(row["by_user"]),
            by_server=int(row["by_server"]),
            period_ends_at=row["period_ends_at"],
            resting=tuple(
                (rest_scope(one["owner"], one["place"], one["model"]), one["until"])
                for one in rests
            ),
        )

    def now(self) -> datetime:
        ((row,),) = run(self._engine, Statement("SELECT now() AS now"))
        now: datetime = row["now"]
        return now


def _nothing(opening: Opening) -> AdmissionCheck:
    """A check that asks for nothing."""
    return AdmissionCheck(
        server_id=opening.server.id,
        trigger_key=opening.turn_id,
        holder=opening.turn_id,
        cooldown=None,
        quota=None,
    )
