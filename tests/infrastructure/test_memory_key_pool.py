"""What a pool in memory leaves out never decides."""

from any_pools import ANY_HEALTH, TRIED, pools
from builders import NOON
from contracts.keys import MODEL
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.rotation import Chosen, KeyHealth, KeyId, RotationKey, next_key
from turnkeeper.infrastructure.memory.key_pool import KeyPool


def holding(keys: tuple[RotationKey, ...], *, few: int = 0) -> KeyPool:
    pool = KeyPool(few=few)
    for key in keys:
        pool.put(key)
    return pool


@given(before=pools(), keys=pools(), without=TRIED, few=st.integers(0, 5))
def test_what_is_lendable_is_what_the_whole_pool_would_lend(
    before: tuple[RotationKey, ...],
    keys: tuple[RotationKey, ...],
    without: frozenset[KeyId],
    few: int,
) -> None:
    pool = holding(before, few=few)
    for key in keys:
        pool.put(key)
    for key in before[len(keys) :]:
        pool.remove(key.id)

    whole = next_key(pool.whole(), model=MODEL, without=without, now=NOON)
    chosen = next_key(pool.lendable(without, NOON), model=MODEL, without=without, now=NOON)

    assert sorted(pool.whole(), key=lambda key: key.id) == list(keys)
    assert isinstance(chosen, Chosen) == isinstance(whole, Chosen)
    if isinstance(whole, Chosen):
        assert chosen == whole


@given(health=ANY_HEALTH | st.just(KeyHealth()))
def test_a_removed_key_is_in_no_order(health: KeyHealth) -> None:
    pool = holding((RotationKey(id=KeyId(1), health=health),))

    pool.remove(KeyId(1))

    assert not pool.lendable(frozenset(), NOON)
    assert not pool.whole()


def test_the_keys_of_a_small_pool_are_all_looked_at() -> None:
    keys = tuple(RotationKey(id=KeyId(n)) for n in range(3))

    assert tuple(holding(keys, few=3).lendable(frozenset(), NOON)) == keys


def test_of_many_unused_keys_only_the_first_is_looked_at() -> None:
    keys = tuple(RotationKey(id=KeyId(n)) for n in range(100))

    assert tuple(holding(keys).lendable(frozenset({KeyId(0)}), NOON)) == (keys[1],)
