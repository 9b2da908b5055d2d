"""The events as log lines, JSON for programs or text for people."""

import sys
from collections.abc import MutableMapping
from datetime import datetime
from functools import partial
from typing import Any, TextIO

import orjson
import structlog

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.events import Entry
from turnkeeper.infrastructure.journal_codec import name_of
from turnkeeper.infrastructure.telemetry.aside import Aside
from turnkeeper.infrastructure.telemetry.event_fields import fields_of, level_of

LEVELS = ("debug", "info", "warning", "error")
FIRST = ("timestamp", "level", "event", "turn_id", "seq", "at_s")
_TEXT = structlog.processors.LogfmtRenderer(key_order=FIRST, bool_as_flag=False)


class EventLog:
    """A listener that writes a line an event.

    Args:
        as_json: One JSON object a line; else ``name=value`` pairs.
        level: The quietest of `LEVELS` that is written.
        out: Where to; the process's errors if None. It is written to beside the turns.
    """

    def __init__(
        self,
        *,
        aside: Aside,
        clock: Clock,
        as_json: bool,
        level: str = "info",
        out: TextIO | None = None,
    ) -> None:
        self._aside = aside
        self._clock = clock
        self._written = LEVELS[LEVELS.index(level) :]
        self._log = structlog.wrap_logger(
            structlog.WriteLogger(out or sys.stderr),
            processors=[
                structlog.processors.add_log_level,
                *((_json,) if as_json else (_flat, _TEXT)),
            ],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
        )

    def __call__(self, entry: Entry) -> None:
        """Note the time, and write the line later."""
        level = level_of(entry.event)
        if level in self._written:
            self._aside.put(partial(self._write, entry, level, self._clock.now()))

    def _write(self, entry: Entry, level: str, now: datetime) -> None:
        log = self._log.bind(turn_id=entry.turn_id)
        write = getattr(log, level)
        write(
            name_of(type(entry.event)),
            timestamp=now.isoformat(timespec="milliseconds"),
            seq=entry.seq,
            at_s=round(entry.at_s, 4),
            **_unlike_its_own(fields_of(entry.event)),
        )


def _unlike_its_own(said: dict[str, Any]) -> dict[str, Any]:
    """The fields, none of which takes the place of one that every line has."""
    return {f"{name}_" if name in FIRST else name: value for name, value in said.items()}


def _json(logger: object, method: str, event: MutableMapping[str, Any]) -> str:
    first = {name: event[name] for name in FIRST if name in event}
    return orjson.dumps(first | dict(event)).decode()


def _flat(logger: object, method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """Without lists, maps and what says nothing."""
    flat: dict[str, Any] = {}
    for name, value in event.items():
        if isinstance(value, dict):
            flat |= {f"{name}_{part}": one for part, one in value.items()}
        elif isinstance(value, list):
            flat |= {name: ",".join(map(str, value))} if value else {}
        elif value not in (None, ""):
            flat[name] = value
    return flat
