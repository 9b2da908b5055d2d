"""Lends and books keys in Postgres."""

from sqlalchemy import Engine

from turnkeeper.application.ports.key_ring import KeyRing, NoneFree
from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.errors import StoreUnavailable, VaultError
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import Booking, BookNeutral, KeyId, Lease
from turnkeeper.infrastructure.postgres.key_booking import NEUTRAL, sql_of, values_of
from turnkeeper.infrastructure.postgres.key_choice import LEND, NONE_FREE, TURNSTILE
from turnkeeper.infrastructure.postgres.key_rows import lease_of, opened
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, run
from turnkeeper.infrastructure.saved_keys import none_free

# Each round that lends nothing though a key is free means that somebody else was lent it.
ROUNDS = 100
IN_TURN = (TURNSTILE, LEND, NONE_FREE)

Values = dict[str, object]


@frozen
class _Wish:
    """What is to be lent; `shut` are the keys that did not open."""

    owner: Owner
    provider: str
    model: str
    without: frozenset[KeyId]
    shut: tuple[KeyId, ...] = ()

    @property
    def values(self) -> Values:
        return {
            "owner": str(self.owner),
            "provider": self.provider,
            "model": self.model,
            "without": sorted(self.without),
        }

    def past(self, key_id: KeyId) -> "_Wish":
        return replace(self, without=self.without | {key_id}, shut=(*self.shut, key_id))


class PostgresKeyRing(KeyRing):
    """The keys of one database.

    Lending and booking are one statement each, and one round trip. What they write may be lost
    with the server, so an engine whose commits are asynchronous serves them well.
    """

    def __init__(self, engine: Engine, *, vault: Vault) -> None:
        self._engine = engine
        self._vault = vault

    def lease(
        self, owner: Owner, provider: str, *, model: str, without: frozenset[KeyId]
    ) -> Lease | NoneFree:
        wish = _Wish(owner=owner, provider=provider, model=model, without=without)
        while not isinstance(lent := self._lend(wish), NoneFree):
            try:
                secret = opened(lent, self._vault, owner, provider)
            except VaultError:
                key_id = KeyId(lent["key_id"])
                self._give_back(wish, lent)
                wish = wish.past(key_id)
            else:
                return lease_of(lent, owner, provider, secret)
        return lent

    def _lend(self, wish: _Wish) -> Row | NoneFree:
        (lent,) = run(self._engine, Statement(LEND, wish.values))
        rounds = 0
        while not lent:
            if rounds == ROUNDS:
                raise _outrun(wish)
            # None is free, or somebody was faster. From now on one at a time, so that of many
            # who ask at once not all are late again.
            _, lent, (said,) = run(self._engine, *(Statement(sql, wish.values) for sql in IN_TURN))
            if not lent and not said["is_free"]:
                return _none_free(wish, said)
            rounds += 1
        return lent[0]

    def _give_back(self, wish: _Wish, lent: Row) -> None:
        given: Values = {"key_id": lent["key_id"], "freed": 1, "is_probe": lent["is_probe"]}
        values: Values = {**wish.values, **given}
        run(self._engine, Statement(NEUTRAL, values))

    def book(self, lease: Lease, booking: Booking, *, keeps_lease: bool = False) -> None:
        values = values_of(lease, booking, keeps_lease=keeps_lease)
        (rows,) = run(self._engine, Statement(sql_of(booking), values))
        if not rows and not isinstance(booking, BookNeutral):
            # The secret was replaced meanwhile, or the key is gone.
            run(self._engine, Statement(NEUTRAL, values))


def _outrun(wish: _Wish) -> StoreUnavailable:
    return StoreUnavailable(
        f"keys of {wish.owner} for {wish.provider} are free, but {ROUNDS} times others were"
        " faster: save more keys, or run fewer turns at once"
    )


def _none_free(wish: _Wish, said: Row) -> NoneFree:
    return none_free(
        said["next_in_s"],
        refused=said["refused"],
        is_empty=said["is_empty"],
        shut=wish.shut,
        whose=f"{wish.owner} for {wish.provider}",
    )
