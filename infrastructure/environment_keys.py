"""Keys from the environment, lent where an owner has saved none."""

from collections.abc import Mapping

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.key_ring import KeyRing, KeyVault, NoneFree
from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.domain.rotation import Booking, KeyId, Lease
from turnkeeper.domain.secret import Secret

ENVIRONMENT_KEY = KeyId(0)
"""No saved key has this id."""


class EnvironmentKeyRing(KeyRing):
    """A key ring for one person's own use: whoever may run it may use the environment's keys.

    They stand in for a server's missing keys, never for a user's, and nothing is booked on them.

    Args:
        ring: Lends the saved keys.
        vault: Says whether there are any.
        keys: By provider.
    """

    def __init__(
        self, ring: KeyRing, *, vault: KeyVault, keys: Mapping[str, Secret], clock: Clock
    ) -> None:
        self._ring = ring
        self._vault = vault
        self._keys = dict(keys)
        self._clock = clock

    def lease(
        self, owner: Owner, provider: str, *, model: str, without: frozenset[KeyId]
    ) -> Lease | NoneFree:
        lent = self._ring.lease(owner, provider, model=model, without=without)
        if isinstance(lent, Lease) or not self._stands_in(owner, provider, without):
            return lent
        return Lease(
            owner=owner,
            provider=provider,
            key_id=ENVIRONMENT_KEY,
            secret=self._keys[provider],
            leased_at=self._clock.now(),
            is_main=True,
        )

    def book(self, lease: Lease, booking: Booking, *, keeps_lease: bool = False) -> None:
        if lease.key_id != ENVIRONMENT_KEY:
            self._ring.book(lease, booking, keeps_lease=keeps_lease)

    def _stands_in(self, owner: Owner, provider: str, without: frozenset[KeyId]) -> bool:
        may_be_lent = provider in self._keys and ENVIRONMENT_KEY not in without
        is_server = owner.kind is OwnerKind.SERVER
        return may_be_lent and is_server and not self._vault.keys(owner, provider)
