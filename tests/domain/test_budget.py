from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.budget import (
    is_eaten,
    output_tokens,
    prompt_tokens,
    raised_output_tokens,
    within_window,
)
from turnkeeper.domain.model import Limits, Model, Sampling


def of(provider: str, window: int | None = None, ceiling: int | None = None) -> Model:
    return Model(
        id="m",
        provider=provider,
        name="m",
        limits=Limits(window_tokens=window, max_output_tokens=ceiling),
    )


def override(tokens: int | None) -> Sampling:
    return Sampling(max_output_tokens=tokens)


@pytest.mark.parametrize(
    ("provider", "wanted"),
    [
        ("openrouter", 8192),
        ("google", 8192),
        ("anthropic", 8192),
        ("groq", 4096),
        ("custom", 4096),
        ("novelai", 2048),
    ],
)
def test_nobody_having_said_anything_each_provider_has_its_own(provider: str, wanted: int) -> None:
    assert output_tokens(of(provider), Sampling(), None) == wanted


def test_novelais_is_its_models_ceiling() -> None:
    assert output_tokens(of("novelai", ceiling=2048), Sampling(), None) == 2048


@pytest.mark.parametrize("asked", [Sampling(), override(1000)])
@pytest.mark.parametrize(("ceiling", "most"), [(None, 150), (140, 140)])
def test_no_story_is_longer_than_its_model_tells_at_once(
    asked: Sampling, ceiling: int | None, most: int
) -> None:
    kayra = replace(of("novelai", ceiling=ceiling), name="kayra-v1")

    assert output_tokens(kayra, asked, None) == most


def test_the_owners_override_wins_over_the_cap() -> None:
    assert output_tokens(of("google"), override(700), 9000) == 700


def test_a_cap_that_was_set_wins_over_the_fallback() -> None:
    assert output_tokens(of("google", window=20_000), Sampling(), 9000) == 9000


@pytest.mark.parametrize("nothing", [0, -5])
def test_what_is_no_number_of_tokens_is_not_set(nothing: int) -> None:
    assert output_tokens(of("google"), override(nothing), nothing) == 8192


def test_a_fallback_takes_at_most_a_quarter_of_a_known_window() -> None:
    assert output_tokens(of("google", window=8000), Sampling(), None) == 2000


@pytest.mark.parametrize("asked", [Sampling(), override(9000)])
def test_the_models_ceiling_is_the_most(asked: Sampling) -> None:
    assert output_tokens(of("google", ceiling=1000), asked, 5000) == 1000


@pytest.mark.parametrize(("window", "wanted"), [(20_000, 18_976), (1_000, 500), (1, 1)])
def test_an_override_leaves_the_prompt_some_room(window: int, wanted: int) -> None:
    assert output_tokens(of("google", window=window), override(50_000), None) == wanted


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_an_answer_is_at_least_one_token_and_no_more_than_the_window(
    tokens: int, window: int
) -> None:
    assert 1 <= within_window(tokens, window) <= max(1, window)


def test_the_prompt_has_nine_tenths_of_the_rest() -> None:
    assert prompt_tokens(1000, 100) == 810


def test_raised_is_doubled() -> None:
    assert raised_output_tokens(of("google"), Sampling(), 1000) == 2000


def test_raised_is_at_most_the_ceiling() -> None:
    assert raised_output_tokens(of("google", ceiling=1500), Sampling(), 1000) == 1500


def test_what_its_owner_has_said_is_not_raised() -> None:
    assert raised_output_tokens(of("google"), override(1000), 1000) == 1000


@pytest.mark.parametrize(
    ("reasoning", "eaten"), [(None, False), (799, False), (800, True), (1000, True)]
)
def test_reasoning_that_used_most_of_the_output_has_eaten_it(
    reasoning: int | None, eaten: bool
) -> None:
    assert is_eaten(reasoning, 1000) is eaten
