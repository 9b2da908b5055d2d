"""What a turn leaves behind, as JSON in ASCII: its journal's entries and its result.

An event is written under its class's name in lower case, such as ``key_leased``. A name that was
once written is kept for good.
"""

import json
import re
from typing import get_args

from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.events import EffectFailed, Entry, Event
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.json_values import as_json, from_json_as

UNREADABLE = (KeyError, TypeError, ValueError)
UNREAD = "this version cannot read the event"
_dumps = json.JSONEncoder(separators=(",", ":")).encode


def name_of(event: type[Event]) -> str:
    """The name under which events of a class are written."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event.__name__).lower()


EVENTS: dict[str, type[Event]] = {name_of(event): event for event in get_args(Event)}
NAMES = {event: name for name, event in EVENTS.items()}


def event_from_json(name: str, data: str) -> Event:
    """The event of that name, from what an entry says of it.

    One that this version cannot read, as a newer one wrote it, comes back as an `EffectFailed`
    that says so: a journal has no gaps.
    """
    try:
        event: Event = from_json_as(EVENTS[name], json.loads(data))
    except UNREADABLE:
        return EffectFailed(effect=name, cause=UNREAD)
    return event


def event_to_json(event: Event) -> tuple[str, str]:
    """The event's name, and the rest of it."""
    return NAMES[type(event)], _dumps(as_json(event))


def entry_to_json(entry: Entry) -> str:
    """A whole entry."""
    return _dumps(
        {
            "turn_id": entry.turn_id,
            "seq": entry.seq,
            "at_s": entry.at_s,
            "kind": NAMES[type(entry.event)],
            "event": as_json(entry.event),
        }
    )


def entry_from_json(text: str) -> Entry:
    """The entry that `entry_to_json` wrote.

    Raises:
        StoreError: The text is no entry.
    """
    try:
        data = json.loads(text)
        event = event_from_json(data["kind"], _dumps(data["event"]))
        return Entry(turn_id=data["turn_id"], seq=data["seq"], at_s=data["at_s"], event=event)
    except UNREADABLE as error:
        raise StoreError("a journal entry cannot be read: it is no JSON of an entry") from error


def result_to_json(result: TurnResult) -> str:
    """How a turn ended."""
    return _dumps(as_json(result))


def result_from_json(text: str) -> TurnResult:
    """How a turn ended.

    Raises:
        StoreError: This version cannot read it.
    """
    try:
        result: TurnResult = from_json_as(TurnResult, json.loads(text))
    except UNREADABLE as error:
        raise StoreError(
            "a turn's result cannot be read: a newer version of turnkeeper may have written it"
        ) from error
    return result
