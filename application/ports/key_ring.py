"""The saved keys of all owners, and what is known of them from their use."""

from datetime import datetime
from typing import Protocol

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import Booking, KeyId, Lease, RotationKey
from turnkeeper.domain.secret import Secret


@frozen
class NoneFree:
    """No key can be lent.

    Attributes:
        next_in_s: Seconds until the soonest is free, by the store's clock; None if none will be.
        cause: Why, where it is not that all keys rest; redacted.
    """

    next_in_s: float | None
    cause: str = ""


@frozen
class SavedKey:
    """A saved key as it may be shown.

    Attributes:
        key: Its id, place and health.
        owner: Whose it is.
        provider: For which provider.
        hint: The last four characters, to tell keys apart.
        fingerprint: Equal for equal keys of one installation; hex.
        created_at: When it was saved.
        opens: Whether it can be decrypted now.
    """

    key: RotationKey
    owner: Owner
    provider: str
    hint: str
    fingerprint: str
    created_at: datetime
    opens: bool = True


class KeyRing(Protocol):
    """Lends and books keys. Safe to use from several threads and processes.

    A lease is not exclusive: n leases at once over n free keys get n different keys, more share
    the least loaded. Which key is next is `RotationPool.choose`'s rule, by the store's clock.

    Raises:
        StoreUnavailable: From every method: nothing was lent, booked or changed.
    """

    def lease(
        self, owner: Owner, provider: str, *, model: str, without: frozenset[KeyId]
    ) -> Lease | NoneFree:
        """Lend a key. One that does not open is passed over, and only that one."""
        ...

    def book(self, lease: Lease, booking: Booking, *, keeps_lease: bool = False) -> None:
        """Note what came of a lease; `domain.rotation.booked` says how.

        What a secret did says nothing of one that has replaced it since: that books neutrally. On
        a key that was removed nothing is booked.

        Args:
            keeps_lease: The same lease is used again at once.
        """
        ...


class KeyVault(Protocol):
    """Adds, lists and removes keys. Safe to use from several threads and processes.

    Raises:
        StoreUnavailable: From every method: nothing was changed.
        VaultError: From `add` and `replace`: the master secret cannot be had; nothing was changed.
    """

    def add(self, owner: Owner, provider: str, secret: Secret, *, is_main: bool = False) -> KeyId:
        """Save a key. The first of an owner and provider is the main one; `is_main` replaces it.

        A new key starts as used as the least used of its pool, so that it is not asked alone.

        Raises:
            StoreError: The same key is already saved for this owner and provider.
        """
        ...

    def keys(self, owner: Owner | None = None, provider: str | None = None) -> tuple[SavedKey, ...]:
        """The saved keys, by owner, provider and id."""
        ...

    def replace(self, owner: Owner, key_id: KeyId, secret: Secret) -> bool:
        """Put another secret in a key's place; it is fit for use again. False if there is none.

        Raises:
            StoreError: Another key of this owner and provider has the same secret.
        """
        ...

    def enable(self, owner: Owner, key_id: KeyId, enabled: bool) -> bool:
        """Let a key take part in the rotation, or not. False if there is none.

        Enabling gives a key that the provider refused another chance; a rest goes on.
        """
        ...

    def remove(self, owner: Owner, key_id: KeyId) -> bool:
        """Forget a key. False if there was none.

        The oldest enabled key takes the place of a main one.
        """
        ...
