import pytest
from contracts.signals import SignalsContract
from contracts.stores import Stores
from stores_in_memory import stores_in_memory


class TestMemorySignals(SignalsContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()
