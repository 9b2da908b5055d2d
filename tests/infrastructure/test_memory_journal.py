import pytest
from contracts.journal import JournalContract
from contracts.stores import Stores
from stores_in_memory import stores_in_memory


class TestMemoryJournal(JournalContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()
