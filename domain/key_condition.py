"""Whether a saved key is fit for use, in one word, and until when it is not."""

from datetime import datetime
from enum import Enum

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.rotation import RotationKey


class KeyState(Enum):
    """How a key stands."""

    FREE = "free"
    RESTING = "resting"
    PROBE_DUE = "to be probed"
    """Half open: its rest is over, and the next use shows whether it works again."""
    PROBED = "being probed"
    """Half open: one turn is probing it, and the others keep away."""
    REFUSED = "refused"
    """By the provider; it comes back when it is replaced or enabled."""
    OFF = "off"
    SHUT = "does not open"


FIT = frozenset({KeyState.FREE, KeyState.PROBE_DUE})
"""What may be lent now."""
HALF_OPEN = frozenset({KeyState.PROBE_DUE, KeyState.PROBED})
"""Whose rest is over, while nothing has shown yet that it works again."""


@frozen
class KeyCondition:
    """How a key stands for one model.

    Attributes:
        state: In a word.
        until: When that ends by itself, or None.
    """

    state: KeyState
    until: datetime | None = None


def condition_of(
    key: RotationKey, now: datetime, *, model: str = "", opens: bool = True
) -> KeyCondition:
    """How a key stands.

    Args:
        model: For which model; the empty one has no rests of its own.
        opens: Whether it can be decrypted.
    """
    if not opens:
        return KeyCondition(state=KeyState.SHUT)
    if not key.enabled and not key.is_main:
        return KeyCondition(state=KeyState.OFF)
    health = key.health
    free_at = health.free_at(model, now)
    if free_at is None:
        return KeyCondition(state=KeyState.REFUSED)
    is_half_open = health.is_half_open(model, now)
    if free_at > now:
        is_probed = is_half_open and free_at == health.probe_until
        return KeyCondition(state=KeyState.PROBED if is_probed else KeyState.RESTING, until=free_at)
    return KeyCondition(state=KeyState.PROBE_DUE if is_half_open else KeyState.FREE)
