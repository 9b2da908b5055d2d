"""Turns that a store keeps, as their journals tell of them."""

from dataclasses import replace

from builders import SERVER
from contracts.orphans import DEAD_S
from contracts.stores import Stores, a_result

from turnkeeper.application.ports.orphans import Swept
from turnkeeper.domain.events import Entry, InvocationEnded, TurnEnded, TurnSwept
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import AttemptFailure, TurnResult


def keep(stores: Stores, *journals: tuple[Entry, ...], server: Owner = SERVER) -> None:
    """Let turns begin, a second apart, and end as their journals say; those without an end run."""
    for entries in journals:
        turn_id = entries[0].turn_id
        stores.start(turn_id, channel_id=turn_id, server=server)
        result = _result(entries)
        if result is not None:
            stores.close(turn_id, channel_id=turn_id, server=server, entries=entries, result=result)
        else:
            stores.journal.record(entries)
        if any(isinstance(entry.event, TurnSwept) for entry in entries):
            stores.pass_time(DEAD_S + 1)
            for orphan in stores.orphans.claim("me", limit=9):
                stores.orphans.done(Swept(orphan=orphan))
        stores.pass_time(1)


def _result(entries: tuple[Entry, ...]) -> TurnResult | None:
    ends = [entry.event for entry in entries if isinstance(entry.event, TurnEnded)]
    if not ends:
        return None
    failures = tuple(
        AttemptFailure(
            attempt_no=event.attempt_no, label="primary", model="m", failure=event.failure
        )
        for event in (entry.event for entry in entries)
        if isinstance(event, InvocationEnded) and event.failure is not None
    )
    result = a_result(entries[0].turn_id, TurnStatus(ends[-1].status))
    return replace(result, failures=failures)
