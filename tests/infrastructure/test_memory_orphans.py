import pytest
from contracts.orphans import OrphansContract
from contracts.stores import Stores
from stores_in_memory import stores_in_memory


class TestMemoryOrphans(OrphansContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()
