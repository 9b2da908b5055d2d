import pytest
from contracts.reports import ReportsContract
from contracts.stores import Stores
from stores_in_memory import stores_in_memory


class TestMemoryReports(ReportsContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()
