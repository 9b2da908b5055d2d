import pytest
from contracts.old_turns import OldTurnsContract
from contracts.stores import Stores
from stores_in_memory import stores_in_memory


class TestMemoryOldTurns(OldTurnsContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()
