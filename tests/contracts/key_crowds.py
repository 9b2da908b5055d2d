"""What every ring does when many ask at once."""

from collections import Counter

import pytest
from builders import SERVER, USER
from contracts.keys import OTHER_MODEL, Keys, at_once

from turnkeeper.domain.rotation import BookNeutral, BookSuccess, KeyHealth, Lease


class KeyCrowdsContract:
    """Subclass as Test… and give a `keys` fixture."""

    @pytest.fixture
    def keys(self) -> Keys:
        raise NotImplementedError

    def test_as_many_leases_as_free_keys_get_a_key_each(self, keys: Keys) -> None:
        added = keys.add(*map(str, range(8)))
        for _ in range(200):
            leases = at_once(8, lambda _: keys.lend())
            assert sorted(lease.key_id for lease in leases) == added
            for lease in leases[:6]:
                keys.ring.book(lease, BookSuccess())
            for lease in leases[6:]:
                keys.ring.book(lease, BookNeutral())

    def test_free_keys_are_lent_and_not_the_main_one_that_rests_for_another_model(
        self, keys: Keys
    ) -> None:
        main, *others = keys.add(*map(str, range(9)))
        keys.limit(main)
        for _ in range(50):
            leases = at_once(8, lambda _: keys.lend(model=OTHER_MODEL))
            assert sorted(lease.key_id for lease in leases) == others
            for lease in leases:
                keys.ring.book(lease, BookNeutral())

    def test_the_main_key_that_rests_for_another_model_serves_all(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.limit(first)
        keys.limit(second)

        leases = at_once(32, lambda _: keys.lend(model=OTHER_MODEL))

        assert [lease.key_id for lease in leases] == [first] * 32
        assert keys.health(first).in_flight == 32

    def test_more_leases_than_keys_share_them_evenly(self, keys: Keys) -> None:
        added = keys.add(*map(str, range(8)))

        leases = at_once(32, lambda _: keys.lend())

        assert Counter(lease.key_id for lease in leases) == dict.fromkeys(added, 4)

    def test_one_key_serves_all(self, keys: Keys) -> None:
        (first,) = keys.add("one")

        leases = at_once(64, lambda _: keys.lend())

        assert [lease.key_id for lease in leases] == [first] * 64
        assert keys.health(first).in_flight == 64

    def test_of_many_leases_exactly_one_probes(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60)
        keys.pass_time(61)

        answers = at_once(64, lambda _: keys.ask())

        assert [lease.is_probe for lease in answers if isinstance(lease, Lease)] == [True]

    def test_while_one_probes_the_others_get_other_keys(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.rest(first, 60)
        keys.pass_time(61)

        leases = at_once(32, lambda _: keys.lend())

        assert Counter(lease.key_id for lease in leases) == {first: 1, second: 31}
        assert [lease.key_id for lease in leases if lease.is_probe] == [first]

    def test_owners_do_not_mix_when_they_ask_at_once(self, keys: Keys) -> None:
        owners = (SERVER, USER)
        for owner in owners:
            keys.add(*(f"{owner} {n}" for n in range(4)), owner=owner)

        leases = at_once(16, lambda n: keys.lend(owner=owners[n % 2]))

        for n, lease in enumerate(leases):
            assert lease.owner == owners[n % 2]
            assert lease.secret.reveal().startswith(str(owners[n % 2]))
        assert set(Counter(lease.key_id for lease in leases).values()) == {2}

    def test_bookings_at_once_all_count(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        leases = [keys.lend() for _ in range(32)]

        at_once(32, lambda n: keys.ring.book(leases[n], BookSuccess()))

        health = keys.health(first)
        assert health == KeyHealth(usage_count=32, last_leased_at=health.last_leased_at)
