"""What every ring books on its keys."""

from dataclasses import replace

import pytest
from builders import SERVER
from contracts.keys import MODEL, OTHER_MODEL, Keys, an_error

from turnkeeper.domain.failure import CooldownScope, KeyErrorClass
from turnkeeper.domain.rotation import BookError, BookNeutral, BookSuccess, KeyHealth
from turnkeeper.domain.secret import Secret


class KeyBookingsContract:
    """Subclass as Test… and give a `keys` fixture."""

    @pytest.fixture
    def keys(self) -> Keys:
        raise NotImplementedError

    def test_a_success_counts_and_forgets_earlier_errors(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.rest(first, 0, CooldownScope.NOTHING)
        lease = keys.lend()

        keys.ring.book(lease, BookSuccess())

        assert keys.health(first) == KeyHealth(usage_count=1, last_leased_at=lease.leased_at)

    def test_a_success_keeps_a_rest_that_was_set_after_its_lease(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        early = keys.lend()
        keys.pass_time(1)
        keys.rest(first, 60)

        keys.ring.book(early, BookSuccess())

        assert keys.refuse().next_in_s == pytest.approx(60, abs=5)
        assert keys.health(first).usage_count == 1
        assert keys.health(first).last_error == (KeyErrorClass.RATE_LIMIT, "slow down")

    def test_a_success_of_another_model_does_not_end_the_rest(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.limit(first)
        before = keys.health(first)
        lease = keys.lend(model=OTHER_MODEL)

        keys.ring.book(lease, BookSuccess(model=OTHER_MODEL))

        assert keys.health(first) == replace(
            before, usage_count=1, error_count=0, last_leased_at=lease.leased_at
        )
        assert keys.refuse().next_in_s == pytest.approx(60, abs=5)

    def test_a_success_of_the_limited_model_ends_its_rest(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        keys.limit(first)
        keys.pass_time(61)
        probe = keys.lend()

        keys.ring.book(probe, BookSuccess(model=MODEL))

        assert keys.health(first) == KeyHealth(usage_count=1, last_leased_at=probe.leased_at)

    def test_a_lease_that_is_used_again_stays_in_flight(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        lease = keys.lend()

        keys.ring.book(lease, an_error(CooldownScope.NOTHING), keeps_lease=True)
        assert keys.health(first).in_flight == 1
        keys.ring.book(lease, BookSuccess())
        assert keys.health(first).in_flight == 0

    def test_more_bookings_than_leases_count_as_none_in_flight(self, keys: Keys) -> None:
        (first,) = keys.add("one")
        lease = keys.lend()
        for _ in range(3):
            keys.ring.book(lease, BookNeutral())

        assert keys.health(first).in_flight == 0

    def test_what_is_booked_on_a_removed_key_is_lost(self, keys: Keys) -> None:
        first, second = keys.add("one", "two")
        lease = keys.lend()
        keys.saved.remove(SERVER, first)

        keys.ring.book(lease, BookSuccess())

        assert keys.health(second) == KeyHealth()

    def test_the_text_of_an_error_may_hold_any_characters(self, keys: Keys) -> None:
        (first,) = keys.add("one")

        keys.ring.book(keys.lend(), an_error(text="half \udc80 and NUL \0 and '%s"))

        error = keys.health(first).last_error
        assert error is not None
        assert error[1].startswith("half ")
        assert error[1].endswith(" and '%s")

    @pytest.mark.parametrize(
        "booking", [BookSuccess(), an_error(CooldownScope.KEY_DISABLED), an_error()]
    )
    def test_what_the_old_secret_did_is_not_held_against_the_new_one(
        self, keys: Keys, booking: BookSuccess | BookError
    ) -> None:
        (first,) = keys.add("one")
        lease = keys.lend()
        keys.pass_time(1)
        keys.saved.replace(SERVER, first, Secret("two"))

        keys.ring.book(lease, booking)

        health = keys.health(first)
        assert health == KeyHealth(last_leased_at=health.last_leased_at)
