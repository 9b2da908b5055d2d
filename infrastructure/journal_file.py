"""Journals of turns as a file of JSON lines: a head, the entries, and a last line that counts them.

The head is ``{"turnkeeper_journal": 1, "version": "0.1.0"}``. A file may come from elsewhere and
hold anything.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any

from turnkeeper.domain.errors import JournalFileError, StoreError
from turnkeeper.domain.events import EffectFailed, Entry
from turnkeeper.domain.version import VERSION
from turnkeeper.infrastructure.journal_codec import UNREAD, entry_from_json, entry_to_json

FORMAT = 1
HEAD = "turnkeeper_journal"
EXPORT = "`turnkeeper explain TURN --export FILE`"

Journal = tuple[Entry, ...]


def lines_of(journals: Iterable[Journal]) -> Iterator[str]:
    """The lines that hold the journals, without their ends."""
    turns = entries = 0
    yield json.dumps({HEAD: FORMAT, "version": VERSION})
    for journal in journals:
        turns, entries = turns + 1, entries + len(journal)
        yield from map(entry_to_json, journal)
    yield json.dumps({"turns": turns, "entries": entries})


def journals_in(lines: Iterable[str], name: str) -> tuple[Journal, ...]:
    """The journals that the lines hold.

    Args:
        name: What the file is called, for errors.

    Raises:
        JournalFileError: They hold none, those of another format, or only a part.
    """
    read = [line for line in lines if line.strip()]
    if not read:
        raise JournalFileError(f"{name} is empty; {EXPORT} makes one")
    _check_head(_object(read[0]), name)
    last = _object(read[-1]) or {}
    if len(read) < 2 or "entries" not in last:
        raise JournalFileError(
            f"{name} is cut off after line {len(read)}: the line that counts the entries is"
            " missing; export it again"
        )
    entries = [_entry(line, number, name) for number, line in enumerate(read[1:-1], 2)]
    if len(entries) != last["entries"]:
        raise JournalFileError(
            f"{name} was made with {last['entries']} entries and holds {len(entries)}; export it"
            " again"
        )
    return tuple(tuple(group) for _, group in groupby(entries, key=lambda entry: entry.turn_id))


def _check_head(head: dict[str, Any] | None, name: str) -> None:
    if head is None or HEAD not in head:
        raise JournalFileError(f"{name} is no exported journal; {EXPORT} makes one")
    if head[HEAD] != FORMAT:
        raise JournalFileError(
            f"{name} has the journal format {head[HEAD]!r}, made by turnkeeper"
            f" {head.get('version', '?')}; this is {VERSION} and reads {FORMAT}"
        )


def _entry(line: str, number: int, name: str) -> Entry:
    try:
        entry = entry_from_json(line)
    except (StoreError, RecursionError):
        raise JournalFileError(f"line {number} of {name} is no entry of a journal") from None
    event = entry.event
    if isinstance(event, EffectFailed) and event.cause == UNREAD:
        raise JournalFileError(
            f"line {number} of {name} cannot be read by turnkeeper {VERSION}: it is"
            f" {event.effect!r}, as another version writes it"
        )
    return entry


def _object(line: str) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        data = json.loads(line)
        return data if isinstance(data, dict) else None
    return None
