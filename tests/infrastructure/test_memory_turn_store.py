import pytest
from contracts.admission import AdmissionContract
from contracts.stores import Stores
from contracts.turn_crowds import TurnCrowdsContract
from contracts.turn_store import TurnStoreContract
from stores_in_memory import stores_in_memory


class InMemory:
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()


class TestMemoryTurnStore(InMemory, TurnStoreContract):
    pass


class TestMemoryAdmission(InMemory, AdmissionContract):
    pass


class TestMemoryTurnCrowds(InMemory, TurnCrowdsContract):
    pass
