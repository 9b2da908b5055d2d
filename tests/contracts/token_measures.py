"""What every store of token measures does. Subclass as Test… and give `measures`."""

import pytest

from turnkeeper.application.ports.token_measures import TokenMeasure, TokenMeasures

ALPHA = TokenMeasure(provider="wall", model="alpha", factor=1.25)
BETA = TokenMeasure(provider="wall", model="beta", factor=0.75)


class TokenMeasuresContract:
    @pytest.fixture
    def measures(self) -> TokenMeasures:
        raise NotImplementedError

    def test_there_are_none_at_first(self, measures: TokenMeasures) -> None:
        assert measures.load() == ()

    def test_what_is_saved_is_loaded_by_provider_and_model(self, measures: TokenMeasures) -> None:
        measures.save((BETA, ALPHA))

        assert measures.load() == (ALPHA, BETA)

    def test_a_later_measure_takes_the_place_of_an_earlier_one(
        self, measures: TokenMeasures
    ) -> None:
        measures.save((ALPHA, BETA))
        later = TokenMeasure(provider="wall", model="alpha", factor=2.0)

        measures.save((later,))

        assert measures.load() == (later, BETA)

    def test_saving_nothing_changes_nothing(self, measures: TokenMeasures) -> None:
        measures.save((ALPHA,))

        measures.save(())

        assert measures.load() == (ALPHA,)
