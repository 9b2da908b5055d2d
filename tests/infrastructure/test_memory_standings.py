import pytest
from contracts.standings import StandingsContract
from contracts.stores import Stores
from stores_in_memory import stores_in_memory


class TestMemoryStandings(StandingsContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()
