import gc

import pytest
from contracts.admission import AdmissionContract
from contracts.journal import an_entry
from contracts.stores import Stores, an_intent
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


def test_of_a_past_turn_little_is_left_to_the_garbage_collector() -> None:
    stores = stores_in_memory()
    run(stores, "first")
    before = tracked()

    for number in range(50):
        run(stores, f"t{number}")

    # The turn, its result, its journal's rows, and its messages: a dict, an intent and its line.
    assert (tracked() - before) / 50 < 7


def run(stores: Stores, turn_id: str) -> None:
    stores.start(turn_id, channel_id=f"of {turn_id}")
    entries = tuple(an_entry(seq, turn_id) for seq in range(10))
    stores.ledger.intend(an_intent(turn_id, turn_id=turn_id), entries=entries[:5])
    stores.close(turn_id, channel_id=f"of {turn_id}", entries=entries[5:])


def tracked() -> int:
    gc.collect()
    return len(gc.get_objects())
