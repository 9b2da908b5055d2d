"""What every key vault does."""

from dataclasses import replace

import pytest
from builders import NOON, SERVER, USER
from contracts.keys import PROVIDER, Keys, a_limit, an_error, at_once

from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.failure import CooldownScope
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyHealth, KeyId, RotationKey
from turnkeeper.domain.secret import Secret

LONG = "sk-planted-0123456789"


def mains(keys: Keys) -> list[KeyId]:
    return [saved.key.id for saved in keys.all() if saved.key.is_main]


class KeyVaultContract:
    """Subclass as Test… and give a `keys` fixture."""

    @pytest.fixture
    def keys(self) -> Keys:
        raise NotImplementedError

    def test_a_saved_key_shows_its_place_and_its_last_characters(self, keys: Keys) -> None:
        (first,) = keys.add(LONG)

        (saved,) = keys.all()

        assert replace(saved, created_at=NOON) == SavedKey(
            key=RotationKey(id=first, is_main=True),
            owner=SERVER,
            provider=PROVIDER,
            hint="6789",
            fingerprint=keys.vault.fingerprint(Secret(LONG)).hex(),
            created_at=NOON,
        )
        assert saved.created_at.tzinfo is not None

    def test_a_short_key_shows_nothing_of_itself(self, keys: Keys) -> None:
        keys.add("sk-planted-0123")

        assert [saved.hint for saved in keys.all()] == [""]

    def test_the_first_key_of_a_pool_is_its_main_one(self, keys: Keys) -> None:
        first, _ = keys.add("one", "two")
        (other,) = keys.add("one", provider="other")
        (third,) = keys.add("one", owner=USER)

        assert sorted(mains(keys)) == [first, other, third]

    def test_a_new_main_key_takes_the_place_of_the_old_one(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        second = keys.saved.add(SERVER, PROVIDER, Secret("two"), is_main=True)

        assert mains(keys) == [second]
        assert [saved.key.id for saved in keys.all()] == [first, second]

    def test_a_new_key_starts_as_used_as_the_least_used_one(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.use(first, 5)
        keys.use(second, 3)

        (third,) = keys.add("three")

        assert keys.health(third) == KeyHealth(usage_count=3)

    def test_a_new_key_does_not_start_at_the_count_of_one_that_is_out_of_use(
        self, keys: Keys
    ) -> None:
        first, second, third = keys.add("one", "two", "three")
        keys.use(first, 5)
        keys.rest(second, 0, CooldownScope.KEY_DISABLED)
        keys.saved.enable(SERVER, third, False)

        (fourth,) = keys.add("four")

        assert keys.health(fourth) == KeyHealth(usage_count=5)

    def test_the_same_key_is_not_saved_twice_in_a_pool(self, keys: Keys) -> None:
        (first,) = keys.add(LONG)

        with pytest.raises(StoreError) as refusal:
            keys.add(LONG)

        assert str(refusal.value) == (
            f"this key is already saved for {SERVER} and {PROVIDER}, as key {first}:"
            " use that one, or remove it first"
        )
        assert [saved.key.id for saved in keys.all()] == [first]

    def test_the_same_key_is_known_by_an_older_master_secret(self, keys: Keys) -> None:
        keys.add(LONG)
        keys.vault.turn_over()

        with pytest.raises(StoreError, match="already saved"):
            keys.add(LONG)

    def test_other_pools_may_have_the_same_key(self, keys: Keys) -> None:
        keys.add(LONG)
        keys.add(LONG, provider="other")
        keys.add(LONG, owner=USER)

        assert len(keys.all()) == 3

    def test_keys_are_listed_by_owner_provider_and_number(self, keys: Keys) -> None:
        keys.add("one", owner=Owner.user("B"), provider="b")
        keys.add("two", owner=Owner.user("a"), provider="b")
        keys.add("three", "four", owner=Owner.user("a"), provider="A")
        keys.add("five", owner=Owner.server("z"), provider="a")

        listed = [(str(saved.owner), saved.provider, saved.key.id) for saved in keys.all()]

        assert listed == sorted(listed)
        assert len(listed) == 5

    def test_keys_are_listed_for_one_owner_and_provider(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        (third,) = keys.add("one", provider="other")
        keys.add("one", owner=USER)

        of_owner = keys.saved.keys(SERVER)
        of_pool = keys.saved.keys(SERVER, PROVIDER)
        of_provider = keys.saved.keys(provider="other")

        assert sorted(saved.key.id for saved in of_owner) == [first, second, third]
        assert [saved.key.id for saved in of_pool] == [first, second]
        assert [saved.key.id for saved in of_provider] == [third]

    def test_a_replaced_key_is_fit_again_and_keeps_its_place(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.use(first, 2)
        leases = [keys.lend() for _ in range(3)]
        for scope in (CooldownScope.KEY_FOR_MODEL, CooldownScope.KEY_DISABLED):
            keys.ring.book(leases.pop(), an_error(scope, 60))
        keys.ring.book(leases.pop(), a_limit())

        assert keys.saved.replace(SERVER, first, Secret("two"))

        health = keys.health(first)
        assert health == KeyHealth(usage_count=2, last_leased_at=health.last_leased_at)
        assert keys.lend().secret == Secret("two")
        assert mains(keys) == [first]

    def test_a_replaced_key_shows_its_new_secrets_last_characters(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.saved.replace(SERVER, first, Secret(LONG))

        (saved,) = keys.all()

        assert saved.hint == "6789"
        assert saved.fingerprint == keys.vault.fingerprint(Secret(LONG)).hex()

    def test_a_key_is_not_replaced_by_another_of_its_pool(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")

        with pytest.raises(StoreError, match=f"already saved .* as key {second}"):
            keys.saved.replace(SERVER, first, Secret("two"))

    def test_a_key_may_be_replaced_by_itself(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60)

        assert keys.saved.replace(SERVER, first, Secret("one"))
        assert keys.lend().key_id == first

    def test_enabling_a_key_that_was_refused_gives_it_another_chance(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 0, CooldownScope.KEY_DISABLED)
        keys.saved.enable(SERVER, first, False)
        assert keys.health(first).disabled

        assert keys.saved.enable(SERVER, first, True)

        assert not keys.health(first).disabled
        assert keys.lend().key_id == first

    def test_enabling_does_not_shorten_a_rest(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 60)

        keys.saved.enable(SERVER, first, True)

        assert keys.refuse().next_in_s == pytest.approx(60, abs=5)

    def test_a_switched_off_key_is_listed_as_such(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")

        assert keys.saved.enable(SERVER, second, False)

        assert [saved.key.enabled for saved in keys.all()] == [True, False]
        assert mains(keys) == [first]

    def test_a_removed_key_is_gone(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")

        assert keys.saved.remove(SERVER, second)
        assert [saved.key.id for saved in keys.all()] == [first]
        assert not keys.saved.remove(SERVER, second)

    def test_a_removed_key_may_be_added_again_under_a_new_number(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.saved.remove(SERVER, first)

        (again,) = keys.add("one")

        assert again > first
        assert mains(keys) == [again]

    def test_the_oldest_rotating_key_takes_the_place_of_a_removed_main_one(
        self, keys: Keys
    ) -> None:
        first, second, third, _ = keys.add("one", "two", "three", "four")
        keys.saved.enable(SERVER, second, False)

        keys.saved.remove(SERVER, first)

        assert mains(keys) == [third]

    def test_a_key_that_is_switched_off_does_not_become_the_main_one(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        keys.saved.enable(SERVER, second, False)

        keys.saved.remove(SERVER, first)

        assert mains(keys) == []
        assert keys.add("three") == mains(keys)

    def test_nobody_changes_the_keys_of_others(self, keys: Keys) -> None:
        (first,) = keys.add("one")

        assert not keys.saved.replace(USER, first, Secret("two"))
        assert not keys.saved.enable(USER, first, False)
        assert not keys.saved.remove(USER, first)
        assert keys.lend().secret == Secret("one")

    def test_of_equal_keys_added_at_once_one_is_saved(self, keys: Keys) -> None:
        def add(_: int) -> bool:
            try:
                keys.add(LONG)
            except StoreError:
                return False
            return True

        assert sorted(at_once(8, add)) == [False] * 7 + [True]
        assert len(keys.all()) == 1

    def test_of_keys_added_at_once_one_is_the_main_one(self, keys: Keys) -> None:
        at_once(8, lambda n: keys.add(f"key {n}"))

        assert len(keys.all()) == 8
        assert len(mains(keys)) == 1

    def test_keys_may_be_changed_while_they_are_lent_and_booked(self, keys: Keys) -> None:
        added = keys.add(*map(str, range(4)))

        def work(number: int) -> None:
            for turn in range(10):
                if number < 2:
                    keys.saved.replace(SERVER, added[number], Secret(f"{number} {turn}"))
                    keys.saved.enable(SERVER, added[number + 1], turn % 2 == 0)
                else:
                    keys.ring.book(keys.lend(), an_error(CooldownScope.NOTHING))

        at_once(8, work)

        assert sum(keys.health(key_id).in_flight for key_id in added) == 0
