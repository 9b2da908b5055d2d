"""A turn's events and its result, as lines of JSON."""

import json
from threading import Lock

import click

from turnkeeper.domain.events import Entry
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.journal_codec import entry_to_json, result_to_json


class EventLines:
    """Prints each event as it happens. Safe from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()  # so that two lines never mix

    def event(self, entry: Entry) -> None:
        """Print an event: turn_id, seq, at_s, kind and event."""
        self._print(entry_to_json(entry))

    def result(self, result: TurnResult) -> None:
        """Print how the turn ended: turn_id, kind "result", and the result."""
        end = {"turn_id": result.turn_id, "kind": "result"}
        self._print(json.dumps({**end, "result": json.loads(result_to_json(result))}))

    def _print(self, line: str) -> None:
        with self._lock:
            click.echo(line)
