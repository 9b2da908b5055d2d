"""The journal in Postgres."""

import json
from collections.abc import Sequence

from sqlalchemy import Engine

from turnkeeper.application.ports.journal import Journal
from turnkeeper.domain.events import Entry
from turnkeeper.infrastructure.journal_codec import event_from_json, event_to_json
from turnkeeper.infrastructure.postgres.pipeline import Statement, run, squeezed

# The entries come as one JSON text, which costs least to send.
INTO_EVENTS = """
INSERT INTO turn_events (turn_id, seq, at_s, kind, data, server)
SELECT e.entry ->> 'turn_id', (e.entry ->> 'seq')::int, (e.entry ->> 'at_s')::float8,
    e.entry ->> 'kind', e.entry ->> 'data',
"""
FROM_ENTRIES = """
FROM json_array_elements(%(entries)s::json) AS e (entry)
ON CONFLICT (server, turn_id, seq) DO NOTHING
"""
OF_THE_TURNS_ROW = """
COALESCE((SELECT max(t.server) FROM turns t WHERE t.turn_id = e.entry ->> 'turn_id'), '')
"""

RECORD = squeezed(INTO_EVENTS, "%(server)s", FROM_ENTRIES)
RECORD_ANYWHERE = squeezed(INTO_EVENTS, OF_THE_TURNS_ROW, FROM_ENTRIES)

ENTRIES = """
SELECT turn_id, seq, at_s, kind, data FROM turn_events WHERE turn_id = %(turn_id)s ORDER BY seq
"""

RECENT = """
SELECT turn_id FROM turn_events WHERE seq = 0 ORDER BY written_at DESC LIMIT %(limit)s
"""


class PostgresJournal(Journal):
    """Keeps the events of turns; what was just recorded may be lost if the server crashes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def record(self, entries: Sequence[Entry]) -> None:
        if entries:
            run(self._engine, *recording(entries), durable=False)

    def entries(self, turn_id: str) -> tuple[Entry, ...]:
        (rows,) = run(self._engine, Statement(ENTRIES, {"turn_id": turn_id}))
        found = {
            row["seq"]: Entry(
                turn_id=row["turn_id"],
                seq=row["seq"],
                at_s=row["at_s"],
                event=event_from_json(row["kind"], row["data"]),
            )
            for row in rows
        }
        return tuple(found.values())

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        (rows,) = run(self._engine, Statement(RECENT, {"limit": limit}))
        return tuple(dict.fromkeys(row["turn_id"] for row in rows))


def recording(entries: Sequence[Entry]) -> tuple[Statement, ...]:
    """What adds entries whose server only their turn's row knows; nothing where there are none."""
    if not entries:
        return ()
    return (Statement(RECORD_ANYWHERE, {"entries": rows_to_json(entries)}),)


def rows_to_json(entries: Sequence[Entry]) -> str:
    """The entries as `RECORD` reads them. An event is text to it, since it cannot read them all."""
    written = ((entry, *event_to_json(entry.event)) for entry in entries)
    rows = [
        {"turn_id": entry.turn_id, "seq": entry.seq, "at_s": entry.at_s, "kind": kind, "data": data}
        for entry, kind, data in written
    ]
    return json.dumps(rows)
