import pytest
from contracts.ledger import LedgerContract
from contracts.stores import Stores
from stores_in_memory import stores_in_memory


class TestMemoryLedger(LedgerContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()
