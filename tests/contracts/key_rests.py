"""How keys rest and are tried again, in every ring."""

import pytest
from builders import SERVER
from contracts.keys import MODEL, OTHER_MODEL, Keys, a_limit, an_error

from turnkeeper.application.ports.key_ring import NoneFree
from turnkeeper.domain.failure import CooldownScope, KeyErrorClass
from turnkeeper.domain.rotation import BookNeutral, BookSuccess, KeyHealth


class KeyRestsContract:
    """Subclass as Test… and give a `keys` fixture."""

    @pytest.fixture
    def keys(self) -> Keys:
        raise NotImplementedError

    def test_a_resting_key_gives_way_to_the_next(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.use(second, 5)
        keys.rest(first, 60)

        assert [keys.lend().key_id for _ in range(2)] == [second] * 2

    def test_where_all_keys_rest_it_says_when_the_first_is_back(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.rest(first, 60)
        keys.rest(second, 20)

        none = keys.refuse()

        assert none.next_in_s == pytest.approx(20, abs=5)
        assert none.cause == ""

    def test_keys_that_were_tried_are_waited_for_as_well(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 20)

        assert keys.refuse(first).next_in_s == pytest.approx(20, abs=5)

    def test_after_its_rest_one_lease_probes_a_key_and_the_others_keep_away(
        self, keys: Keys
    ) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60)
        keys.pass_time(61)

        assert keys.lend().is_probe
        assert keys.refuse().next_in_s == pytest.approx(15, abs=5)

    def test_a_due_probe_comes_before_keys_that_never_failed(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.use(first, 5)
        keys.rest(first, 60)
        keys.pass_time(61)

        assert [(keys.lend().key_id, keys.lend().key_id)] == [(first, second)]

    def test_a_rest_of_no_length_asks_for_a_probe(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 0)
        keys.pass_time(1)

        assert keys.lend().is_probe

    def test_a_probe_that_works_ends_it(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60)
        keys.pass_time(61)
        probe = keys.lend()

        keys.ring.book(probe, BookSuccess())

        assert keys.health(first) == KeyHealth(usage_count=1, last_leased_at=probe.leased_at)
        assert not keys.lend().is_probe

    def test_a_probe_that_fails_rests_again(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60)
        keys.pass_time(61)

        keys.ring.book(keys.lend(), an_error(rest_s=60))

        assert keys.refuse().next_in_s == pytest.approx(60, abs=5)

    def test_a_probe_that_says_nothing_is_made_again(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60)
        keys.pass_time(61)

        keys.ring.book(keys.lend(), BookNeutral())

        assert keys.lend().is_probe

    def test_a_probe_that_was_never_booked_is_made_again(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60)
        keys.pass_time(61)
        keys.lend()
        keys.pass_time(16)

        assert keys.lend().is_probe

    def test_a_rest_only_moves_later(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        one, other = keys.lend(), keys.lend()
        keys.ring.book(one, an_error(rest_s=60))
        keys.ring.book(other, an_error(rest_s=20))

        assert keys.refuse().next_in_s == pytest.approx(60, abs=5)
        assert keys.health(first).error_count == 2

    def test_a_key_rests_for_one_model_alone(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60, CooldownScope.KEY_FOR_MODEL)

        assert keys.refuse(model=MODEL).next_in_s == pytest.approx(60, abs=5)
        assert keys.lend(model="beta").key_id == first

    def test_a_rest_for_one_model_only_moves_later_and_ends_without_a_probe(
        self, keys: Keys
    ) -> None:
        keys.add("one")
        one, other = keys.lend(), keys.lend()
        keys.ring.book(one, an_error(CooldownScope.KEY_FOR_MODEL, 60))
        keys.ring.book(other, an_error(CooldownScope.KEY_FOR_MODEL, 20))

        assert keys.refuse().next_in_s == pytest.approx(60, abs=5)
        keys.pass_time(61)
        assert not keys.lend().is_probe

    def test_the_saved_key_serves_another_model_while_it_rests_for_one(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.limit(first)

        leases = [keys.lend(model=OTHER_MODEL) for _ in range(3)]

        assert [(lease.key_id, lease.is_probe) for lease in leases] == [(first, False)] * 3
        assert keys.health(first).in_flight == 3
        assert keys.refuse().next_in_s == pytest.approx(60, abs=5)

    def test_a_rest_for_all_models_is_one_of_the_saved_key_as_well(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60)

        assert keys.refuse(model=OTHER_MODEL).next_in_s == pytest.approx(60, abs=5)

    def test_of_a_resting_pool_only_the_main_key_serves_another_model(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.use(first, 5)
        keys.limit(first)
        keys.limit(second)

        assert [keys.lend(model=OTHER_MODEL).key_id for _ in range(2)] == [first] * 2
        assert keys.refuse(first, model=OTHER_MODEL).next_in_s == pytest.approx(60, abs=5)

    def test_a_free_key_goes_before_the_main_one_that_rests_for_another_model(
        self, keys: Keys
    ) -> None:
        first, second = keys.add("one", "two")
        keys.use(second, 5)
        keys.limit(first)

        assert [keys.lend(model=OTHER_MODEL).key_id for _ in range(2)] == [second] * 2

    def test_the_main_key_serves_another_model_where_it_is_switched_off(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.limit(first)
        keys.rest(second, 60)
        keys.saved.enable(SERVER, first, False)

        assert keys.lend(model=OTHER_MODEL).key_id == first

    def test_the_saved_key_does_not_serve_a_model_that_it_may_not_be_used_for(
        self, keys: Keys
    ) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 90, CooldownScope.KEY_FOR_MODEL)
        keys.limit(first, OTHER_MODEL)

        assert keys.refuse().next_in_s == pytest.approx(90, abs=5)

    def test_two_limited_models_rest_the_key_for_all(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.limit(first, MODEL, 60)
        keys.limit(first, OTHER_MODEL, 20)

        assert keys.refuse(model="gamma").next_in_s == pytest.approx(60, abs=5)
        assert keys.health(first).rest_model is None

    def test_a_model_that_is_limited_twice_still_spares_the_others(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        one, other = keys.lend(), keys.lend()
        keys.ring.book(one, a_limit())
        keys.ring.book(other, a_limit())

        assert keys.lend(model=OTHER_MODEL).key_id == first

    def test_a_limit_that_is_over_does_not_count_with_the_next(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.limit(first, MODEL)
        keys.pass_time(61)
        keys.limit(first, OTHER_MODEL)

        assert keys.health(first).rest_model == OTHER_MODEL

    def test_after_a_limit_its_own_model_probes_and_others_need_not(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.limit(first)
        keys.pass_time(61)

        assert [keys.lend(model=OTHER_MODEL).is_probe for _ in range(2)] == [False] * 2
        assert keys.lend().is_probe
        assert keys.refuse().next_in_s == pytest.approx(15, abs=5)
        assert keys.lend(model=OTHER_MODEL).key_id == first

    def test_a_key_that_was_refused_is_not_lent_and_never_comes_back(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 0, CooldownScope.KEY_DISABLED)

        assert keys.refuse() == NoneFree(
            next_in_s=None,
            cause=f"the provider refused key {first} of server:guild for wall: replace it",
        )

    @pytest.mark.parametrize("scope", [CooldownScope.NOTHING, CooldownScope.MODEL])
    def test_a_failure_that_is_not_the_keys_only_counts(
        self, keys: Keys, scope: CooldownScope
    ) -> None:
        (first,) = keys.add("one")
        lease = keys.lend()

        keys.ring.book(lease, an_error(scope, 60))

        assert keys.health(first) == KeyHealth(
            last_leased_at=lease.leased_at,
            error_count=1,
            last_error=(KeyErrorClass.RATE_LIMIT, "slow down"),
        )
        assert keys.lend().key_id == first
