"""What all key rings and vaults decide alike about saved keys."""

from collections.abc import Iterable, Sequence

from turnkeeper.application.ports.key_ring import NoneFree
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyId, RotationKey
from turnkeeper.domain.secret import Secret

HINT_CHARACTERS = 4
# Four characters of anything shorter would be too much of it.
HINTED_CHARACTERS = 16


def hint_of(secret: Secret) -> str:
    """The characters by which people tell their keys apart; none of a short key."""
    text = secret.reveal()
    return text[-HINT_CHARACTERS:] if len(text) >= HINTED_CHARACTERS else ""


def already_saved(owner: Owner, provider: str, key_id: KeyId) -> StoreError:
    """The refusal of a key that is there already."""
    return StoreError(
        f"this key is already saved for {owner} and {provider}, as key {key_id}:"
        " use that one, or remove it first"
    )


def starting_usage(keys: Sequence[RotationKey]) -> int:
    """How used a new key of this pool starts: as the least used of those in rotation."""
    rotating = [key for key in keys if key.enabled and not key.health.disabled]
    return min((key.health.usage_count for key in rotating or keys), default=0)


def next_main(keys: Iterable[RotationKey]) -> KeyId | None:
    """Which key becomes the main one after the main one was removed; None if none rotates."""
    return min((key.id for key in keys if key.enabled), default=None)


def none_free(
    next_in_s: float | None,
    *,
    refused: Sequence[KeyId],
    is_empty: bool,
    shut: Sequence[KeyId],
    whose: str,
) -> NoneFree:
    """The answer that no key can be lent.

    Args:
        next_in_s: Seconds until the soonest comes back; None if none does.
        refused: Keys that the provider refused.
        is_empty: Whether there are no keys.
        shut: Keys that did not open.
        whose: Owner and provider, to say.
    """
    if shut:
        cause = f"{_named(shut)} of {whose} cannot be decrypted: check the master secret"
    elif next_in_s is not None:
        cause = ""
    elif is_empty:
        cause = f"no key of {whose} is saved or enabled; add one with `turnkeeper key add`"
    elif refused:
        cause = f"the provider refused {_named(refused)} of {whose}: replace it"
    else:
        cause = f"every key of {whose} was tried"
    return NoneFree(next_in_s=next_in_s, cause=cause)


def _named(ids: Sequence[KeyId]) -> str:
    numbers = ", ".join(map(str, ids))
    return f"key {numbers}" if len(ids) == 1 else f"keys {numbers}"
