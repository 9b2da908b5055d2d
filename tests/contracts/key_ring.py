"""Which key every ring lends."""

from dataclasses import replace

import pytest
from builders import NOON, SERVER, USER
from contracts.keys import PROVIDER, Keys

from turnkeeper.application.ports.key_ring import NoneFree
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyHealth, Lease
from turnkeeper.domain.secret import Secret


class KeyRingContract:
    """Subclass as Test… and give a `keys` fixture."""

    @pytest.fixture
    def keys(self) -> Keys:
        raise NotImplementedError

    def test_a_lease_tells_all_about_its_key(self, keys: Keys) -> None:
        (first,) = keys.add("one")

        lease = keys.lend()

        assert replace(lease, leased_at=NOON) == Lease(
            owner=SERVER,
            provider=PROVIDER,
            key_id=first,
            secret=Secret("one"),
            leased_at=NOON,
            is_main=True,
        )
        assert keys.health(first) == KeyHealth(in_flight=1, last_leased_at=lease.leased_at)

    def test_equal_keys_are_lent_by_their_number(self, keys: Keys) -> None:
        added = keys.add("one", "two", "three")

        assert [keys.lend().key_id for _ in range(4)] == [*added, added[0]]

    def test_the_least_used_key_is_lent_first(self, keys: Keys) -> None:
        first, second, third = keys.add("one", "two", "three")
        keys.use(first, 2)
        keys.use(second, 1)

        assert [keys.lend().key_id for _ in range(3)] == [third, second, first]

    def test_a_key_that_is_busy_waits_for_the_more_used_ones(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.use(second, 9)

        assert [keys.lend().key_id for _ in range(4)] == [first, second, first, second]

    def test_leases_of_turns_that_must_be_over_are_forgotten(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        for _ in range(3):
            keys.lend(second)
        keys.pass_time(901)

        assert keys.lend().key_id == first
        assert keys.health(first).in_flight == 1
        assert keys.health(second).in_flight == 0

    def test_excluded_keys_are_not_lent(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")

        assert keys.lend(first).key_id == second
        assert keys.refuse(first, second) == NoneFree(
            next_in_s=None, cause="every key of server:guild for wall was tried"
        )

    def test_without_keys_there_is_none_and_never_will_be(self, keys: Keys) -> None:
        assert keys.refuse() == NoneFree(
            next_in_s=None,
            cause="no key of server:guild for wall is saved or enabled;"
            " add one with `turnkeeper key add`",
        )

    def test_owners_never_lend_each_other_keys(self, keys: Keys) -> None:
        keys.add("one", owner=USER)
        keys.add("two", owner=Owner.server("ann"))

        assert keys.lend(owner=USER).secret == Secret("one")
        assert keys.refuse(owner=SERVER).next_in_s is None

    def test_providers_have_pools_of_their_own(self, keys: Keys) -> None:
        keys.add("one", provider="other")

        assert keys.refuse().next_in_s is None

    def test_a_key_that_is_switched_off_is_not_lent(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.saved.enable(SERVER, second, False)

        assert keys.lend().key_id == first
        assert keys.lend().key_id == first

    def test_nobody_waits_for_a_key_that_is_switched_off(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.rest(second, 60)
        keys.saved.enable(SERVER, second, False)

        assert keys.refuse(first).next_in_s is None

    def test_the_main_key_is_the_last_resort_where_it_is_switched_off(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.saved.enable(SERVER, first, False)

        assert [keys.lend().key_id for _ in range(3)] == [second] * 3
        keys.rest(second, 60)
        assert keys.lend().key_id == first

    def test_a_key_that_does_not_open_takes_only_itself_out(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.vault.forget("one")

        assert [keys.lend().key_id for _ in range(2)] == [second] * 2
        assert keys.health(first).in_flight == 0
        assert [saved.opens for saved in keys.all()] == [False, True]

    def test_where_no_key_opens_it_says_so(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.vault.forget("one", "two")

        assert keys.refuse() == NoneFree(
            next_in_s=None,
            cause=f"keys {first}, {second} of server:guild for wall cannot be decrypted:"
            " check the master secret",
        )
