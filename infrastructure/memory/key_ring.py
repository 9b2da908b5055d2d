"""Lends, books and saves keys in the memory of one process."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from threading import Lock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.key_ring import KeyRing, KeyVault, NoneFree, SavedKey
from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.errors import VaultError
from turnkeeper.domain.frozen import maker, replace
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import (
    IN_FLIGHT_S,
    Booking,
    BookNeutral,
    KeyHealth,
    KeyId,
    Lease,
    RotationKey,
    booked,
    key_to_lend,
    lent,
    next_at,
)
from turnkeeper.domain.secret import Sealed, Secret
from turnkeeper.infrastructure.memory.key_pool import KeyPool
from turnkeeper.infrastructure.saved_keys import (
    already_saved,
    hint_of,
    next_main,
    none_free,
    starting_usage,
)

_new_lease, _new_rotation_key = maker(Lease), maker(RotationKey)

_NO_KEYS = KeyPool()


@dataclass(slots=True, kw_only=True)
class _Row:
    """A key, its place and health, and since when it has had its secret. Only the key changes."""

    key: RotationKey
    pool: KeyPool
    owner: Owner
    provider: str
    sealed: Sealed
    hint: str
    fingerprint: bytes
    created_at: datetime
    secret_since: datetime


class MemoryKeyRing(KeyRing, KeyVault):
    """The keys of one process, sealed as they would be in a database."""

    def __init__(self, *, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock
        self._ids = count(1)
        self._rows: dict[KeyId, _Row] = {}
        self._pools: dict[tuple[Owner, str], KeyPool] = {}
        # Guards _rows and _pools: each method is one decision.
        self._lock = Lock()

    def lease(
        self, owner: Owner, provider: str, *, model: str, without: frozenset[KeyId]
    ) -> Lease | NoneFree:
        shut: list[KeyId] = []
        left_out = without
        with self._lock:
            pool = self._pools.get((owner, provider), _NO_KEYS)
            now = self._clock.now()
            while True:
                lendable = pool.lendable(left_out, now)
                chosen = key_to_lend(lendable, model=model, without=left_out, now=now)
                if chosen is None:
                    at = next_at(pool.whole(), model, now)
                    return none_free(
                        None if at is None else (at - now).total_seconds(),
                        refused=[key.id for key in pool.whole() if key.health.disabled],
                        is_empty=not pool.ids,
                        shut=shut,
                        whose=f"{owner} for {provider}",
                    )
                key, is_probe = chosen.key, chosen.is_probe
                row = self._rows[key.id]
                try:
                    secret = self._opened(row)
                except VaultError:
                    shut.append(key.id)
                    left_out = without.union(shut)
                    continue
                self._set_health(row, lent(key.health, now=now, is_probe=is_probe))
                return _new_lease(
                    owner=owner,
                    provider=provider,
                    key_id=key.id,
                    secret=secret,
                    leased_at=now,
                    is_main=key.is_main,
                    is_probe=is_probe,
                )

    def book(self, lease: Lease, booking: Booking, *, keeps_lease: bool = False) -> None:
        with self._lock:
            row = self._rows.get(lease.key_id)
            if row is None:
                return
            # What a secret did says nothing of the one that has replaced it since.
            says = booking if row.secret_since <= lease.leased_at else BookNeutral()
            health = booked(
                row.key.health,
                says,
                lease,
                now=self._clock.now(),
                keeps_lease=keeps_lease,
            )
            self._set_health(row, health)

    def give_back(self, owner: Owner, key_id: KeyId, leased_after: datetime) -> None:
        """Count back the lease of a turn that is dead and had begun then."""
        with self._lock:
            row = self._owned(owner, key_id)
            is_counted = (self._clock.now() - leased_after).total_seconds() < IN_FLIGHT_S
            if row is not None and is_counted:
                in_flight = max(0, row.key.health.in_flight - 1)
                self._set_health(row, replace(row.key.health, in_flight=in_flight))

    def bound(self, most: Mapping[Owner, int], unlent_s: float) -> int:
        """Let each key that was not lent for so long be lent as often as its owner's turns hold."""
        freed = 0
        with self._lock:
            since = self._clock.now() - timedelta(seconds=unlent_s)
            for row in self._rows.values():
                health, turns = row.key.health, most.get(row.owner, 0)
                lent_at = health.last_leased_at
                if health.in_flight > turns and lent_at is not None and lent_at <= since:
                    self._set_health(row, replace(health, in_flight=turns))
                    freed += 1
        return freed

    def add(self, owner: Owner, provider: str, secret: Secret, *, is_main: bool = False) -> KeyId:
        with self._lock:
            pool = self._pool(owner, provider)
            self._refuse_double(pool, secret)
            main = next((row for row in pool if row.key.is_main), None)
            if is_main and main is not None:
                self._set_key(main, replace(main.key, is_main=False))
            usage = starting_usage([row.key for row in pool])
            key = RotationKey(
                id=KeyId(next(self._ids)),
                is_main=is_main or main is None,
                health=KeyHealth(usage_count=usage),
            )
            now = self._clock.now()
            home = self._pools.setdefault((owner, provider), KeyPool())
            home.put(key)
            self._rows[key.id] = _Row(
                key=key,
                pool=home,
                owner=owner,
                provider=provider,
                sealed=self._sealed(owner, provider, key.id, secret),
                hint=hint_of(secret),
                fingerprint=self._vault.fingerprint(secret),
                created_at=now,
                secret_since=now,
            )
            return key.id

    def keys(self, owner: Owner | None = None, provider: str | None = None) -> tuple[SavedKey, ...]:
        with self._lock:
            rows = [
                row
                for row in self._rows.values()
                if owner in {None, row.owner} and provider in {None, row.provider}
            ]
        rows.sort(key=lambda row: (str(row.owner), row.provider, row.key.id))
        return tuple(self._saved(row) for row in rows)

    def replace(self, owner: Owner, key_id: KeyId, secret: Secret) -> bool:
        with self._lock:
            row = self._owned(owner, key_id)
            if row is None:
                return False
            others = [other for other in self._pool(owner, row.provider) if other is not row]
            self._refuse_double(others, secret)
            health = row.key.health
            fit = KeyHealth(
                usage_count=health.usage_count,
                in_flight=health.in_flight,
                last_leased_at=health.last_leased_at,
            )
            changed = replace(
                row,
                sealed=self._sealed(owner, row.provider, key_id, secret),
                hint=hint_of(secret),
                fingerprint=self._vault.fingerprint(secret),
                secret_since=self._clock.now(),
            )
            self._rows[key_id] = changed
            self._set_health(changed, fit)
            return True

    def enable(self, owner: Owner, key_id: KeyId, enabled: bool) -> bool:
        with self._lock:
            row = self._owned(owner, key_id)
            if row is None:
                return False
            refused = row.key.health.disabled and not enabled
            health = replace(row.key.health, disabled=refused)
            self._set_key(row, replace(row.key, enabled=enabled, health=health))
            return True

    def remove(self, owner: Owner, key_id: KeyId) -> bool:
        with self._lock:
            row = self._owned(owner, key_id)
            if row is None:
                return False
            others = [other for other in self._pool(owner, row.provider) if other is not row]
            row.pool.remove(key_id)
            del self._rows[key_id]
            heir = next_main(other.key for other in others) if row.key.is_main else None
            if heir is not None:
                self._set_key(self._rows[heir], replace(self._rows[heir].key, is_main=True))
            return True

    def _pool(self, owner: Owner, provider: str) -> list[_Row]:
        pool = self._pools.get((owner, provider))
        return [] if pool is None else [self._rows[key_id] for key_id in pool.ids]

    def _owned(self, owner: Owner, key_id: KeyId) -> _Row | None:
        row = self._rows.get(key_id)
        return row if row is not None and row.owner == owner else None

    def _set_key(self, row: _Row, key: RotationKey) -> None:
        row.key = key
        row.pool.put(key)

    def _set_health(self, row: _Row, health: KeyHealth) -> None:
        key = row.key
        row.key = new = _new_rotation_key(
            id=key.id, is_main=key.is_main, enabled=key.enabled, health=health
        )
        row.pool.put(new)

    def _refuse_double(self, pool: list[_Row], secret: Secret) -> None:
        known = self._vault.fingerprints(secret)
        for row in pool:
            if row.fingerprint in known:
                raise already_saved(row.owner, row.provider, row.key.id)

    def _sealed(self, owner: Owner, provider: str, key_id: KeyId, secret: Secret) -> Sealed:
        return self._vault.seal(secret, owner=owner, provider=provider, row=str(key_id))

    def _opened(self, row: _Row) -> Secret:
        place = str(row.key.id)
        return self._vault.open(row.sealed, owner=row.owner, provider=row.provider, row=place)

    def _saved(self, row: _Row) -> SavedKey:
        try:
            self._opened(row)
            opens = True
        except VaultError:
            opens = False
        return SavedKey(
            key=row.key,
            owner=row.owner,
            provider=row.provider,
            hint=row.hint,
            fingerprint=row.fingerprint.hex(),
            created_at=row.created_at,
            opens=opens,
        )
