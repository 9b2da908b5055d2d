"""What is kept of one user, in Postgres."""

from sqlalchemy import Engine

from turnkeeper.application.ports.user_traces import Traces, UserTraces
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.postgres.pipeline import Statement, run, squeezed

IS_OVER = "ended_at IS NOT NULL AND sweep_due IS NULL"
# In a direct message the user stands for the server. A unit that is held goes with its turn.
COOLDOWNS = "cooldowns WHERE scope = %(user_scope)s OR server = %(as_server)s"
UNITS = "quota_units WHERE user_id = %(user_id)s AND (state <> 'reserved' OR expires_at < now())"
DAYS = "quota_days WHERE user_id = %(user_id)s"
RESTS = "model_rests WHERE owner = %(owner)s"
NOTICES = "notices WHERE user_id = %(user_id)s"
KEYS = "provider_keys WHERE owner = %(owner)s"
PROVIDERS = "saved_providers WHERE owner = %(owner)s"
ENDPOINTS = "endpoints WHERE owner = %(owner)s"
IS_SET = "owner_settings WHERE owner = %(owner)s AND (chain <> '[]'::jsonb OR NOT server_fallback)"

COUNT = squeezed(f"""
WITH mine AS MATERIALIZED (
    SELECT server, turn_id, {IS_OVER} AS is_over FROM turns WHERE user_id = %(user_id)s
), told AS (
    SELECT count(*) AS entries, count(*) FILTER (WHERE kind = 'tool_ran') AS tool_runs
    FROM turn_events WHERE turn_id IN (SELECT turn_id FROM mine WHERE is_over)
)
SELECT
    (SELECT count(*) FROM mine WHERE is_over) AS turns,
    (SELECT entries FROM told) AS entries,
    (SELECT tool_runs FROM told) AS tool_runs,
    (SELECT count(*) FROM delivery_intents
     WHERE turn_id IN (SELECT turn_id FROM mine WHERE is_over)) AS messages,
    (SELECT count(*) FROM {NOTICES}) AS notices,
    (SELECT count(*) FROM {COOLDOWNS}) + (SELECT count(*) FROM {UNITS})
        + (SELECT count(*) FROM {DAYS}) + (SELECT count(*) FROM {RESTS}) AS counts,
    (SELECT count(*) FROM {KEYS}) AS keys,
    (SELECT count(*) FROM {PROVIDERS}) + (SELECT count(*) FROM {ENDPOINTS})
        + (SELECT count(*) FROM {IS_SET}) AS settings,
    (SELECT count(*) FROM mine WHERE NOT is_over) AS unfinished
""")  # noqa: S608

FORGET_TURNS = squeezed(f"""
WITH mine AS MATERIALIZED (
    SELECT server, turn_id FROM turns
    WHERE user_id = %(user_id)s AND {IS_OVER}
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), intents AS (
    DELETE FROM delivery_intents i USING mine WHERE i.turn_id = mine.turn_id RETURNING 1
), signals AS (
    DELETE FROM turn_signals s USING mine
    WHERE s.server = mine.server AND s.turn_id = mine.turn_id
), leases AS (
    DELETE FROM channel_leases l USING mine
    WHERE l.server = mine.server AND l.turn_id = mine.turn_id AND l.until <= now()
), told AS (
    DELETE FROM turn_events e USING mine WHERE e.turn_id = mine.turn_id RETURNING e.kind
), gone AS (
    DELETE FROM turns t USING mine
    WHERE t.server = mine.server AND t.turn_id = mine.turn_id
    RETURNING 1
)
SELECT
    (SELECT count(*) FROM gone) AS turns,
    (SELECT count(*) FROM told) AS entries,
    (SELECT count(*) FROM told WHERE kind = 'tool_ran') AS tool_runs,
    (SELECT count(*) FROM intents) AS messages
""")  # noqa: S608

# The owner first, as all changes of settings and keys begin.
BLANK = """
WITH was_set AS (
    SELECT owner, chain <> '[]'::jsonb OR NOT server_fallback AS is_set FROM owner_settings
    WHERE owner = %(owner)s FOR UPDATE
), blanked AS (
    UPDATE owner_settings o SET version = o.version + 1, primary_ref = DEFAULT, chain = DEFAULT,
        randomizer = DEFAULT, member_keys_only = DEFAULT, content_filter = DEFAULT,
        sampling = DEFAULT, cooldown = DEFAULT, quota = DEFAULT, persona_models = DEFAULT,
        channel_models = DEFAULT, channel_cooldowns = DEFAULT, server_fallback = DEFAULT,
        changed_at = now()
    FROM was_set w WHERE o.owner = w.owner
)
SELECT count(*) AS settings FROM was_set WHERE is_set
"""
FORGET = {
    "settings": (PROVIDERS, ENDPOINTS),
    "keys": (KEYS,),
    "notices": (NOTICES,),
    "counts": (COOLDOWNS, UNITS, DAYS, RESTS),
}


class PostgresUserTraces(UserTraces):
    """Forgets a batch in one transaction and one round trip."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def count(self, user_id: str) -> Traces:
        ((row,),) = run(self._engine, Statement(COUNT, _values(user_id)))
        return Traces(**row)

    def forget_turns(self, user_id: str, *, limit: int) -> Traces:
        values = {**_values(user_id), "limit": limit}
        ((row,),) = run(self._engine, Statement(FORGET_TURNS, values))
        return Traces(**row)

    def forget_account(self, user_id: str) -> Traces:
        values = _values(user_id)
        forgetting = [
            Statement(_counted(name, rows), values) for name in FORGET for rows in FORGET[name]
        ]
        answers = run(self._engine, Statement(BLANK, values), *forgetting)
        gone = Traces()
        for (row,) in answers:
            gone = gone.plus(Traces(**row))
        return gone


def _counted(name: str, rows: str) -> str:
    return f"WITH gone AS (DELETE FROM {rows} RETURNING 1) SELECT count(*) AS {name} FROM gone"  # noqa: S608


def _values(user_id: str) -> dict[str, object]:
    return {
        "user_id": user_id,
        "owner": str(Owner.user(user_id)),
        "as_server": str(Owner.server(user_id)),
        "user_scope": f"user:{user_id}",
    }
