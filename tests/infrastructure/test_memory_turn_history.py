import pytest
from contracts.stores import Stores
from contracts.turn_history import TurnHistoryContract
from stores_in_memory import stores_in_memory


class TestMemoryTurnHistory(TurnHistoryContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()
