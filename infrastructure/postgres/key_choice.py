"""`RotationPool.choose` and `lent` as one statement; docs/decisions/007 says why it looks so.

Values: owner, provider, model, without (key ids).
"""

from turnkeeper.domain.rotation import IN_FLIGHT_S, PROBE_S
from turnkeeper.infrastructure.postgres.pipeline import squeezed

# Unlike now(), it is not the transaction's: what waited for a lock is as late as it is.
NOW = "statement_timestamp()"

# Each speaks of a row of key_state that is called s.
RESTS_FOR_ANOTHER = "COALESCE(s.rest_model <> %(model)s::text, FALSE)"
IS_HALF_OPEN = f"(COALESCE(s.rests_until <= {NOW}, FALSE) AND NOT {RESTS_FOR_ANOTHER})"
WOULD_DO = f"""
    NOT s.disabled
    AND COALESCE((s.model_rests ->> %(model)s::text)::timestamptz <= {NOW}, TRUE)
"""
IS_FREE = f"""({WOULD_DO}
    AND COALESCE(s.rests_until <= {NOW}, TRUE)
    AND NOT ({IS_HALF_OPEN} AND COALESCE(s.probe_until > {NOW}, FALSE)))
"""
# The last resort: the main key, while it rests for another model.
IS_SPARED = f"({WOULD_DO} AND s.is_main AND {RESTS_FOR_ANOTHER})"
LOAD = f"""
    CASE WHEN s.last_leased_at >= {NOW} - interval '{IN_FLIGHT_S:g} seconds'
        THEN s.in_flight ELSE 0 END
"""
IS_OF_POOL = "s.owner = %(owner)s AND s.provider = %(provider)s"

# A view, so that each part below is led by an index to its keys: the rested ones by when they were
# back, the others by their use. What still rests is looked at by none.
LEFT = f"""
WITH pool AS NOT MATERIALIZED (
    SELECT s.key_id, s.enabled, s.is_main, s.usage_count, s.rests_until, {LOAD} AS load,
        {RESTS_FOR_ANOTHER} AS spares, COALESCE(s.probe_until > {NOW}, FALSE) AS is_claimed
    FROM key_state s
    WHERE {IS_OF_POOL} AND s.key_id <> ALL (%(without)s::bigint[]) AND {WOULD_DO}
)
"""  # noqa: S608  (all parts are constants, here and below)
# Nobody needs these orders, but that they come with an index makes it the one that is taken, though
# the planner, who knows the size of the usual pool only, thinks as well of the primary key.
BY_USE = "ORDER BY usage_count, key_id OFFSET 0"
BY_REST = "ORDER BY rests_until OFFSET 0"
DUE_OR_IDLE = f"""
SELECT key_id FROM (
    (SELECT key_id, usage_count, load, FALSE AS is_due FROM pool
    WHERE enabled AND rests_until IS NULL AND load = 0
    ORDER BY usage_count, key_id LIMIT 1)
    UNION ALL
    (SELECT key_id, usage_count, load, NOT spares FROM pool
    WHERE enabled AND rests_until <= {NOW}
        AND CASE WHEN spares THEN load = 0 ELSE NOT is_claimed END
    {BY_REST})
) first ORDER BY is_due DESC, load, usage_count, key_id LIMIT 1
"""  # noqa: S608
# The main key comes last whether it is switched off, or rests for another model.
BUSY_OR_LAST = f"""
SELECT key_id FROM (
    (SELECT key_id, usage_count, load, FALSE AS is_last FROM pool
    WHERE enabled AND rests_until IS NULL
    {BY_USE})
    UNION ALL
    (SELECT key_id, usage_count, load, FALSE FROM pool
    WHERE enabled AND rests_until <= {NOW} AND spares
    {BY_REST})
    UNION ALL
    SELECT key_id, usage_count, load, TRUE FROM pool
    WHERE is_main
        AND (rests_until IS NULL OR spares OR (rests_until <= {NOW} AND NOT is_claimed))
) rest ORDER BY is_last, load, usage_count, key_id LIMIT 1
"""  # noqa: S608

# Lends the best key, or nothing if another lease took just that one since this statement began:
# of all that it read, it reads only the key's own row again after it waited for it.
LEND = squeezed(f"""
{LEFT}
UPDATE key_state s SET
    in_flight = {LOAD} + 1,
    last_leased_at = {NOW},
    probe_until =
        CASE WHEN {IS_HALF_OPEN} THEN {NOW} + interval '{PROBE_S:g} seconds'
            ELSE s.probe_until END
FROM key_state seen, provider_keys k
WHERE {IS_OF_POOL} AND s.key_id = COALESCE(({DUE_OR_IDLE}), ({BUSY_OR_LAST}))
    AND seen.owner = s.owner AND seen.provider = s.provider AND seen.key_id = s.key_id
    AND s.last_leased_at IS NOT DISTINCT FROM seen.last_leased_at
    AND ({IS_FREE} OR (seen.rests_until > {NOW} AND {IS_SPARED}))
    AND k.owner = s.owner AND k.provider = s.provider AND k.id = s.key_id
RETURNING s.key_id, s.is_main, {IS_HALF_OPEN} AS is_probe, s.last_leased_at AS leased_at,
    k.sealed, k.key_version
""")  # noqa: S608

# Lets one transaction at a time go on with the pool; bookings and LEND alone pass it by.
TURNSTILE = """
SELECT id FROM provider_keys WHERE owner = %(owner)s AND provider = %(provider)s
ORDER BY id LIMIT 1 FOR UPDATE
"""

FREE_AT = f"""
GREATEST((s.model_rests ->> %(model)s::text)::timestamptz, s.rests_until,
    CASE WHEN s.rests_until IS NOT NULL AND NOT {RESTS_FOR_ANOTHER} THEN s.probe_until END)
"""
# Whether a key is free after all, and what to say of the pool if none is. It looks at all keys.
NONE_FREE = squeezed(f"""
{LEFT}
SELECT COALESCE(({DUE_OR_IDLE}), ({BUSY_OR_LAST})) IS NOT NULL AS is_free,
    count(*) = 0 AS is_empty,
    COALESCE(array_agg(s.key_id ORDER BY s.key_id) FILTER (WHERE s.disabled), '{{}}') AS refused,
    extract(epoch FROM min({FREE_AT}) FILTER (
        WHERE (s.enabled OR s.is_main) AND NOT s.disabled AND {FREE_AT} > {NOW}
    ) - {NOW})::float8 AS next_in_s
FROM key_state s WHERE {IS_OF_POOL}
""")  # noqa: S608
