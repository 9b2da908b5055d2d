import pytest

from turnkeeper.domain.model import Capabilities, Limits
from turnkeeper.domain.model_facts import ModelFacts, first_known


def test_what_is_said_takes_the_place_of_what_was_stored() -> None:
    stored = Capabilities(tools=True, images=False, videos=True, reasoning=True)
    facts = ModelFacts(images=True, videos=False, tools=False)

    assert facts.corrected(stored) == Capabilities(
        tools=False, images=True, videos=False, reasoning=True
    )


def test_what_is_not_said_stays_as_it_was_stored() -> None:
    stored = Capabilities(tools=False, images=True, videos=True)

    assert ModelFacts().corrected(stored) == stored


@pytest.mark.parametrize(
    ("sources", "known"),
    [
        ((), Limits()),
        ((None, None), Limits()),
        ((Limits(window_tokens=1), Limits(window_tokens=2)), Limits(window_tokens=1)),
        (
            (Limits(window_tokens=1), None, Limits(window_tokens=2, max_output_tokens=3)),
            Limits(window_tokens=1, max_output_tokens=3),
        ),
        ((Limits(window_tokens=0), Limits(window_tokens=2)), Limits(window_tokens=2)),
    ],
)
def test_each_limit_is_that_of_the_first_who_knows_it(
    sources: tuple[Limits | None, ...], known: Limits
) -> None:
    assert first_known(*sources) == known
