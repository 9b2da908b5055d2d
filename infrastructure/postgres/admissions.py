"""Admission in Postgres: the gates that hold others back, the verdict, and the settling.

A gate makes sure that a row is there and locks it until the transaction ends, so that whoever asks
next sees what was decided. Gates are passed in one order by everybody, so that nobody waits in a
circle: channel, turn, cooldown, unit, day, period. Only then is everything read and decided, in
one statement, so that a refusal leaves nothing to take back.
"""

from datetime import datetime, timedelta

from turnkeeper.domain.admission import (
    Admission,
    AdmissionCheck,
    CooldownCheck,
    Granted,
    QuotaCheck,
    RefusalKind,
    Refused,
    Reservation,
    next_utc_midnight,
)
from turnkeeper.domain.finish import Commit, Nothing, Release, Settle
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, squeezed

# An update on a condition that never holds changes nothing, and still locks the row.
COOLDOWN_GATE = """
INSERT INTO cooldowns (server, scope, trigger_key, until)
VALUES (%(rules)s, %(scope)s, '', to_timestamp(0))
ON CONFLICT (server, scope) DO UPDATE SET until = cooldowns.until WHERE FALSE
"""

UNIT_GATE = """
INSERT INTO quota_units (server, trigger_key, state, user_id, holders, expires_at)
VALUES (%(rules)s, %(trigger)s, 'released', %(user)s, '{}', to_timestamp(0))
ON CONFLICT (server, trigger_key) DO UPDATE SET state = quota_units.state WHERE FALSE
"""

DAY_GATE = """
INSERT INTO quota_days (server, user_id, day, used)
VALUES (%(rules)s, %(user)s, (now() AT TIME ZONE 'UTC')::date, 0)
ON CONFLICT (server, user_id, day) DO UPDATE SET used = quota_days.used WHERE FALSE
"""

PERIOD_GATE = """
INSERT INTO quota_periods (server, period_start, used) VALUES (%(rules)s, now(), 0)
ON CONFLICT (server) DO UPDATE SET period_start = now(), used = 0
WHERE quota_periods.period_start + %(period_days)s * interval '24 hours' <= now()
"""

# One row. `has_unit` is that a unit was granted to this trigger before, and still counts.
RULES = """
rules AS MATERIALIZED (
    SELECT
        (SELECT until FROM cooldowns
         WHERE server = %(rules)s AND scope = %(scope)s AND until > now()
            AND trigger_key <> %(trigger)s) AS cooling_until,
        EXISTS (
            SELECT 1 FROM quota_units
            WHERE server = %(rules)s AND trigger_key = %(trigger)s
                AND (state = 'charged' OR state = 'reserved' AND expires_at > now())
        ) AS has_unit,
        day.today,
        day.used + held.by_user AS by_user,
        period.period_start,
        period.used + held.by_server AS by_server
    FROM (
        SELECT (now() AT TIME ZONE 'UTC')::date AS today, COALESCE(sum(used), 0) AS used
        FROM quota_days
        WHERE server = %(rules)s AND user_id = %(user)s
            AND day = (now() AT TIME ZONE 'UTC')::date
    ) AS day, (
        SELECT max(period_start) AS period_start, COALESCE(sum(used), 0) AS used
        FROM quota_periods WHERE server = %(rules)s AND %(wide)s > 0
    ) AS period, LATERAL (
        SELECT
            count(*) FILTER (WHERE u.user_id = %(user)s AND u.day = day.today) AS by_user,
            count(*) FILTER (WHERE u.period_start = period.period_start) AS by_server
        FROM quota_units u
        WHERE u.server = %(rules)s AND u.state = 'reserved' AND u.expires_at > now()
            AND u.trigger_key <> %(trigger)s AND %(wants_unit)s
    ) AS held
)
"""

RULES_VERDICT = """
    WHEN cooling_until IS NOT NULL AND NOT %(is_exempt)s THEN 'cooldown'
    WHEN has_unit OR NOT %(wants_unit)s THEN 'granted'
    WHEN %(daily)s > 0 AND by_user >= %(daily)s THEN 'user_quota'
    WHEN %(wide)s > 0 AND by_server >= %(wide)s THEN 'server_quota'
    ELSE 'granted'
"""

# An exempt turn makes the cooldown longer for the others, and leaves it to whoever took it.
TAKING = """
cooled AS (
    UPDATE cooldowns c SET
        until = GREATEST(c.until, now() + %(cooldown_s)s * interval '1 second'),
        trigger_key = CASE WHEN c.until > now() THEN c.trigger_key ELSE %(trigger)s END
    FROM verdict v
    WHERE v.kind = 'granted' AND c.server = %(rules)s AND c.scope = %(scope)s
        AND (c.until <= now() OR %(is_exempt)s)
), reserved AS (
    UPDATE quota_units u SET
        state = 'reserved',
        user_id = CASE WHEN v.has_unit THEN u.user_id ELSE %(user)s END,
        day = CASE WHEN v.has_unit THEN u.day WHEN %(daily)s > 0 THEN v.today END,
        period_start = CASE WHEN v.has_unit THEN u.period_start ELSE v.period_start END,
        holders = ARRAY(
            SELECT holder FROM unnest(u.holders) AS holder
            WHERE holder <> %(holder)s AND NOT EXISTS (
                SELECT 1 FROM turns t
                WHERE t.server = %(rules)s AND t.taken_by = %(holder)s AND t.turn_id = holder)
        ) || %(holder)s::text,
        expires_at = GREATEST(u.expires_at, now() + %(expires_s)s * interval '1 second')
    FROM verdict v
    WHERE v.kind = 'granted' AND %(wants_unit)s AND u.server = %(rules)s
        AND u.trigger_key = %(trigger)s AND u.state <> 'charged'
), told AS (
    INSERT INTO admission_refusals (server, trigger_key, kind)
    SELECT %(rules)s, %(trigger)s, v.kind FROM verdict v
    WHERE v.kind IN ('cooldown', 'user_quota', 'server_quota')
    ON CONFLICT (server, trigger_key) DO NOTHING
    RETURNING 1
)
"""

ASK = squeezed(
    "WITH", RULES, ", verdict AS (SELECT *, CASE", RULES_VERDICT, "END AS kind FROM rules),",
    TAKING,
    "SELECT v.*, now() AS now, NOT EXISTS (SELECT 1 FROM told) AS already_said FROM verdict v",
)  # fmt: skip

# The unit first, then the day, then the period: the order of the gates.
CHARGE = """
WITH charged AS (
    UPDATE quota_units SET state = 'charged', holders = '{}'
    WHERE server = %(rules)s AND trigger_key = %(trigger)s AND state = 'reserved'
        AND %(holder)s = ANY (holders)
    RETURNING server, user_id, day, period_start
), by_user AS (
    UPDATE quota_days d SET used = d.used + 1 FROM charged c
    WHERE d.server = c.server AND d.user_id = c.user_id AND d.day = c.day
    RETURNING 1
)
UPDATE quota_periods p SET used = p.used + 1
FROM charged c, (SELECT count(*) FROM by_user) AS day_first
WHERE p.server = c.server AND p.period_start = c.period_start
"""

RELEASE = """
UPDATE quota_units SET
    holders = array_remove(holders, %(holder)s),
    state = CASE WHEN array_remove(holders, %(holder)s) = '{}' THEN 'released' ELSE state END
WHERE server = %(rules)s AND state = 'reserved' AND %(holder)s = ANY (holders)
"""


def values_of(check: AdmissionCheck) -> dict[str, object]:
    """The values of the statements here; what is not asked is null, or stands for no limit."""
    return {
        "rules": str(Owner.server(check.server_id)),
        "trigger": _trigger_key(check),
        "holder": check.holder,
        "expires_s": check.expires_in_s,
        **_cooldown_values(check.cooldown),
        **_quota_values(check.quota),
    }


def _cooldown_values(cooldown: CooldownCheck | None) -> dict[str, object]:
    return {
        "scope": cooldown.scope if cooldown else None,
        "cooldown_s": float(cooldown.length_s) if cooldown else 0.0,
        "is_exempt": bool(cooldown and cooldown.is_exempt),
    }


def _quota_values(quota: QuotaCheck | None) -> dict[str, object]:
    counts = quota is not None and quota.rule.limits_anything
    return {
        "wants_unit": counts,
        "user": quota.user_id if quota else None,
        "daily": quota.rule.daily_per_user if quota and counts else 0,
        "wide": quota.rule.server_wide if quota and counts else 0,
        "period_days": float(quota.rule.period_days) if quota else 1.0,
    }


def _trigger_key(check: AdmissionCheck) -> str:
    """A trigger without a key is like no other, so that the turn stands for it."""
    return check.trigger_key or check.holder


def gates(values: dict[str, object]) -> tuple[Statement, ...]:
    """The gates that a check has to pass, in their order."""
    needed = (
        (COOLDOWN_GATE, values["scope"] is not None),
        (UNIT_GATE, values["wants_unit"]),
        (DAY_GATE, values["daily"]),
        (PERIOD_GATE, values["wide"]),
    )
    return tuple(Statement(sql, values) for sql, is_needed in needed if is_needed)


def admission_of(row: Row, check: AdmissionCheck) -> Admission:
    """What a row with a verdict says to the check."""
    if row["kind"] != "granted":
        kind = RefusalKind(row["kind"])
        return Refused(kind=kind, until=_until(kind, row, check), already_said=row["already_said"])
    if check.quota is None or not check.quota.rule.limits_anything:
        return Granted()
    return Granted(
        reservation=Reservation(
            server_id=check.server_id, trigger_key=_trigger_key(check), holder=check.holder
        )
    )


def _until(kind: RefusalKind, row: Row, check: AdmissionCheck) -> datetime:
    if kind is RefusalKind.COOLDOWN:
        cooling_until: datetime = row["cooling_until"]
        return cooling_until
    if kind is RefusalKind.USER_QUOTA or check.quota is None:
        return next_utc_midnight(row["now"])
    period_start: datetime = row["period_start"]
    return period_start + timedelta(days=check.quota.rule.period_days)


def settling(settle: Settle, *, turn_id: str, server: Owner) -> Statement:
    """What settles a turn's unit. Where none is known, any that it holds after all goes back."""
    match settle:
        case Commit(reservation=held):
            sql = CHARGE
        case Release(reservation=held):
            sql = RELEASE
        case Nothing():
            return Statement(RELEASE, {"rules": str(server), "holder": turn_id})
    values = {
        "rules": str(Owner.server(held.server_id)),
        "trigger": held.trigger_key,
        "holder": held.holder,
    }
    return Statement(sql, values)
