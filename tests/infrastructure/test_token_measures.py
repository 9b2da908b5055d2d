"""Token measures in memory and in Postgres."""

import pytest
from contracts.token_measures import TokenMeasuresContract
from sqlalchemy import Engine

from turnkeeper.application.ports.token_measures import TokenMeasure, TokenMeasures
from turnkeeper.infrastructure.memory.token_measures import MemoryTokenMeasures
from turnkeeper.infrastructure.postgres.token_measures import PostgresTokenMeasures


class TestMemoryTokenMeasures(TokenMeasuresContract):
    @pytest.fixture
    def measures(self) -> TokenMeasures:
        return MemoryTokenMeasures()


@pytest.mark.postgres
class TestPostgresTokenMeasures(TokenMeasuresContract):
    @pytest.fixture
    def measures(self, database: Engine) -> TokenMeasures:
        return PostgresTokenMeasures(database)


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_a_factor_is_more_than_nothing(factor: float) -> None:
    with pytest.raises(ValueError, match="factor"):
        TokenMeasure(provider="wall", model="alpha", factor=factor)
