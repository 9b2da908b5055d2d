import pytest
from builders import NOON, SERVER, USER
from fakes import FrozenClock

from turnkeeper.application.ports.key_ring import NoneFree
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import BookSuccess, KeyId, Lease
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.environment_keys import ENVIRONMENT_KEY, EnvironmentKeyRing
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.vault import AesGcmVault

FOUND = Secret("sk-from-the-environment")
SAVED = Secret("sk-saved")


@pytest.fixture
def saved(vault: AesGcmVault) -> MemoryKeyRing:
    return MemoryKeyRing(vault=vault, clock=FrozenClock())


@pytest.fixture
def ring(saved: MemoryKeyRing) -> EnvironmentKeyRing:
    return EnvironmentKeyRing(saved, vault=saved, keys={"wall": FOUND}, clock=FrozenClock())


def lent(
    ring: EnvironmentKeyRing,
    *,
    owner: Owner = SERVER,
    provider: str = "wall",
    without: frozenset[KeyId] = frozenset(),
) -> Lease | NoneFree:
    return ring.lease(owner, provider, model="alpha", without=without)


def test_it_stands_in_where_a_server_has_saved_no_key(ring: EnvironmentKeyRing) -> None:
    assert lent(ring) == Lease(
        owner=SERVER,
        provider="wall",
        key_id=ENVIRONMENT_KEY,
        secret=FOUND,
        leased_at=NOON,
        is_main=True,
    )


def test_a_saved_key_comes_first(ring: EnvironmentKeyRing, saved: MemoryKeyRing) -> None:
    key_id = saved.add(SERVER, "wall", SAVED)

    lease = lent(ring)

    assert isinstance(lease, Lease)
    assert (lease.key_id, lease.secret) == (key_id, SAVED)


def test_it_does_not_stand_in_for_saved_keys_that_rest(
    ring: EnvironmentKeyRing, saved: MemoryKeyRing
) -> None:
    key_id = saved.add(SERVER, "wall", SAVED)

    assert isinstance(lent(ring, without=frozenset({key_id})), NoneFree)


@pytest.mark.parametrize(
    "where",
    [{"owner": USER}, {"provider": "other"}, {"without": frozenset({ENVIRONMENT_KEY})}],
    ids=["a user's", "another provider's", "tried already"],
)
def test_it_is_not_lent_elsewhere(ring: EnvironmentKeyRing, where: dict[str, object]) -> None:
    assert isinstance(lent(ring, **where), NoneFree)  # type: ignore[arg-type]


def test_outcomes_are_booked_on_saved_keys_only(
    ring: EnvironmentKeyRing, saved: MemoryKeyRing
) -> None:
    stand_in = lent(ring)
    assert isinstance(stand_in, Lease)
    ring.book(stand_in, BookSuccess())
    saved.add(SERVER, "wall", SAVED)
    lease = lent(ring)
    assert isinstance(lease, Lease)

    ring.book(lease, BookSuccess())

    assert [one.key.health.usage_count for one in saved.keys(SERVER)] == [1]
