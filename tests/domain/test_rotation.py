from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from builders import NOON

from turnkeeper.domain.rotation import (
    Chosen,
    KeyHealth,
    KeyId,
    ModelRest,
    NothingFree,
    RotationKey,
    RotationPool,
    lent,
)

MODEL = "alpha"
FRESH = KeyHealth()


def at(offset_s: float) -> datetime:
    return NOON + timedelta(seconds=offset_s)


def a_key(
    number: int,
    health: KeyHealth = FRESH,
    *,
    used: int = 0,
    is_main: bool = False,
    enabled: bool = True,
) -> RotationKey:
    health = replace(health, usage_count=used or health.usage_count)
    return RotationKey(id=KeyId(number), is_main=is_main, enabled=enabled, health=health)


def busy(in_flight: int, *, since_s: float = 1.0) -> KeyHealth:
    return KeyHealth(in_flight=in_flight, last_leased_at=at(-since_s))


def resting(until_s: float) -> KeyHealth:
    return KeyHealth(rests_until=at(until_s), rest_set_at=at(-100))


def limited(until_s: float, model: str = "beta") -> KeyHealth:
    return replace(resting(until_s), rest_model=model)


def choose(*keys: RotationKey, without: tuple[int, ...] = ()) -> Chosen | NothingFree:
    excluded = frozenset(KeyId(number) for number in without)
    return RotationPool(keys=keys).choose(model=MODEL, without=excluded, now=NOON)


def chosen(*keys: RotationKey, without: tuple[int, ...] = ()) -> int:
    answer = choose(*keys, without=without)
    assert isinstance(answer, Chosen)
    return answer.key.id


def test_equal_keys_are_chosen_by_their_number() -> None:
    assert chosen(a_key(2), a_key(1)) == 1


def test_the_least_used_key_is_chosen() -> None:
    assert chosen(a_key(1, used=3), a_key(2, used=2)) == 2


def test_leases_under_way_weigh_more_than_past_use() -> None:
    assert chosen(a_key(1, busy(1)), a_key(2, used=99)) == 2


def test_leases_that_must_be_over_weigh_nothing() -> None:
    assert chosen(a_key(1, busy(5, since_s=901)), a_key(2, used=1)) == 1


def test_a_due_probe_goes_before_all_others() -> None:
    key = a_key(2, resting(-1), used=99)

    assert choose(a_key(1), key) == Chosen(key=key, is_probe=True)


def test_a_key_whose_rest_ends_just_now_is_due() -> None:
    key = a_key(1, resting(0))

    assert choose(key) == Chosen(key=key, is_probe=True)


def test_a_key_that_is_being_probed_is_left_alone() -> None:
    probed = replace(resting(-1), probe_until=at(10))

    assert choose(a_key(1, probed)) == NothingFree(next_at=at(10))
    assert chosen(a_key(1, probed), a_key(2, used=9)) == 2


def test_a_probe_that_took_too_long_is_made_again() -> None:
    key = a_key(1, replace(resting(-20), probe_until=at(-1)))

    assert choose(key) == Chosen(key=key, is_probe=True)


def test_resting_keys_say_when_the_first_is_back() -> None:
    assert choose(a_key(1, resting(60)), a_key(2, resting(20))) == NothingFree(next_at=at(20))


def test_a_key_rests_until_its_last_rest_is_over() -> None:
    health = replace(resting(20), model_rests=(ModelRest(model=MODEL, until=at(60)),))

    assert choose(a_key(1, health)) == NothingFree(next_at=at(60))


def test_a_rest_for_another_model_does_not_matter() -> None:
    health = KeyHealth(model_rests=(ModelRest(model="beta", until=at(60)),))

    assert chosen(a_key(1, health)) == 1


def test_a_disabled_key_never_comes_back() -> None:
    assert choose(a_key(1, KeyHealth(disabled=True))) == NothingFree(next_at=None)


def test_without_keys_nothing_is_free() -> None:
    assert choose() == NothingFree(next_at=None)


def test_excluded_keys_are_not_chosen() -> None:
    assert chosen(a_key(1), a_key(2), without=(1,)) == 2
    assert choose(a_key(1), without=(1,)) == NothingFree(next_at=None)


def test_an_excluded_key_that_rests_is_waited_for() -> None:
    assert choose(a_key(1, resting(20)), without=(1,)) == NothingFree(next_at=at(20))


def test_a_key_out_of_rotation_is_not_chosen() -> None:
    assert choose(a_key(1, enabled=False)) == NothingFree(next_at=None)


def test_the_main_key_out_of_rotation_is_the_last_resort() -> None:
    main = a_key(1, is_main=True, enabled=False)

    assert chosen(main, a_key(2, used=99)) == 2
    assert chosen(main, a_key(2, resting(60))) == 1


def test_the_main_key_serves_a_model_while_it_rests_for_another() -> None:
    key = a_key(1, limited(60), is_main=True)

    assert choose(key) == Chosen(key=key, is_probe=False)


def test_a_key_out_of_rotation_serves_so_too_if_it_is_the_main_one() -> None:
    assert chosen(a_key(1, limited(60), is_main=True, enabled=False), a_key(2, resting(60))) == 1


def test_any_free_key_goes_before_one_that_rests_for_another_model() -> None:
    main = a_key(1, limited(60), is_main=True)

    assert chosen(main, a_key(2, busy(9), used=99)) == 2


def test_a_key_that_is_not_the_main_one_rests_for_all_models() -> None:
    keys = (a_key(1, resting(60), is_main=True), a_key(2, limited(20)))

    assert choose(*keys) == NothingFree(next_at=at(20))


@pytest.mark.parametrize(
    "health",
    [
        pytest.param(resting(60), id="of all models"),
        pytest.param(limited(60, MODEL), id="of this model"),
        pytest.param(
            replace(limited(60), model_rests=(ModelRest(model=MODEL, until=at(20)),)),
            id="of another model, while the key may not be used for this one",
        ),
    ],
)
def test_the_main_key_does_not_serve_in_a_rest(health: KeyHealth) -> None:
    assert choose(a_key(1, health, is_main=True)) == NothingFree(next_at=at(60))


def test_a_disabled_main_key_serves_no_other_model() -> None:
    health = replace(limited(60), disabled=True)

    assert choose(a_key(1, health, is_main=True)) == NothingFree(next_at=None)


def test_a_main_key_that_was_tried_serves_no_other_model() -> None:
    key = a_key(1, limited(60), is_main=True)

    assert choose(key, without=(1,)) == NothingFree(next_at=at(60))


@pytest.mark.parametrize("probe_until", [None, at(10)])
def test_a_rest_of_another_model_leaves_nothing_to_probe(probe_until: datetime | None) -> None:
    key = a_key(2, replace(limited(-1), probe_until=probe_until), used=9)

    assert choose(key) == Chosen(key=key, is_probe=False)
    assert chosen(key, a_key(1, used=8)) == 1


def test_the_limited_model_probes_its_key() -> None:
    key = a_key(1, limited(-1, MODEL))

    assert choose(key) == Chosen(key=key, is_probe=True)


def test_lending_counts_and_stamps() -> None:
    assert lent(FRESH, now=NOON, is_probe=False) == KeyHealth(in_flight=1, last_leased_at=NOON)


def test_lending_a_probe_claims_it_for_a_while() -> None:
    claimed = lent(resting(-1), now=NOON, is_probe=True)

    assert claimed == replace(resting(-1), in_flight=1, last_leased_at=NOON, probe_until=at(15))


def test_lending_forgets_leases_that_must_be_over() -> None:
    assert lent(busy(5, since_s=901), now=NOON, is_probe=False).in_flight == 1
