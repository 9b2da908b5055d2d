"""The opening of a turn in Postgres: one transaction of a few statements."""

from turnkeeper.application.ports.turn_store import AlreadyEnded, Opened, Opening
from turnkeeper.domain.admission import Admission, Granted, RefusalKind, Refused
from turnkeeper.domain.errors import AlreadyRunning
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import RestScope
from turnkeeper.infrastructure.journal_codec import result_from_json
from turnkeeper.infrastructure.postgres.admissions import (
    RULES,
    RULES_VERDICT,
    TAKING,
    admission_of,
    gates,
    values_of,
)
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, squeezed

LEASE_GATE = """
INSERT INTO channel_leases (server, channel_id, turn_id, until)
VALUES (%(server)s, %(channel)s, '', to_timestamp(0))
ON CONFLICT (server, channel_id) DO UPDATE SET until = channel_leases.until WHERE FALSE
"""

# Dead turns of the same key or in the same channel: what they still write finds another epoch.
GIVE_UP_DEAD = """
UPDATE turns SET status = 'given_up', epoch = epoch + 1, lost_key = turn_key, turn_key = NULL,
    taken_by = %(turn)s
WHERE server = %(server)s AND (turn_key = %(turn_key)s OR channel_id = %(channel)s)
    AND ended_at IS NULL AND status = 'running' AND alive_until <= now()
    AND turn_id <> %(turn)s
"""

BEGIN_TURN = """
INSERT INTO turns (
    server, turn_id, turn_key, channel_id, user_id, epoch, status, opened_at, alive_until)
SELECT %(server)s, %(turn)s, %(turn_key)s, %(channel)s, %(user_id)s,
    COALESCE(max(epoch), 1), 'running', now(), now() + %(alive_s)s * interval '1 second'
FROM turns WHERE server = %(server)s AND taken_by = %(turn)s
ON CONFLICT DO NOTHING
"""

PLACE = """
place AS MATERIALIZED (
    SELECT
        (SELECT epoch FROM turns
         WHERE server = %(server)s AND turn_id = %(turn)s AND status = 'running') AS epoch,
        (SELECT until FROM unreachable_channels
         WHERE server = %(server)s AND channel_id = %(channel)s AND until > now()
        ) AS away_until,
        (SELECT until FROM channel_leases
         WHERE server = %(server)s AND channel_id = %(channel)s AND until > now()
            AND turn_id <> %(turn)s AND %(serialize)s) AS busy_until
)
"""

PLACE_VERDICT = """
    WHEN epoch IS NULL THEN 'not_mine'
    WHEN away_until IS NOT NULL THEN 'unreachable'
    WHEN busy_until IS NOT NULL THEN 'channel_busy'
"""

# A turn that is refused is gone, and so is its hold on the channel, if it was opened before.
TAKING_PLACE = """
leased AS (
    UPDATE channel_leases l SET
        turn_id = %(turn)s,
        until = CASE v.kind WHEN 'granted'
            THEN now() + %(alive_s)s * interval '1 second' ELSE now() END
    FROM verdict v
    WHERE l.server = %(server)s AND l.channel_id = %(channel)s
        AND (v.kind = 'granted' AND %(serialize)s OR l.turn_id = %(turn)s)
), undone AS (
    DELETE FROM turns t USING verdict v
    WHERE v.kind <> 'granted' AND t.server = %(server)s AND t.turn_id = %(turn)s
        AND t.status = 'running'
), other AS (
    SELECT turn_id, result FROM turns
    WHERE server = %(server)s AND (turn_key = %(turn_key)s OR turn_id = %(turn)s)
    ORDER BY result IS NULL LIMIT 1
)
"""

KNOWN = """
    (SELECT turn_id FROM other) AS other_turn_id,
    (SELECT result FROM other) AS other_result,
    (SELECT json_object_agg(owner, version) FROM owner_settings
     WHERE owner = ANY (%(owners)s::text[])) AS versions,
    (SELECT json_agg(json_build_array(owner, place, model)) FROM model_rests
     WHERE owner = ANY (%(owners)s::text[]) AND until > now()) AS resting
"""

DECIDE = squeezed(
    "WITH", PLACE, ", verdict AS (SELECT *, CASE", PLACE_VERDICT, "ELSE 'granted' END AS kind",
    "FROM place),", TAKING_PLACE, "SELECT v.*,", KNOWN, "FROM verdict v",
)  # fmt: skip

DECIDE_BY_RULES = squeezed(
    "WITH", RULES, ",", PLACE, ", verdict AS (SELECT *, CASE", PLACE_VERDICT, RULES_VERDICT,
    "END AS kind FROM place, rules),", TAKING, ",", TAKING_PLACE,
    "SELECT v.*, now() AS now, NOT EXISTS (SELECT 1 FROM told) AS already_said,", KNOWN,
    "FROM verdict v",
)  # fmt: skip


def opening_of(opening: Opening) -> tuple[Statement, ...]:
    """What opens a turn; the last of them answers with one row."""
    values = opening_values(opening)
    first = (LEASE_GATE,) if opening.serialize else ()
    begin = tuple(Statement(sql, values) for sql in (*first, GIVE_UP_DEAD, BEGIN_TURN))
    check = opening.admission
    if check is None or (check.cooldown is None and check.quota is None):
        return (*begin, Statement(DECIDE, values))
    values |= values_of(check)
    return (*begin, *gates(values), Statement(DECIDE_BY_RULES, values))


def opened_of(row: Row, opening: Opening) -> Opened | AlreadyEnded:
    """What the row says.

    Raises:
        AlreadyRunning: The turn is alive elsewhere.
    """
    if row["kind"] == "not_mine":
        return _another(row, opening)
    return Opened(
        admission=_admission(row, opening),
        versions=_versions(row, opening.owners),
        resting=frozenset(rest_scope(*rest) for rest in row["resting"] or ()),
        epoch=row["epoch"],
    )


def opening_values(opening: Opening) -> dict[str, object]:
    """The values of the statements here, the rules aside."""
    return {
        "server": str(opening.server),
        "turn": opening.turn_id,
        "turn_key": opening.turn_key or None,
        "channel": opening.channel_id,
        "user_id": opening.user_id,
        "serialize": opening.serialize,
        "alive_s": float(opening.alive_s),
        "owners": [str(owner) for owner in opening.owners],
    }


def _another(row: Row, opening: Opening) -> AlreadyEnded:
    if row["other_result"] is not None:
        return AlreadyEnded(result=result_from_json(row["other_result"]))
    key = opening.turn_key or opening.turn_id
    raise AlreadyRunning(
        f"the turn {key} is being run as {row['other_turn_id']};"
        " wait for its end, or until it no longer counts as alive"
    )


def _admission(row: Row, opening: Opening) -> Admission:
    until = {"unreachable": row["away_until"], "channel_busy": row["busy_until"]}
    if row["kind"] in until:
        return Refused(kind=RefusalKind(row["kind"]), until=until[row["kind"]])
    return admission_of(row, opening.admission) if opening.admission else Granted()


def _versions(row: Row, owners: tuple[Owner, ...]) -> tuple[tuple[Owner, int], ...]:
    known = row["versions"] or {}
    return tuple((owner, known.get(str(owner), 0)) for owner in owners)


def rest_scope(owner: str, place: str, model: str) -> RestScope:
    """The scope of a row of model_rests."""
    return RestScope(owner=Owner.parse(owner), place=place, model=model)
