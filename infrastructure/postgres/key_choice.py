"""`RotationPool.choose` and `lent` as one statement; docs/decisions/004 says why it looks so.

Values: owner, provider, model, without (key ids).
"""

from turnkeeper.domain.rotation import IN_FLIGHT_S, PROBE_S

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

# Lends the best key, or nothing if another lease took just that one since this statement began:
# of all that it read, it reads only the key's own row again after it waited for it.
LEND = f"""
UPDATE key_state s SET
    in_flight = {LOAD} + 1,
    last_leased_at = {NOW},
    probe_until =
        CASE WHEN {IS_HALF_OPEN} THEN {NOW} + interval '{PROBE_S:g} seconds'
            ELSE s.probe_until END
FROM (
    SELECT s.key_id, s.last_leased_at, {IS_FREE} AS is_free FROM key_state s
    WHERE {IS_OF_POOL} AND (s.enabled OR s.is_main)
        AND s.key_id <> ALL (%(without)s::bigint[]) AND ({IS_FREE} OR {IS_SPARED})
    ORDER BY is_free DESC, s.enabled DESC, {IS_HALF_OPEN} DESC, {LOAD}, s.usage_count, s.key_id
    LIMIT 1
) best, provider_keys k
WHERE {IS_OF_POOL} AND s.key_id = best.key_id
    AND s.last_leased_at IS NOT DISTINCT FROM best.last_leased_at
    AND ({IS_FREE} OR (NOT best.is_free AND {IS_SPARED}))
    AND k.owner = %(owner)s AND k.provider = %(provider)s AND k.id = s.key_id
RETURNING s.key_id, s.is_main, {IS_HALF_OPEN} AS is_probe, s.last_leased_at AS leased_at,
    k.sealed, k.key_version
"""  # noqa: S608  (all parts are constants, here and below)

# Lets one transaction at a time go on with the pool; bookings and LEND alone pass it by.
TURNSTILE = """
SELECT id FROM provider_keys WHERE owner = %(owner)s AND provider = %(provider)s
ORDER BY id LIMIT 1 FOR UPDATE
"""

# The pool as it stands, for the answer when its keys come back.
POOL = f"""
SELECT s.*, {NOW} AS now FROM key_state s WHERE {IS_OF_POOL} ORDER BY s.key_id
"""  # noqa: S608
