import pytest
from contracts.stores import Stores
from contracts.user_traces import UserTracesContract
from stores_in_memory import stores_in_memory


class TestMemoryUserTraces(UserTracesContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()
