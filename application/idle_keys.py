"""Which keys a dead turn had been lent and did not give back, as its journal has it."""

from turnkeeper.application.ports.orphans import IdleKey
from turnkeeper.domain.events import (
    Entry,
    InvocationStarted,
    KeyBooked,
    KeyLeased,
    ServerRouteAsked,
    TurnStarted,
)
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.rotation import KeyId


def idle_keys(entries: tuple[Entry, ...]) -> tuple[IdleKey, ...]:
    """The keys that were lent or used after their last booking.

    A lease that the journal does not know of any more is forgotten after a while by itself.
    """
    attempts: dict[int, Attempt] = {}
    lent: dict[IdleKey, None] = {}
    for entry in entries:
        match entry.event:
            case TurnStarted(attempts=planned) | ServerRouteAsked(attempts=planned):
                attempts |= {attempt.number: attempt for attempt in planned}
            case KeyLeased(attempt_no=number, key_id=key_id):
                lent |= _known(attempts, number, key_id)
            case InvocationStarted(attempt_no=number, key_id=int(key_id)):
                lent |= _known(attempts, number, key_id)
            case KeyBooked(attempt_no=number, key_id=key_id):
                for key in _known(attempts, number, key_id):
                    lent.pop(key, None)
            case _:
                pass
    return tuple(lent)


def _known(attempts: dict[int, Attempt], number: int, key_id: int) -> dict[IdleKey, None]:
    attempt = attempts.get(number)
    if attempt is None:
        return {}
    key = IdleKey(owner=attempt.owner, provider=attempt.provider, key_id=KeyId(key_id))
    return {key: None}
