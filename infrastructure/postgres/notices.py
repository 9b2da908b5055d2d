"""Notices in Postgres."""

import json
from collections.abc import Iterator
from contextlib import suppress

from sqlalchemy import Engine

from turnkeeper.application.ports.notices import CLAIM_S, KEPT_S, Notices
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.notice import ALIVE_S, Notice, NoticeDetails, NoticeExpired, NoticePlace
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.json_values import as_json, from_json_as
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, run

UNREADABLE = (KeyError, TypeError, ValueError)

# For where nobody disables buttons; so of this server only.
PRUNE_OTHERS = """
DELETE FROM notices
WHERE server = %(server)s AND message_id <> %(message_id)s
    AND expires_at <= now() - %(kept_s)s * interval '1 second'
"""

SAVE = """
INSERT INTO notices (
    server, message_id, channel_id, thread_id, webhook_id, details, user_id, expires_at)
VALUES (%(server)s, %(message_id)s, %(channel_id)s, %(thread_id)s, %(webhook_id)s, %(details)s,
    %(user_id)s, now() + %(alive_s)s * interval '1 second')
ON CONFLICT (server, message_id) DO UPDATE
SET channel_id = excluded.channel_id, thread_id = excluded.thread_id,
    webhook_id = excluded.webhook_id, details = excluded.details, user_id = excluded.user_id,
    expires_at = excluded.expires_at, claimed_until = NULL
"""

FIND = """
SELECT message_id, details, expires_at <= now() AS is_over FROM notices
WHERE message_id = %(message_id)s
"""

PRUNE = "DELETE FROM notices WHERE expires_at <= now() - %(kept_s)s * interval '1 second'"

# What another has locked it is claiming just now, so passing it over is right.
DUE = """
WITH chosen AS MATERIALIZED (
    SELECT server, message_id FROM notices
    WHERE expires_at <= now() AND (claimed_until IS NULL OR claimed_until <= now())
    ORDER BY expires_at, message_id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE notices n SET claimed_until = now() + %(claim_s)s * interval '1 second'
    FROM chosen c
    WHERE n.server = c.server AND n.message_id = c.message_id
    RETURNING n.*
)
SELECT * FROM claimed ORDER BY expires_at, message_id
"""

FORGET = "DELETE FROM notices WHERE server = %(server)s AND message_id = %(message_id)s"


class PostgresNotices(Notices):
    """One row a notice; its time is the database's."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def save(
        self,
        place: NoticePlace,
        details: NoticeDetails,
        *,
        alive_s: float = ALIVE_S,
        user_id: str | None = None,
    ) -> None:
        values = {
            "server": str(Owner.server(place.server_id)),
            "message_id": place.message_id,
            "channel_id": place.channel_id,
            "thread_id": place.thread_id,
            "webhook_id": place.webhook_id,
            "details": json.dumps(as_json(details)),
            "user_id": user_id,
            "alive_s": alive_s,
            "kept_s": KEPT_S,
        }
        run(self._engine, Statement(PRUNE_OTHERS, values), Statement(SAVE, values))

    def find(self, message_id: str) -> NoticeDetails | NoticeExpired | None:
        (rows,) = run(self._engine, Statement(FIND, {"message_id": message_id}))
        if not rows:
            return None
        return NoticeExpired() if rows[0]["is_over"] else _details(rows[0])

    def due(self, limit: int, *, claim_s: float = CLAIM_S) -> tuple[Notice, ...]:
        values = {"limit": limit, "claim_s": claim_s, "kept_s": KEPT_S}
        _, rows = run(self._engine, Statement(PRUNE, values), Statement(DUE, values))
        return tuple(_readable(rows))

    def forget(self, place: NoticePlace) -> None:
        server = str(Owner.server(place.server_id))
        values = {"server": server, "message_id": place.message_id}
        run(self._engine, Statement(FORGET, values))


def _readable(rows: list[Row]) -> Iterator[Notice]:
    """One that cannot be read keeps its button, and must not keep the others from losing theirs."""
    for row in rows:
        with suppress(StoreError):
            yield Notice(place=_place(row), details=_details(row))


def _place(row: Row) -> NoticePlace:
    return NoticePlace(
        server_id=Owner.parse(row["server"]).id,
        channel_id=row["channel_id"],
        message_id=row["message_id"],
        thread_id=row["thread_id"],
        webhook_id=row["webhook_id"],
    )


def _details(row: Row) -> NoticeDetails:
    try:
        details: NoticeDetails = from_json_as(NoticeDetails, json.loads(row["details"]))
    except UNREADABLE as error:
        raise StoreError(
            f"the notice {row['message_id']} cannot be read: another version wrote it"
        ) from error
    return details
