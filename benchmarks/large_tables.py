"""Fills a database as years of turns and many servers would."""

from sqlalchemy import Connection, insert, text

from benchmarks.happy_turn import SERVER
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.postgres.tables import key_state, provider_keys
from turnkeeper.infrastructure.vault import AesGcmVault

# Servers that have all that the benchmark's has: settings, an endpoint, a key, a channel.
OWNERS = (
    """
    INSERT INTO owner_settings (owner, version, primary_ref, chain)
    SELECT 'server:' || n, version, primary_ref, chain
    FROM owner_settings, generate_series(1, :many) AS n WHERE owner = :bench
    """,
    """
    INSERT INTO endpoints (owner, id, connection_id, label, base_url, model_name, requires_auth,
        trusted, capabilities)
    SELECT 'server:' || n, 1000 + n, connection_id, label, base_url, model_name, requires_auth,
        trusted, capabilities
    FROM endpoints, generate_series(1, :many) AS n WHERE owner = :bench
    """,
    """
    INSERT INTO provider_keys (owner, provider, id, sealed, key_version, hint, fingerprint)
    SELECT 'server:' || n, provider, 1000000 + n, sealed, key_version, hint, fingerprint
    FROM provider_keys, generate_series(1, :many) AS n WHERE owner = :bench
    """,
    """
    INSERT INTO key_state (owner, provider, key_id, is_main, usage_count)
    SELECT owner, provider, id, TRUE, id % 100 FROM provider_keys WHERE owner <> :bench
    """,
    """
    INSERT INTO channel_leases (server, channel_id, turn_id, until)
    SELECT 'server:' || n, 'channel', '', now() FROM generate_series(1, :many) AS n
    """,
    """
    INSERT INTO unreachable_channels (server, channel_id, until)
    SELECT 'server:' || n, 'gone', now() FROM generate_series(1, :many / 100) AS n
    """,
    """
    INSERT INTO model_rests (owner, place, model, until)
    SELECT 'server:' || n, 'custom:1', 'model', now() FROM generate_series(1, :many / 100) AS n
    """,
)

# What was charged of quotas, and the days and periods in which it counts.
QUOTAS = (
    """
    INSERT INTO quota_units (server, trigger_key, state, user_id, day, holders, expires_at)
    SELECT 'server:' || n, 'trigger', 'charged', 'user', current_date, '{}', now()
    FROM generate_series(1, :many / 10) AS n
    """,
    """
    INSERT INTO quota_days (server, user_id, day, used)
    SELECT 'server:' || n, 'user', current_date, 1 FROM generate_series(1, :many / 10) AS n
    """,
)

# Turns that ended, of 12 events and one message each.
TURNS = (
    """
    INSERT INTO turns (server, turn_id, channel_id, epoch, status, opened_at, alive_until,
        ended_at, result)
    SELECT 'server:' || n % 500, md5(CAST(n AS text)), 'channel-' || n % 5000, 1, 'completed',
        past.at, past.at, past.at, one.result
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n,
        LATERAL (SELECT now() - n * interval '1 second' AS at) AS past,
        (SELECT result FROM turns WHERE result IS NOT NULL AND server = :bench LIMIT 1) AS one
    """,
    """
    INSERT INTO turn_events (server, turn_id, seq, at_s, kind, data, written_at)
    SELECT 'server:' || n % 500, md5(CAST(n AS text)), e.seq, e.at_s, e.kind, e.data,
        now() - n * interval '1 second'
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n, (
        SELECT seq, at_s, kind, data FROM turn_events
        WHERE server = :bench AND seq < 12 AND turn_id = (
            SELECT turn_id FROM turn_events WHERE server = :bench AND seq = 11 LIMIT 1)) AS e
    """,
    """
    INSERT INTO delivery_intents (server, intent_id, turn_id, epoch, channel_id, origin,
        content_hash, invocation_no, state, message_id, written_at)
    SELECT 'server:' || n % 500, left(md5(n || 'i'), 25), md5(CAST(n AS text)), 1,
        'channel-' || n % 5000, i.origin, i.content_hash, 1, 'posted', CAST(n AS text),
        now() - n * interval '1 second'
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n, (
        SELECT origin, content_hash FROM delivery_intents WHERE server = :bench LIMIT 1) AS i
    """,
)
EVENTS_A_TURN = 12
TURNS_AT_ONCE = 100_000


def add_owners(database: Connection, many: int) -> None:
    """Add so many servers."""
    for statement in (*OWNERS, *QUOTAS):
        database.execute(text(statement), {"many": many, "bench": str(SERVER)})


def add_events(database: Connection, many: int) -> None:
    """Add turns of other servers with so many events together."""
    turns = -(-many // EVENTS_A_TURN)
    for first in range(1, turns + 1, TURNS_AT_ONCE):
        last = min(turns, first + TURNS_AT_ONCE - 1)
        for statement in TURNS:
            values = {"first": first, "last": last, "bench": str(SERVER)}
            database.execute(text(statement), values)


def add_keys(database: Connection, vault: AesGcmVault, provider: str, ids: range) -> None:
    """Add keys to the pool of the benchmark's server that open and are as used as its least."""
    pool = {"owner": str(SERVER), "provider": provider}
    used = "SELECT min(usage_count) FROM key_state WHERE owner = :owner AND provider = :provider"
    usage = database.execute(text(used), pool).scalar_one()
    secrets, states = [], []
    for key_id in ids:
        secret = Secret(f"sk-bench-{key_id}")
        sealed = vault.seal(secret, owner=SERVER, provider=provider, row=str(key_id))
        secrets.append(
            pool
            | {
                "id": key_id,
                "sealed": sealed.data,
                "key_version": sealed.version,
                "hint": "",
                "fingerprint": vault.fingerprint(secret),
            }
        )
        states.append(pool | {"key_id": key_id, "is_main": False, "usage_count": usage})
    database.execute(insert(provider_keys), secrets)
    database.execute(insert(key_state), states)


def rest_keys(database: Connection, ids: range) -> None:
    """Have these keys rest for an hour, and look as if they came next after it."""
    resting = """
    UPDATE key_state SET usage_count = 0, rests_until = now() + interval '1 hour',
        rest_set_at = now()
    WHERE owner = :owner AND key_id BETWEEN :first AND :last
    """
    values = {"owner": str(SERVER), "first": ids[0], "last": ids[-1]}
    database.execute(text(resting), values)


def settle(database: Connection) -> None:
    """Leave nothing to do behind: statistics are made, and pages written."""
    database.execute(text("VACUUM ANALYZE"))
    database.execute(text("CHECKPOINT"))
