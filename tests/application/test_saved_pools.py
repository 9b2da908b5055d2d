"""The saved keys as they stand."""

from contracts.keys import MODEL, Keys, an_error
from contracts.stores import Stores
from stores_in_memory import stores_in_memory

from turnkeeper.application.saved_pools import PoolView, SavedPools
from turnkeeper.domain.failure import CooldownScope
from turnkeeper.domain.key_condition import KeyState
from turnkeeper.domain.owner import Owner

ANN = Owner.user("ann")


def pools(stores: Stores, owner: Owner | None = None) -> tuple[PoolView, ...]:
    return SavedPools(keys=stores.keys.saved, standings=stores.standings)(owner).pools


def states(pool: PoolView) -> list[KeyState]:
    return [view.condition.state for view in pool.keys]


def fail(keys: Keys, times: int, scope: CooldownScope = CooldownScope.NOTHING) -> None:
    for _ in range(times):
        keys.ring.book(keys.lend(), an_error(scope))


def test_a_pool_is_dry_until_its_first_key_is_back() -> None:
    stores = stores_in_memory()
    first, second = stores.keys.add("sk-one", "sk-two")
    stores.keys.rest(first, 60)
    (before,) = pools(stores)
    stores.keys.rest(second, 30)

    (pool,) = pools(stores)

    assert (before.is_dry, states(before)) == (False, [KeyState.RESTING, KeyState.FREE])
    assert (pool.is_dry, stores.seconds_until(pool.back_at)) == (True, 30)


def test_a_pool_of_refused_keys_does_not_come_back_by_itself() -> None:
    stores = stores_in_memory()
    stores.keys.add("sk-one")
    fail(stores.keys, 1, CooldownScope.KEY_DISABLED)

    (pool,) = pools(stores)

    assert (pool.is_dry, pool.back_at, states(pool)) == (True, None, [KeyState.REFUSED])
    assert pool.keys[0].is_refused_repeatedly


def test_a_pool_may_be_dry_for_one_model_alone() -> None:
    stores = stores_in_memory()
    first, second = stores.keys.add("sk-one", "sk-two")
    stores.keys.limit(first, MODEL, 60)
    (before,) = pools(stores)
    stores.keys.limit(second, MODEL, 30)

    (pool,) = pools(stores)

    ((model, back_at),) = pool.dry_for
    assert (before.dry_for, pool.is_dry, model) == ((), False, MODEL)
    assert stores.seconds_until(back_at) == 30
    stores.pass_time(31)
    assert pools(stores)[0].dry_for == ()


def test_a_pool_whose_keys_do_not_open_is_dry() -> None:
    stores = stores_in_memory()
    stores.keys.add("sk-one")
    stores.keys.vault.forget("sk-one")

    (pool,) = pools(stores)

    assert (pool.is_dry, states(pool)) == (True, [KeyState.SHUT])


def test_a_key_after_its_rest_is_half_open_until_it_was_probed() -> None:
    stores = stores_in_memory()
    (key,) = stores.keys.add("sk-one")
    stores.keys.rest(key, 60)
    stores.pass_time(61)
    (due,) = pools(stores)
    stores.keys.lend()
    (probed,) = pools(stores)
    stores.pass_time(16)

    assert [states(one) for one in (due, probed)] == [[KeyState.PROBE_DUE], [KeyState.PROBED]]
    assert probed.is_dry
    assert states(pools(stores)[0]) == [KeyState.PROBE_DUE]


def test_the_same_key_of_two_owners_is_told_to_both() -> None:
    stores = stores_in_memory()
    stores.keys.add("sk-one", "sk-two")
    stores.keys.add("sk-two", owner=ANN)

    ((mine,),) = (one.keys for one in pools(stores, ANN))

    assert mine.same_as == ("key 2 (server:guild, wall)",)
    assert [view.same_as for view in pools(stores)[0].keys] == [(), ("key 3 (user:ann, wall)",)]


def test_a_key_that_was_never_lent_is_told_whatever_it_counts() -> None:
    stores = stores_in_memory()
    (used,) = stores.keys.add("sk-one")
    stores.keys.use(used, times=2)
    stores.keys.add("sk-two")

    (pool,) = pools(stores)

    assert [view.is_never_used for view in pool.keys] == [False, True]


def test_repeated_errors_are_told_until_it_works_again() -> None:
    stores = stores_in_memory()
    (key,) = stores.keys.add("sk-one")
    fail(stores.keys, 2)
    (twice,) = pools(stores)
    fail(stores.keys, 1)
    (thrice,) = pools(stores)
    stores.keys.use(key)

    seen = [one.keys[0].is_refused_repeatedly for one in (twice, thrice, *pools(stores))]
    assert seen == [False, True, False]
