"""The records of a spool as lines: JSON in ASCII with a checksum; no secret is among them."""

import json
from datetime import datetime
from typing import Any
from zlib import crc32

from turnkeeper.application.ports.ledger import Fates
from turnkeeper.application.ports.spool import LateIntent
from turnkeeper.application.ports.turn_store import Booked, Closing
from turnkeeper.domain.events import Entry
from turnkeeper.domain.finish import Settle
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import Booking, KeyId, Lease
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.json_values import as_json, from_json_as

NOT_KEPT = Secret("not-kept")
"""In the place of a key that was lent: a booking does not ask for it."""


@frozen
class EndWritten:
    """The end of a turn that was kept has been written since."""

    turn_id: str


@frozen
class _KeptBooking:
    owner: Owner
    provider: str
    key_id: KeyId
    leased_at: datetime
    is_main: bool
    is_probe: bool
    booking: Booking
    keeps_lease: bool


@frozen
class _KeptEnd:
    turn_id: str
    epoch: int
    server: Owner
    channel_id: str
    settle: Settle
    result: TurnResult
    fates: Fates
    bookings: tuple[_KeptBooking, ...]
    entries: tuple[Entry, ...]
    user_id: str | None = None


Record = LateIntent | Closing | EndWritten
KINDS: dict[str, Any] = {"intent": LateIntent, "end": _KeptEnd, "end_written": EndWritten}


def line_of(record: Record) -> bytes:
    """The record as a line, with its end."""
    match record:
        case LateIntent():
            kind, data = "intent", as_json(record)
        case Closing():
            kind, data = "end", as_json(_kept_end(record))
        case EndWritten():
            kind, data = "end_written", as_json(record)
    text = _dumps({"kind": kind, **data})
    return f'{{"sum":"{_sum(text)}","record":{text}}}\n'.encode("ascii")


def record_of(line: bytes) -> Record:
    """The record that `line_of` wrote.

    Raises:
        ValueError: It was cut off, or changed, or this version does not know such records.
    """
    try:
        read = json.loads(line)
        record = read["record"]
        if _sum(_dumps(record)) != read["sum"]:
            raise ValueError("the checksum does not fit")
        value = from_json_as(KINDS[record["kind"]], record)
    except (KeyError, TypeError) as error:
        raise ValueError(f"it is no record: {error}") from error
    return _closing(value) if isinstance(value, _KeptEnd) else value


def without_texts(fates: Fates) -> Fates:
    """The same, without what people said."""
    return replace(
        fates, posted=tuple((intent, replace(one, text="")) for intent, one in fates.posted)
    )


def _dumps(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))


def _sum(text: str) -> str:
    return f"{crc32(text.encode('ascii')):08x}"


def _kept_end(closing: Closing) -> _KeptEnd:
    return _KeptEnd(
        turn_id=closing.turn_id,
        epoch=closing.epoch,
        server=closing.server,
        channel_id=closing.channel_id,
        settle=closing.settle,
        result=closing.result,
        fates=without_texts(closing.fates),
        bookings=tuple(_kept_booking(booked) for booked in closing.bookings),
        entries=tuple(closing.entries),
        user_id=closing.user_id,
    )


def _kept_booking(booked: Booked) -> _KeptBooking:
    lease = booked.lease
    return _KeptBooking(
        owner=lease.owner,
        provider=lease.provider,
        key_id=lease.key_id,
        leased_at=lease.leased_at,
        is_main=lease.is_main,
        is_probe=lease.is_probe,
        booking=booked.booking,
        keeps_lease=booked.keeps_lease,
    )


def _closing(end: _KeptEnd) -> Closing:
    return Closing(
        turn_id=end.turn_id,
        epoch=end.epoch,
        server=end.server,
        channel_id=end.channel_id,
        settle=end.settle,
        result=end.result,
        fates=end.fates,
        bookings=tuple(_booked(kept) for kept in end.bookings),
        entries=end.entries,
        user_id=end.user_id,
    )


def _booked(kept: _KeptBooking) -> Booked:
    lease = Lease(
        owner=kept.owner,
        provider=kept.provider,
        key_id=kept.key_id,
        secret=NOT_KEPT,
        leased_at=kept.leased_at,
        is_main=kept.is_main,
        is_probe=kept.is_probe,
    )
    return Booked(lease=lease, booking=kept.booking, keeps_lease=kept.keeps_lease)
