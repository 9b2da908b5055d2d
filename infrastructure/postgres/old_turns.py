"""What is kept of turns that are long over, in Postgres."""

from sqlalchemy import Engine

from turnkeeper.application.ports.old_turns import OldTurns, Pruned
from turnkeeper.domain.errors import StoreError
from turnkeeper.infrastructure.postgres.errors import LacksPrivilege
from turnkeeper.infrastructure.postgres.pipeline import Statement, run, squeezed

OLD = "now() - %(older_than_s)s * interval '1 second'"

# A turn goes with its intents and signals; its journal goes after it, found by its first entry.
TURNS = squeezed(f"""
WITH old AS MATERIALIZED (
    SELECT server, turn_id FROM turns
    WHERE ended_at < {OLD} AND sweep_due IS NULL
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), intents AS (
    DELETE FROM delivery_intents i USING old
    WHERE i.server = old.server AND i.turn_id = old.turn_id
    RETURNING 1
), signals AS (
    DELETE FROM turn_signals s USING old
    WHERE s.server = old.server AND s.turn_id = old.turn_id
), gone AS (
    DELETE FROM turns t USING old
    WHERE t.server = old.server AND t.turn_id = old.turn_id
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS turns, (SELECT count(*) FROM intents) AS messages
""")  # noqa: S608

JOURNALS = squeezed(f"""
WITH old AS MATERIALIZED (
    SELECT e.turn_id FROM turn_events e
    WHERE e.seq = 0 AND e.written_at < {OLD}
        AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.turn_id = e.turn_id)
    LIMIT %(limit)s
), gone AS (
    DELETE FROM turn_events e USING (SELECT DISTINCT turn_id FROM old) o
    WHERE e.turn_id = o.turn_id
    RETURNING e.turn_id
)
SELECT count(*) AS events, count(DISTINCT turn_id) AS journals FROM gone
""")  # noqa: S608


def _deleting(table: str, key: str, instant: str, counted: str) -> str:
    """What deletes the rows of a server's table whose instant is long past, and counts them."""
    return f"""
WITH gone AS (
    DELETE FROM {table} WHERE (server, {key}) IN (
        SELECT server, {key} FROM {table}
        WHERE {instant} < {OLD} LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
    RETURNING 1
)
SELECT count(*) AS {counted} FROM gone
"""  # noqa: S608


# An expired unit counts nowhere any more, and a charged one is counted in its day and period.
UNITS = _deleting("quota_units", "trigger_key", "expires_at", "units")
REFUSALS = _deleting("admission_refusals", "trigger_key", "refused_at", "refusals")
NOTICES = _deleting("notices", "message_id", "expires_at", "notices")


LOGINS = """
SELECT current_user::text AS login, relowner::regrole::text AS owner
FROM pg_class WHERE oid = 'turn_events'::regclass
"""


class PostgresOldTurns(OldTurns):
    """Deletes a batch in one transaction and one round trip."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def prune(self, *, older_than_s: float, limit: int) -> Pruned:
        values = {"older_than_s": float(older_than_s), "limit": limit}
        statements = (Statement(sql, values) for sql in (TURNS, JOURNALS, UNITS, REFUSALS, NOTICES))
        try:
            rows = run(self._engine, *statements, durable=False)
        except LacksPrivilege as error:
            raise self._for_the_owner() from error
        counts: dict[str, int] = {}
        for (row,) in rows:
            counts |= row
        return Pruned(**counts)

    def _for_the_owner(self) -> StoreError:
        """What runs turns may add to journals, and not delete from them."""
        ((row,),) = run(self._engine, Statement(LOGINS, {}))
        return StoreError(
            f"{row['login']!r} may not delete journals, as the role that runs turns may not: prune"
            f" with the login of the tables' owner, {row['owner']!r} (--database-url); nothing was"
            " forgotten"
        )
