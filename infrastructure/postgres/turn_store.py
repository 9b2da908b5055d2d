"""The state of running turns in Postgres."""

from psycopg.errors import DivisionByZero
from sqlalchemy import Engine

from turnkeeper.application.ports.turn_store import (
    AlreadyEnded,
    Closing,
    Opened,
    Opening,
    TurnStore,
)
from turnkeeper.domain.admission import Admission, AdmissionCheck
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import RestScope
from turnkeeper.infrastructure.postgres.admissions import ASK, admission_of, gates, values_of
from turnkeeper.infrastructure.postgres.closing import closing_of, freeing
from turnkeeper.infrastructure.postgres.opening import opened_of, opening_of
from turnkeeper.infrastructure.postgres.pipeline import Statement, run

REST = """
INSERT INTO model_rests (owner, place, model, until)
VALUES (%(owner)s, %(place)s, %(model)s, now() + %(for_s)s * interval '1 second')
ON CONFLICT (owner, place, model)
DO UPDATE SET until = GREATEST(model_rests.until, excluded.until)
"""

MARK_UNREACHABLE = """
INSERT INTO unreachable_channels (server, channel_id, until)
VALUES (%(server)s, %(channel_id)s, now() + %(for_s)s * interval '1 second')
ON CONFLICT (server, channel_id)
DO UPDATE SET until = GREATEST(unreachable_channels.until, excluded.until)
"""

# The channels' leases first, as in an opening. A turn that nobody knows counts as given up.
EXTEND = """
WITH leases AS (
    UPDATE channel_leases l SET until = now() + %(alive_s)s * interval '1 second'
    FROM turns t
    WHERE t.turn_id = ANY (%(turn_ids)s::text[]) AND t.status = 'running'
        AND l.server = t.server AND l.channel_id = t.channel_id AND l.turn_id = t.turn_id
    RETURNING 1
), extended AS (
    UPDATE turns t SET alive_until = now() + %(alive_s)s * interval '1 second'
    FROM (SELECT count(*) FROM leases) AS leases_first
    WHERE t.turn_id = ANY (%(turn_ids)s::text[]) AND t.status = 'running'
    RETURNING t.turn_id
)
SELECT turn_id FROM unnest(%(turn_ids)s::text[]) AS asked (turn_id)
WHERE turn_id NOT IN (SELECT turn_id FROM extended)
    AND NOT EXISTS (
        SELECT 1 FROM turns t WHERE t.turn_id = asked.turn_id AND t.status <> 'given_up')
"""


class PostgresTurnStore(TurnStore):
    """Opens and closes turns, each in one transaction and one round trip."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def open(self, opening: Opening) -> Opened | AlreadyEnded:
        *_, (row,) = run(self._engine, *opening_of(opening))
        return opened_of(row, opening)

    def admit(self, check: AdmissionCheck) -> Admission:
        values = values_of(check)
        *_, (row,) = run(self._engine, *gates(values), Statement(ASK, values))
        return admission_of(row, check)

    def close(self, closing: Closing) -> None:
        try:
            answers = run(self._engine, *closing_of(closing))
        except StoreError as error:
            if not isinstance(error.__cause__, DivisionByZero):
                raise
            return  # it was closed before
        left = freeing(closing, answers)
        if left:
            run(self._engine, *left, durable=False)

    def rest(self, scope: RestScope, *, for_s: float) -> None:
        values = {
            "owner": str(scope.owner),
            "place": scope.place,
            "model": scope.model,
            "for_s": float(for_s),
        }
        run(self._engine, Statement(REST, values), durable=False)

    def extend(self, turn_ids: tuple[str, ...], *, alive_s: float) -> frozenset[str]:
        if not turn_ids:
            return frozenset()
        values = {"turn_ids": list(turn_ids), "alive_s": float(alive_s)}
        (rows,) = run(self._engine, Statement(EXTEND, values))
        return frozenset(row["turn_id"] for row in rows)

    def mark_unreachable(self, server: Owner, channel_id: str, *, for_s: float) -> None:
        values = {"server": str(server), "channel_id": channel_id, "for_s": float(for_s)}
        run(self._engine, Statement(MARK_UNREACHABLE, values), durable=False)
