from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from builders import NOON, a_failure, a_lease
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.failure import CooldownScope, FailureKind, KeyErrorClass
from turnkeeper.domain.rotation import (
    ERROR_TEXT_LIMIT,
    BookError,
    Booking,
    BookNeutral,
    BookSuccess,
    KeyHealth,
    ModelRest,
    booked,
    booking_of,
    lent,
)

MODEL = "alpha"
FRESH = KeyHealth()


def at(offset_s: float) -> datetime:
    return NOON + timedelta(seconds=offset_s)


def book(
    health: KeyHealth,
    booking: Booking,
    *,
    leased_at: datetime = NOON,
    keeps_lease: bool = False,
    is_probe: bool = True,
) -> KeyHealth:
    lease = replace(a_lease(leased_at=leased_at), is_probe=is_probe)
    return booked(health, booking, lease, now=NOON, keeps_lease=keeps_lease)


def an_error(scope: CooldownScope, rest_s: float = 60.0) -> BookError:
    return BookError(
        booked_as=KeyErrorClass.API_ERROR, text="no", scope=scope, rest_s=rest_s, model=MODEL
    )


def a_limit(model: str = MODEL, rest_s: float = 60.0) -> BookError:
    return BookError(
        booked_as=KeyErrorClass.RATE_LIMIT,
        text="slow down",
        scope=CooldownScope.KEY,
        rest_s=rest_s,
        model=model,
        spares_other_models=True,
    )


FAILED_BEFORE = KeyHealth(
    in_flight=2,
    error_count=3,
    rests_until=at(-10),
    rest_set_at=at(-70),
    probe_until=at(5),
    last_error=(KeyErrorClass.RATE_LIMIT, "earlier"),
)
NOTED = KeyHealth(
    in_flight=1,
    error_count=4,
    rests_until=at(-10),
    rest_set_at=at(-70),
    last_error=(KeyErrorClass.API_ERROR, "no"),
)


def test_a_success_counts_and_clears_what_was_before_its_lease() -> None:
    assert book(FAILED_BEFORE, BookSuccess(), leased_at=at(-5)) == KeyHealth(
        usage_count=1, in_flight=1
    )


def test_a_success_keeps_a_rest_that_was_set_after_its_lease() -> None:
    assert book(FAILED_BEFORE, BookSuccess(), leased_at=at(-80)) == replace(
        FAILED_BEFORE, usage_count=1, in_flight=1, error_count=0, probe_until=None
    )


LIMITED = replace(FAILED_BEFORE, rest_model=MODEL)


@pytest.mark.parametrize("rests_until", [at(-10), at(10)], ids=["over", "running"])
def test_a_success_of_another_model_does_not_end_a_rest(rests_until: datetime) -> None:
    limited = replace(LIMITED, rests_until=rests_until)

    assert book(limited, BookSuccess(model="beta"), is_probe=False) == replace(
        limited, usage_count=1, in_flight=1, error_count=0
    )


def test_a_success_of_the_limited_model_ends_its_rest() -> None:
    assert book(LIMITED, BookSuccess(model=MODEL)) == KeyHealth(usage_count=1, in_flight=1)


def test_a_success_of_any_model_ends_a_rest_of_all() -> None:
    assert book(FAILED_BEFORE, BookSuccess(model="beta")) == KeyHealth(usage_count=1, in_flight=1)


def test_a_success_keeps_a_newer_rest_of_its_own_model() -> None:
    kept = book(LIMITED, BookSuccess(model=MODEL), leased_at=at(-80))

    assert (kept.rests_until, kept.rest_model) == (LIMITED.rests_until, MODEL)


RESTS = {
    "none": FRESH,
    "over": replace(FRESH, rests_until=at(-1), rest_set_at=at(-9), rest_model="beta"),
    "of all": replace(FRESH, rests_until=at(30), rest_set_at=at(-9)),
    "of beta": replace(FRESH, rests_until=at(30), rest_set_at=at(-9), rest_model="beta"),
    "of alpha": replace(FRESH, rests_until=at(30), rest_set_at=at(-9), rest_model=MODEL),
}


@pytest.mark.parametrize(
    ("rest", "rest_model"),
    [("none", MODEL), ("over", MODEL), ("of all", None), ("of beta", None), ("of alpha", MODEL)],
)
def test_a_rate_limit_is_the_models_own_unless_the_key_rests_for_others(
    rest: str, rest_model: str | None
) -> None:
    health = book(RESTS[rest], a_limit())

    assert (health.rests_until, health.rest_model) == (at(60), rest_model)


@pytest.mark.parametrize("rest", RESTS)
def test_any_other_rest_of_a_key_is_one_of_all_models(rest: str) -> None:
    health = book(RESTS[rest], an_error(CooldownScope.KEY))

    assert (health.rests_until, health.rest_model) == (at(60), None)


def test_a_shorter_limit_of_another_model_makes_the_longer_rest_one_of_both() -> None:
    health = book(RESTS["of beta"], a_limit(rest_s=5.0))

    assert (health.rests_until, health.rest_model) == (at(30), None)


def test_a_neutral_outcome_only_ends_the_lease_and_the_probe() -> None:
    assert book(FAILED_BEFORE, BookNeutral()) == replace(
        FAILED_BEFORE, in_flight=1, probe_until=None
    )


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (CooldownScope.NOTHING, NOTED),
        (CooldownScope.MODEL, NOTED),
        (CooldownScope.KEY, replace(NOTED, rests_until=at(60), rest_set_at=NOON)),
        (
            CooldownScope.KEY_FOR_MODEL,
            replace(NOTED, model_rests=(ModelRest(model=MODEL, until=at(60)),)),
        ),
        (CooldownScope.KEY_DISABLED, replace(NOTED, disabled=True)),
    ],
)
def test_an_error_rests_what_it_concerns(scope: CooldownScope, expected: KeyHealth) -> None:
    assert book(FAILED_BEFORE, an_error(scope)) == expected


def test_a_lease_that_is_kept_stays_in_flight() -> None:
    assert (
        book(KeyHealth(in_flight=1), an_error(CooldownScope.NOTHING), keeps_lease=True).in_flight
        == 1
    )


@given(rests_s=st.lists(st.floats(0, 1e6), min_size=1, max_size=4))
def test_rests_only_ever_move_later(rests_s: list[float]) -> None:
    health = FRESH
    for rest_s in rests_s:
        health = book(health, an_error(CooldownScope.KEY, rest_s))
        health = book(health, an_error(CooldownScope.KEY_FOR_MODEL, rest_s))

    assert health.rests_until == at(max(rests_s))
    assert health.model_rests == (ModelRest(model=MODEL, until=at(max(rests_s))),)


@given(steps=st.lists(st.sampled_from(["lend", "success", "neutral", "error"]), max_size=20))
def test_leases_in_flight_are_never_less_than_none(steps: list[str]) -> None:
    bookings: dict[str, Booking] = {
        "success": BookSuccess(),
        "neutral": BookNeutral(),
        "error": an_error(CooldownScope.NOTHING),
    }
    health = FRESH
    for step in steps:
        if step == "lend":
            health = lent(health, now=NOON, is_probe=False)
        else:
            health = book(health, bookings[step])

    assert health.in_flight >= 0


def test_a_failure_rests_its_key_as_long_as_was_asked_for() -> None:
    failure = a_failure(FailureKind.RATE_LIMIT, message="slow down", retry_after_s=7.0)

    assert booking_of(failure, model=MODEL, cools=True) == BookError(
        booked_as=KeyErrorClass.RATE_LIMIT,
        text="slow down",
        scope=CooldownScope.KEY,
        rest_s=7.0,
        model=MODEL,
        spares_other_models=True,
    )


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind.name != "RATE_LIMIT"])
def test_only_a_rate_limit_spares_other_models(kind: FailureKind) -> None:
    assert not booking_of(a_failure(kind), model=MODEL, cools=True).spares_other_models


def test_a_failure_before_another_try_with_the_same_key_does_not_rest_it() -> None:
    failure = a_failure(FailureKind.RATE_LIMIT, message="slow down", retry_after_s=7.0)

    assert booking_of(failure, model=MODEL, cools=False) == BookError(
        booked_as=KeyErrorClass.RATE_LIMIT, text="slow down", model=MODEL
    )


def test_a_failure_of_the_model_does_not_rest_the_key() -> None:
    booking = booking_of(a_failure(FailureKind.OVERLOADED), model=MODEL, cools=True)

    assert (booking.scope, booking.rest_s) == (CooldownScope.NOTHING, 0.0)


def test_a_long_error_text_is_cut() -> None:
    failure = a_failure(FailureKind.NETWORK, message="x" * 1000)

    assert len(booking_of(failure, model=MODEL, cools=True).text) == ERROR_TEXT_LIMIT


@pytest.mark.parametrize(
    "booking", [BookNeutral(), an_error(CooldownScope.NOTHING)], ids=["neutral", "error"]
)
def test_only_the_probe_ends_its_own_claim(booking: Booking) -> None:
    claimed = KeyHealth(rests_until=at(-1), rest_set_at=at(-60), probe_until=at(10))

    assert book(claimed, booking, is_probe=False).probe_until == at(10)
    assert book(claimed, booking, is_probe=True).probe_until is None
