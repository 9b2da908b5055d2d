from dataclasses import replace
from datetime import timedelta

import pytest
from builders import NOON

from turnkeeper.domain.key_condition import KeyCondition, KeyState, condition_of
from turnkeeper.domain.rotation import KeyHealth, KeyId, ModelRest, RotationKey

LATER, EARLIER = NOON + timedelta(seconds=60), NOON - timedelta(seconds=60)
KEY = RotationKey(id=KeyId(1))


def condition(health: KeyHealth = KeyHealth(), model: str = "") -> KeyCondition:
    return condition_of(replace(KEY, health=health), NOON, model=model)


@pytest.mark.parametrize(
    ("health", "state"),
    [
        (KeyHealth(), KeyState.FREE),
        (KeyHealth(disabled=True), KeyState.REFUSED),
        (KeyHealth(rests_until=EARLIER), KeyState.PROBE_DUE),
        (KeyHealth(rests_until=EARLIER, probe_until=EARLIER), KeyState.PROBE_DUE),
        (KeyHealth(rests_until=EARLIER, rest_model="beta"), KeyState.FREE),
    ],
)
def test_a_word_for_each_state(health: KeyHealth, state: KeyState) -> None:
    assert condition(health, "alpha") == KeyCondition(state=state)


def test_a_rest_has_an_end() -> None:
    resting = KeyCondition(state=KeyState.RESTING, until=LATER)

    assert condition(KeyHealth(rests_until=LATER)) == resting
    assert condition(KeyHealth(rests_until=LATER, rest_model="alpha"), "alpha") == resting


def test_a_probe_under_way_keeps_others_away_until_its_claim_ends() -> None:
    health = KeyHealth(rests_until=EARLIER, probe_until=LATER)

    assert condition(health) == KeyCondition(state=KeyState.PROBED, until=LATER)


def test_a_rest_for_one_model_counts_for_that_model() -> None:
    health = KeyHealth(model_rests=(ModelRest(model="alpha", until=LATER),))

    assert condition(health, "alpha") == KeyCondition(state=KeyState.RESTING, until=LATER)
    assert condition(health, "beta") == KeyCondition(state=KeyState.FREE)


def test_a_key_that_is_off_is_off_unless_it_is_the_last_resort() -> None:
    off = replace(KEY, enabled=False)

    assert condition_of(off, NOON).state is KeyState.OFF
    assert condition_of(replace(off, is_main=True), NOON).state is KeyState.FREE


def test_a_key_that_does_not_open_is_nothing_else() -> None:
    refused = replace(KEY, health=KeyHealth(disabled=True))

    assert condition_of(refused, NOON, opens=False).state is KeyState.SHUT
