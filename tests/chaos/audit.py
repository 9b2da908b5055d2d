"""What must be true once all turns of a soak are over and all dead ones are swept up after."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chaos.city import quota_of
from chaos.crew import Log
from sqlalchemy import Engine, text

from turnkeeper.domain.contract import breaches
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.interfaces.turnkeeper import Turnkeeper

NOTHING_LEFT = {
    "turns that have not ended": "SELECT turn_id FROM turns WHERE ended_at IS NULL",
    "reservations": "SELECT trigger_key FROM quota_units WHERE state = 'reserved'",
    "channel leases": "SELECT channel_id FROM channel_leases WHERE until > now()",
    "keys that are lent": "SELECT owner || ' ' || provider || ' ' || key_id || ' ' || in_flight"
    " FROM key_state WHERE in_flight > 0",
    "messages that are stuck": "SELECT message_id FROM delivery_intents WHERE state = 'stuck'",
    "messages of lost turns whose fate is unknown": "SELECT intent_id FROM delivery_intents i"
    " JOIN turns t USING (server, turn_id) WHERE state = 'intended' AND t.status = 'given_up'",
}
USED = """
SELECT server, user_id, count(*) AS units, array_agg(trigger_key) AS triggers
FROM quota_units WHERE state = 'charged' GROUP BY server, user_id
"""
DAYS = "SELECT server, user_id, sum(used) AS used FROM quota_days GROUP BY server, user_id"
COUNTED = "SELECT state, count(*) FROM quota_units GROUP BY state"
STANDING = """
SELECT turn_id, channel_id, result FROM turns WHERE status <> 'given_up' AND result IS NOT NULL
"""
SUSPECTS = """
SELECT i.channel_id, i.turn_id, t.status, i.state, i.message_id, i.written_at, t.opened_at,
    t.alive_until
FROM delivery_intents i JOIN turns t USING (server, turn_id)
WHERE t.status = 'given_up' OR i.state NOT IN ('posted', 'taken_back')
ORDER BY i.written_at
"""
SHOWN = 5


def findings(engine: Engine, keeper: Turnkeeper, log: Log, data: Path) -> Iterator[str]:
    """What is wrong in the store, by itself and beside what the processes have said."""
    for what, sql in NOTHING_LEFT.items():
        left = _column(engine, sql)
        if left:
            yield f"{len(left)} {what}: {left[:SHOWN]}"
    yield from _quota(engine, log)
    yield from _journals(engine, keeper, log)
    spooled = [path.name for path in (data / "spool").glob("*") if path.stat().st_size]
    if spooled:
        yield f"the spool still holds {spooled}"


def _quota(engine: Engine, log: Log) -> Iterator[str]:
    with connected(engine) as connection:
        used = {(r.server, r.user_id): r for r in connection.execute(text(USED))}
        days = {(r.server, r.user_id): int(r.used) for r in connection.execute(text(DAYS))}
    charged = {trigger for row in used.values() for trigger in row.triggers}
    for whose, row in used.items():
        if days.get(whose, 0) != row.units:
            yield f"{whose} has {row.units} charged units, and the day says {days.get(whose, 0)}"
        if row.units > quota_of(int(row.server.rpartition("-")[2])):
            yield f"{whose} used {row.units} units, more than allowed"
    for whose, counted in days.items():
        if counted and whose not in used:
            yield f"the day of {whose} says {counted}, and no unit is charged"
    answered = {trigger for one in log.ended.values() for trigger in one["used"]}
    if answered - charged:
        yield f"answered and not charged: {sorted(answered - charged)[:SHOWN]}"
    unknown = {f"t{turn.partition('-')[0]}" for turn in log.lost}
    if charged - answered - unknown:
        yield f"charged and not answered: {sorted(charged - answered - unknown)[:SHOWN]}"
    reserved = sum(one["reserved"] for one in log.ended.values())
    settled = sum(len(one["used"]) + one["given_back"] for one in log.ended.values())
    if reserved != settled:
        yield f"{reserved} units were reserved, and {settled} used or given back"


def _journals(engine: Engine, keeper: Turnkeeper, log: Log) -> Iterator[str]:
    with connected(engine) as connection:
        rows = {row.turn_id: row for row in connection.execute(text(STANDING))}
    for turn_id in rows.keys() & log.by_survivor:
        for breach in breaches(keeper.events(turn_id)):
            yield f"the stored journal of {turn_id}: {breach}"


def standing(engine: Engine) -> dict[str, set[str]]:
    """By channel, the ids of the messages that are to stand there."""
    found: dict[str, set[str]] = {}
    with connected(engine) as connection:
        for row in connection.execute(text(STANDING)):
            kept = {one["message_id"] for one in json.loads(row.result)["delivered"]}
            found.setdefault(row.channel_id, set()).update(kept)
    return found


def suspects(engine: Engine) -> dict[str, list[str]]:
    """By channel, what is known of the messages of lost turns and of those that nobody found."""
    found: dict[str, list[str]] = {}
    with connected(engine) as connection:
        for row in connection.execute(text(SUSPECTS)):
            found.setdefault(row.channel_id, []).append(
                f"{row.turn_id} ({row.status}), {row.state} {row.message_id},"
                f" {row.written_at:%H:%M:%S} in {row.opened_at:%H:%M:%S}-{row.alive_until:%H:%M:%S}"
            )
    return found


def strays(
    expected: Mapping[str, set[str]], shown: Mapping[str, set[str]]
) -> Iterator[tuple[str, str]]:
    """By channel, what stands there and should not, and the other way round."""
    for channel in sorted(expected.keys() | shown.keys()):
        should, does = expected.get(channel, set()), shown.get(channel, set())
        if does - should:
            yield channel, f"still shows {sorted(does - should)[:SHOWN]}"
        if should - does:
            yield channel, f"misses {sorted(should - does)[:SHOWN]}"


def in_folders(root: Path) -> dict[str, set[str]]:
    """By channel that is a folder, the ids of the messages that stand there."""
    return {
        folder.name: {path.stem for path in folder.glob("*.json")}
        for folder in (root / "channels").glob("*")
    }


def is_due_later(engine: Engine) -> bool:
    """Whether a sweep has something to do still, once its time has come."""
    return bool(_column(engine, "SELECT turn_id FROM turns WHERE sweep_due IS NOT NULL LIMIT 1"))


def units(engine: Engine) -> Counter[str]:
    """How many units are in which state."""
    with connected(engine) as connection:
        return Counter({row.state: row.count for row in connection.execute(text(COUNTED))})


def growth_mb(weights: list[tuple[int, int]], per: int = 3000) -> float | None:
    """Megabytes that so many turns add, by the straight line through the second half."""
    steady = weights[len(weights) // 2 :]
    if len(steady) < 3:
        return None
    mean_x = sum(x for x, _ in steady) / len(steady)
    mean_y = sum(y for _, y in steady) / len(steady)
    spread = sum((x - mean_x) ** 2 for x, _ in steady)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in steady) / spread
    return slope * per / 1e6


def _column(engine: Engine, sql: str) -> list[Any]:
    with connected(engine) as connection:
        return list(connection.execute(text(sql)).scalars())
