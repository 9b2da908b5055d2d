"""The delivery ledger in Postgres."""

import json
from collections.abc import Sequence

from sqlalchemy import Engine

from turnkeeper.application.ports.ledger import Fates, Intent, IntentState, Ledger
from turnkeeper.domain.events import Entry
from turnkeeper.domain.outcome import Origin
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.postgres.journal import RECORD, recording, rows_to_json
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, run, squeezed

# What is gone stays gone, and what is stuck was posted, whatever is said of it later; what was not
# there when a sweep looked for it may have come since. The fates
# come as JSON, for the same reason as a journal's entries.
MEET = """
UPDATE delivery_intents i SET
    message_id = f.message_id,
    state = CASE
        WHEN i.state = 'taken_back' OR (f.state = 'posted' AND i.state IN ('posted', 'stuck'))
            THEN i.state
        ELSE f.state END
FROM (
    SELECT fate ->> 'intent_id' AS intent_id, fate ->> 'message_id' AS message_id,
        fate ->> 'state' AS state
    FROM json_array_elements(%(fates)s::json) AS one (fate)
) AS f
WHERE i.turn_id = %(turn_id)s AND (i.intent_id = f.intent_id OR i.message_id = f.message_id)
"""

# The turn's row is locked, so that nobody gives the turn up between the look and the writing, and
# whoever does so afterwards finds the intent.
INTEND = squeezed(
    """
WITH alive AS (
    SELECT 1 FROM turns
    WHERE server = %(server)s AND turn_id = %(turn_id)s AND epoch = %(epoch)s
        AND status = 'running'
    FOR SHARE
), written AS (
    INSERT INTO delivery_intents (
        server, intent_id, turn_id, epoch, channel_id, thread_id, webhook_id, origin,
        content_hash, invocation_no, webhook_is_temporary, chars, state)
    SELECT %(server)s, %(intent_id)s, %(turn_id)s, %(epoch)s, %(channel_id)s, %(thread_id)s,
        %(webhook_id)s, %(origin)s, %(content_hash)s, %(invocation_no)s,
        %(webhook_is_temporary)s, %(chars)s, 'intended'
    FROM alive
    ON CONFLICT (server, intent_id) DO NOTHING
), met AS (
    """,
    MEET,
    "), recorded AS (",
    RECORD,
    ") SELECT EXISTS (SELECT 1 FROM alive) AS goes_on",
)

# A sweep has something to do again: a message is stuck, or came after its turn was given up. A
# sweeper's claim that holds is left as it is.
BECOME_DUE = """
UPDATE turns SET sweep_due = now()
WHERE turn_id = %(turn_id)s AND sweep_due IS NULL AND (%(has_stuck)s OR status = 'given_up')
"""

LEFT_BY = """
SELECT * FROM delivery_intents WHERE turn_id = %(turn_id)s ORDER BY written_at, intent_id
"""


class PostgresLedger(Ledger):
    """Writes an intent, and all that goes with it, in one statement, and on disk."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def intend(
        self, intent: Intent, *, fates: Fates = Fates(), entries: Sequence[Entry] = ()
    ) -> bool:
        (rows,) = run(self._engine, intending(intent, fates, entries))
        goes_on = bool(rows[0]["goes_on"])
        if fates.stuck or (fates.posted and not goes_on):
            run(self._engine, *becoming_due(intent.turn_id, fates))
        return goes_on

    def settle(self, turn_id: str, fates: Fates, *, entries: Sequence[Entry] = ()) -> None:
        meeting = Statement(MEET, {"turn_id": turn_id, "fates": fates_to_json(fates)})
        due = becoming_due(turn_id, fates)
        run(self._engine, meeting, *due, *recording(entries), durable=False)

    def left_by(self, turn_id: str) -> tuple[tuple[Intent, IntentState, str | None], ...]:
        (rows,) = run(self._engine, Statement(LEFT_BY, {"turn_id": turn_id}))
        return tuple((intent_of(row), IntentState(row["state"]), row["message_id"]) for row in rows)


def fates_to_json(fates: Fates) -> str:
    """The fates as `MEET` reads them: one for each message."""
    after = dict.fromkeys(fates.stuck, "stuck") | dict.fromkeys(fates.taken_back, "taken_back")
    posted = [
        {
            "intent_id": intent_id,
            "message_id": delivery.message_id,
            "state": after.pop(delivery.message_id, "posted"),
        }
        for intent_id, delivery in fates.posted
    ]
    return json.dumps([*posted, *({"message_id": m, "state": state} for m, state in after.items())])


def intending(intent: Intent, fates: Fates = Fates(), entries: Sequence[Entry] = ()) -> Statement:
    """What writes an intent, and all that goes with it."""
    values = {
        **intent_values(intent),
        "fates": fates_to_json(fates),
        "entries": rows_to_json(entries),
    }
    return Statement(INTEND, values)


def intent_values(intent: Intent) -> dict[str, object]:
    """An intent's columns."""
    return {
        "server": str(Owner.server(intent.server_id)),
        "intent_id": intent.intent_id,
        "turn_id": intent.turn_id,
        "epoch": intent.epoch,
        "channel_id": intent.channel_id,
        "thread_id": intent.thread_id,
        "webhook_id": intent.webhook_id,
        "origin": intent.origin.value,
        "content_hash": intent.content_hash,
        "invocation_no": intent.invocation_no,
        "webhook_is_temporary": intent.webhook_is_temporary,
        "chars": intent.chars,
    }


def becoming_due(turn_id: str, fates: Fates) -> tuple[Statement, ...]:
    """What calls a sweep where these fates give one something to do."""
    if not (fates.stuck or fates.posted):
        return ()
    values = {"turn_id": turn_id, "has_stuck": bool(fates.stuck)}
    return (Statement(BECOME_DUE, values),)


def intent_of(row: Row) -> Intent:
    """The intent of a row."""
    return Intent(
        intent_id=row["intent_id"],
        turn_id=row["turn_id"],
        epoch=row["epoch"],
        server_id=Owner.parse(row["server"]).id,
        channel_id=row["channel_id"],
        origin=Origin(row["origin"]),
        content_hash=row["content_hash"],
        invocation_no=row["invocation_no"],
        thread_id=row["thread_id"],
        webhook_id=row["webhook_id"],
        webhook_is_temporary=row["webhook_is_temporary"],
        chars=row["chars"],
    )
