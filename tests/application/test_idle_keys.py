from builders import an_attempt

from turnkeeper.application.idle_keys import idle_keys
from turnkeeper.application.ports.orphans import IdleKey
from turnkeeper.domain.events import (
    Entry,
    Event,
    InvocationStarted,
    KeyBooked,
    KeyLeased,
    TurnStarted,
)
from turnkeeper.domain.owner import Route
from turnkeeper.domain.rotation import KeyId

ATTEMPT = an_attempt(0)
STARTED = TurnStarted(route=Route.SERVER, attempts=(ATTEMPT,), server_route="", audience="person")


def leased(key_id: int) -> KeyLeased:
    return KeyLeased(attempt_no=0, key_id=key_id, is_main=True, is_probe=False)


def asked(key_id: int | None) -> InvocationStarted:
    return InvocationStarted(attempt_no=0, invocation_no=0, key_id=key_id)


def booked(key_id: int) -> KeyBooked:
    return KeyBooked(attempt_no=0, invocation_no=0, key_id=key_id, booking="error")


def idle(*events: Event) -> list[int]:
    entries = tuple(Entry(turn_id="t1", seq=n, at_s=0.0, event=e) for n, e in enumerate(events))
    keys = idle_keys(entries)
    of_attempt = [
        IdleKey(owner=ATTEMPT.owner, provider=ATTEMPT.provider, key_id=key.key_id) for key in keys
    ]
    assert list(keys) == of_attempt
    return [key.key_id for key in keys]


def test_a_key_that_was_lent_and_not_booked_is_idle() -> None:
    assert idle(STARTED, leased(7), asked(7)) == [KeyId(7)]


def test_a_key_that_was_booked_is_not() -> None:
    assert idle(STARTED, leased(7), asked(7), booked(7), leased(8)) == [KeyId(8)]


def test_a_key_that_was_kept_for_another_invocation_is_idle() -> None:
    assert idle(STARTED, leased(7), asked(7), booked(7), asked(7)) == [KeyId(7)]


def test_an_invocation_without_a_key_leaves_none() -> None:
    assert idle(STARTED, asked(None)) == []


def test_a_key_of_an_attempt_that_nobody_knows_is_left_to_time() -> None:
    assert idle(leased(7)) == []
