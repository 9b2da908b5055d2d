"""What models are known to refuse."""

import pytest

from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.infrastructure.providers.refused_parameters import (
    MOST_MODELS,
    MOST_REFUSALS,
    Refusal,
    RefusedParameters,
    refusal_in,
)

HERE = "https://here/v1"
TOP_K: Refusal = ("top_k", None)


def test_a_refusal_is_known_of_its_model_at_its_address() -> None:
    refused = RefusedParameters()

    refused.learn(HERE, "m", TOP_K)

    assert refused.of(HERE, "m") == {TOP_K}
    assert refused.of(HERE, "n") == refused.of("https://there/v1", "m") == frozenset()


def test_of_very_many_models_the_first_are_forgotten() -> None:
    refused = RefusedParameters()

    for number in range(MOST_MODELS + 1):
        refused.learn(HERE, f"m{number}", TOP_K)

    assert refused.of(HERE, "m0") == frozenset()
    assert refused.of(HERE, f"m{MOST_MODELS}") == {TOP_K}


def test_a_model_that_refuses_ever_more_is_not_remembered_without_end() -> None:
    refused = RefusedParameters()

    for number in range(MOST_REFUSALS + 5):
        refused.learn(HERE, "m", ("temperature", str(number)))

    assert len(refused.of(HERE, "m")) == MOST_REFUSALS


@pytest.mark.parametrize(
    ("message", "parameter", "refusal"),
    [
        ("Unsupported parameter: 'top_k' is not supported", "top_k", ("top_k", None)),
        ("property 'top_k' is unsupported", "top_k", ("top_k", None)),
        ("Unrecognized request argument supplied: top_k", "top_k", ("top_k", None)),
        ("top_k: Extra inputs are not permitted", "top_k", ("top_k", None)),
        ("Argument not supported on this model: topK", "top_k", ("top_k", None)),
        ("Invalid 'top_k': must be positive", "top_k", ("top_k", "3")),
        ("Unsupported value: 'top_k' does not support 3", "top_k", ("top_k", "3")),
        ("bad", "top_k.inner[0]", ("top_k", "3")),
        ("bad", "messages[0].role", None),
        ("bad", None, None),
    ],
)
def test_a_refusal_is_of_the_parameter_or_of_its_value(
    message: str, parameter: str | None, refusal: Refusal | None
) -> None:
    failure = Failure(kind=FailureKind.BAD_REQUEST, message=message, parameter=parameter)

    assert refusal_in(failure, {"top_k": 3}) == refusal
