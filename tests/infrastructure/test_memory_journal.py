from datetime import timedelta

import pytest
from builders import NOON
from contracts.journal import JournalContract, an_entry
from contracts.stores import Stores
from fakes import FrozenClock
from stores_in_memory import stores_in_memory

from turnkeeper.infrastructure.memory.journal import MemoryJournal


class TestMemoryJournal(JournalContract):
    @pytest.fixture
    def stores(self) -> Stores:
        return stores_in_memory()


def test_each_entry_has_the_time_of_its_own_recording() -> None:
    clock = FrozenClock()
    journal = MemoryJournal(clock.now)
    journal.record((an_entry(0), an_entry(2)))
    clock.advance(1)

    journal.record((an_entry(1), an_entry(2)))

    later = NOON + timedelta(seconds=1)
    assert journal.written("t1") == (
        (an_entry(0), NOON),
        (an_entry(1), later),
        (an_entry(2), NOON),
    )


def test_what_is_forgotten_is_counted_once() -> None:
    journal = MemoryJournal()
    journal.record((an_entry(0), an_entry(1)))
    journal.record((an_entry(1),))

    assert journal.forget("t1") == 2
    assert journal.forget("t1") == 0
