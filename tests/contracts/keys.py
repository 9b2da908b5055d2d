"""A key ring under test, and the hands that move it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Barrier
from typing import TypeVar

from builders import SERVER
from forgetful_vault import ForgetfulVault

from turnkeeper.application.ports.key_ring import KeyRing, KeyVault, NoneFree, SavedKey
from turnkeeper.domain.failure import CooldownScope, KeyErrorClass
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import (
    BookError,
    BookSuccess,
    KeyHealth,
    KeyId,
    Lease,
)
from turnkeeper.domain.secret import Secret

Result = TypeVar("Result")

PROVIDER = "wall"
MODEL = "alpha"
OTHER_MODEL = "beta"


@dataclass(frozen=True, kw_only=True)
class Keys:
    """A ring, the vault that saves its keys, and the hands that move time and memory."""

    ring: KeyRing
    saved: KeyVault
    vault: ForgetfulVault
    pass_time: Callable[[float], None]

    def add(self, *texts: str, owner: Owner = SERVER, provider: str = PROVIDER) -> list[KeyId]:
        return [self.saved.add(owner, provider, Secret(text)) for text in texts]

    def ask(
        self, *without: KeyId, owner: Owner = SERVER, provider: str = PROVIDER, model: str = MODEL
    ) -> Lease | NoneFree:
        return self.ring.lease(owner, provider, model=model, without=frozenset(without))

    def lend(self, *without: KeyId, owner: Owner = SERVER, model: str = MODEL) -> Lease:
        lease = self.ask(*without, owner=owner, model=model)
        assert isinstance(lease, Lease)
        return lease

    def refuse(self, *without: KeyId, owner: Owner = SERVER, model: str = MODEL) -> NoneFree:
        none = self.ask(*without, owner=owner, model=model)
        assert isinstance(none, NoneFree)
        return none

    def all(self) -> tuple[SavedKey, ...]:
        return self.saved.keys()

    def health(self, key_id: KeyId) -> KeyHealth:
        return next(saved.key.health for saved in self.all() if saved.key.id == key_id)

    def use(self, key_id: KeyId, times: int = 1) -> None:
        """Have the key answer so many times."""
        others = self._others(key_id)
        for _ in range(times):
            self.ring.book(self.lend(*others), BookSuccess())

    def rest(self, key_id: KeyId, rest_s: float, scope: CooldownScope = CooldownScope.KEY) -> None:
        """Have a request with the key fail."""
        others = self._others(key_id)
        self.ring.book(self.lend(*others), an_error(scope, rest_s))

    def limit(self, key_id: KeyId, model: str = MODEL, rest_s: float = 60.0) -> None:
        """Have the provider limit the rate of a model with the key."""
        others = self._others(key_id)
        self.ring.book(self.lend(*others, model=model), a_limit(model, rest_s))

    def _others(self, key_id: KeyId) -> list[KeyId]:
        return [saved.key.id for saved in self.all() if saved.key.id != key_id]


def an_error(
    scope: CooldownScope = CooldownScope.KEY, rest_s: float = 60.0, text: str = "slow down"
) -> BookError:
    return BookError(
        booked_as=KeyErrorClass.RATE_LIMIT, text=text, scope=scope, rest_s=rest_s, model=MODEL
    )


def a_limit(model: str = MODEL, rest_s: float = 60.0) -> BookError:
    return replace(an_error(rest_s=rest_s), model=model, spares_other_models=True)


def at_once(threads: int, work: Callable[[int], Result]) -> list[Result]:
    """The results of this many threads that begin together."""
    barrier = Barrier(threads)

    def begin(number: int) -> Result:
        barrier.wait(30)
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads)))
