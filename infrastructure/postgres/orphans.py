"""The turns whose process died, in Postgres."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from psycopg.errors import DivisionByZero
from sqlalchemy import Engine

from turnkeeper.application.ports.ledger import IntentState
from turnkeeper.application.ports.orphans import (
    CLAIM_S,
    GRACE_S,
    LENT_S,
    Left,
    Orphan,
    Orphans,
    Swept,
)
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.finish import Nothing
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import IN_FLIGHT_S
from turnkeeper.infrastructure.postgres.admissions import settling
from turnkeeper.infrastructure.postgres.journal import RECORD, rows_to_json
from turnkeeper.infrastructure.postgres.ledger import (
    MEET,
    fates_to_json,
    intent_of,
    intent_values,
)
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, run, squeezed

DUE = """
    ended_at IS NULL AND COALESCE(sweep_due <= now(), TRUE) AND (
        status = 'given_up'
        OR status = 'running' AND alive_until <= now() - %(grace_s)s * interval '1 second')
    OR ended_at IS NOT NULL AND sweep_due <= now()
"""
ARE_DUE = f"SELECT EXISTS (SELECT 1 FROM turns WHERE {DUE}) AS are_due"  # noqa: S608

# What another sweeper has just locked is its own, and passed over. A turn that ended by itself
# keeps its epoch and its key, by which its repetition is known.
CLAIM = squeezed(
    "WITH due AS MATERIALIZED (SELECT server, turn_id, ended_at, status FROM turns WHERE",
    DUE,
    """
    ORDER BY alive_until, turn_id LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
)
UPDATE turns t SET
    sweeps = t.sweeps + 1,
    swept_by = %(by)s,
    sweep_due = now() + %(claim_s)s * interval '1 second',
    status = CASE WHEN t.ended_at IS NULL THEN 'given_up' ELSE t.status END,
    epoch = CASE WHEN t.ended_at IS NULL THEN t.epoch + 1 ELSE t.epoch END,
    lost_key = CASE WHEN t.ended_at IS NULL THEN COALESCE(t.turn_key, t.lost_key)
        ELSE t.lost_key END,
    turn_key = CASE WHEN t.ended_at IS NOT NULL THEN t.turn_key END
FROM due d
WHERE t.server = d.server AND t.turn_id = d.turn_id
RETURNING t.*, now() AS now,
    (SELECT o.turn_id FROM turns o WHERE o.server = t.server AND o.turn_key = t.lost_key
        AND o.turn_id <> t.turn_id
    ) AS successor,
    (SELECT json_agg(to_json(i) ORDER BY i.written_at, i.intent_id) FROM delivery_intents i
     WHERE i.server = t.server AND i.turn_id = t.turn_id) AS intents
""",
)

OTHERS = """
SELECT * FROM delivery_intents
WHERE server = %(server)s AND channel_id = %(channel_id)s AND turn_id <> %(turn_id)s
    AND written_at >= %(since)s
ORDER BY written_at, intent_id
"""

# The channel first, then the turn, as in an opening. A claim that is void divides by zero, and so
# undoes all.
DONE = squeezed("""
WITH freed AS (
    UPDATE channel_leases SET until = now()
    WHERE server = %(server)s AND channel_id = %(channel_id)s AND turn_id = %(turn_id)s
    RETURNING 1
), ended AS (
    UPDATE turns SET
        ended_at = COALESCE(ended_at, now()),
        sweep_due = now() + %(again_in_s)s::float8 * interval '1 second'
    FROM (SELECT count(*) FROM freed) AS channel_first
    WHERE server = %(server)s AND turn_id = %(turn_id)s AND sweeps = %(claim_no)s
    RETURNING 1
)
SELECT 1 / (SELECT count(*) FROM ended)
""")

ABSENT = """
UPDATE delivery_intents SET state = 'absent'
WHERE server = %(server)s AND intent_id = ANY (%(absent)s::text[]) AND state = 'intended'
"""

# A lease that is too old to count is not counted back.
IDLE = f"""
UPDATE key_state SET in_flight = GREATEST(0, in_flight - 1)
WHERE owner = %(owner)s AND provider = %(provider)s AND key_id = %(key_id)s
    AND %(opened_at)s > now() - interval '{IN_FLIGHT_S:g} seconds'
"""  # noqa: S608

# Read before the keys are: a turn that begins meanwhile has been lent its key just now.
FREE_KEYS = f"""
WITH holders AS MATERIALIZED (
    SELECT owner, count(*) AS turns
    FROM turns t, LATERAL (VALUES (t.server), ('user:' || t.user_id)) AS pays (owner)
    WHERE t.ended_at IS NULL GROUP BY owner
)
UPDATE key_state s
SET in_flight = LEAST(
    s.in_flight, COALESCE((SELECT turns FROM holders h WHERE h.owner = s.owner), 0))
WHERE s.in_flight > 0 AND s.last_leased_at <= now() - interval '{LENT_S:g} seconds'
    AND s.in_flight > COALESCE((SELECT turns FROM holders h WHERE h.owner = s.owner), 0)
RETURNING 1
"""  # noqa: S608

REMEMBER = """
INSERT INTO delivery_intents (
    server, intent_id, turn_id, epoch, channel_id, thread_id, webhook_id, origin,
    content_hash, invocation_no, webhook_is_temporary, chars, state, message_id, written_at)
SELECT %(server)s, %(intent_id)s, %(turn_id)s, %(epoch)s, %(channel_id)s, %(thread_id)s,
    %(webhook_id)s, %(origin)s, %(content_hash)s, %(invocation_no)s, %(webhook_is_temporary)s,
    %(chars)s, %(state)s, %(message_id)s, %(written_at)s
ON CONFLICT (server, intent_id) DO NOTHING
"""
REMEMBERED_IS_DUE = """
UPDATE turns SET sweep_due = now()
WHERE server = %(server)s AND turn_id = %(turn_id)s AND status = 'given_up'
    AND sweep_due IS NULL
"""

STUCK = """
SELECT * FROM delivery_intents WHERE state = 'stuck' ORDER BY written_at, intent_id
"""


class PostgresOrphans(Orphans):
    """Claims orphans and writes what was done for them, each in one round trip."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def are_due(self, *, grace_s: float = GRACE_S) -> bool:
        (rows,) = run(self._engine, Statement(ARE_DUE, {"grace_s": float(grace_s)}))
        return bool(rows[0]["are_due"])

    def claim(
        self, by: str, *, limit: int, grace_s: float = GRACE_S, claim_s: float = CLAIM_S
    ) -> tuple[Orphan, ...]:
        values = {
            "by": by,
            "limit": limit,
            "grace_s": float(grace_s),
            "claim_s": float(claim_s),
        }
        (rows,) = run(self._engine, Statement(CLAIM, values))
        return tuple(sorted((_orphan(row) for row in rows), key=lambda one: one.alive_until))

    def others(self, orphan: Orphan, since: datetime) -> tuple[Left, ...]:
        values = {
            "server": str(orphan.server),
            "channel_id": orphan.channel_id,
            "turn_id": orphan.turn_id,
            "since": since,
        }
        (rows,) = run(self._engine, Statement(OTHERS, values))
        return tuple(_left(row) for row in rows)

    def done(self, swept: Swept) -> bool:
        try:
            run(self._engine, *_doing(swept))
        except StoreError as error:
            if not isinstance(error.__cause__, DivisionByZero):
                raise
            return False
        return True

    def remember(self, left: tuple[Left, ...]) -> None:
        statements = [Statement(REMEMBER, _left_values(one)) for one in left]
        turns = dict.fromkeys((one.intent.server_id, one.intent.turn_id) for one in left)
        due = [
            Statement(REMEMBERED_IS_DUE, {"server": str(Owner.server(server)), "turn_id": turn_id})
            for server, turn_id in turns
        ]
        if statements:
            run(self._engine, *statements, *due)

    def free_keys(self) -> int:
        (rows,) = run(self._engine, Statement(FREE_KEYS))
        return len(rows)

    def stuck(self) -> tuple[Left, ...]:
        (rows,) = run(self._engine, Statement(STUCK))
        return tuple(_left(row) for row in rows)


def _doing(swept: Swept) -> tuple[Statement, ...]:
    orphan = swept.orphan
    values = {
        "server": str(orphan.server),
        "turn_id": orphan.turn_id,
        "channel_id": orphan.channel_id,
        "claim_no": orphan.claim_no,
        "again_in_s": swept.again_in_s,
        "absent": list(swept.absent),
        "fates": fates_to_json(swept.fates),
        "entries": rows_to_json(swept.entries),
    }
    idle = (
        Statement(
            IDLE,
            {
                "owner": str(key.owner),
                "provider": key.provider,
                "key_id": key.key_id,
                "opened_at": orphan.opened_at,
            },
        )
        for key in swept.idle_keys
    )
    return (
        *(Statement(sql, values) for sql in (DONE, MEET, ABSENT, RECORD)),
        settling(Nothing(), turn_id=orphan.turn_id, server=orphan.server),
        *idle,
    )


def _orphan(row: Row) -> Orphan:
    return Orphan(
        turn_id=row["turn_id"],
        server=Owner.parse(row["server"]),
        channel_id=row["channel_id"],
        user_id=row["user_id"],
        turn_key=row["lost_key"] or row["turn_key"] or "",
        claim_no=row["sweeps"],
        opened_at=row["opened_at"],
        alive_until=row["alive_until"],
        now=row["now"],
        ended_itself=row["status"] != "given_up",
        swept_before=row["status"] == "given_up" and row["ended_at"] is not None,
        successor=row["successor"],
        left=tuple(_left(intent) for intent in row["intents"] or ()),
    )


def _left(row: Mapping[str, Any]) -> Left:
    written_at = row["written_at"]
    if isinstance(written_at, str):  # it came as JSON
        written_at = datetime.fromisoformat(written_at).astimezone(UTC)
    return Left(
        intent=intent_of(dict(row)),
        state=IntentState(row["state"]),
        message_id=row["message_id"],
        written_at=written_at,
    )


def _left_values(left: Left) -> dict[str, object]:
    return {
        **intent_values(left.intent),
        "state": left.state.value,
        "message_id": left.message_id,
        "written_at": left.written_at,
    }
