"""What every journal does."""

import pytest
from contracts.stores import Stores

from turnkeeper.domain.events import CleanedUp, Entry, Event, Finalized, SignalHeard


def an_entry(seq: int = 0, turn_id: str = "t1", event: Event = CleanedUp()) -> Entry:
    return Entry(turn_id=turn_id, seq=seq, at_s=seq / 4, event=event)


class JournalContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    def test_a_turn_that_nobody_knows_has_no_entries(self, stores: Stores) -> None:
        assert stores.journal.entries("nobody") == ()

    def test_entries_come_back_as_they_were(self, stores: Stores) -> None:
        entries = (an_entry(0), an_entry(1, event=SignalHeard(signal="\0 \ud800 ß")))

        stores.journal.record(entries)

        assert stores.journal.entries("t1") == entries

    def test_entries_come_back_in_order(self, stores: Stores) -> None:
        for seq in (10, 2, 0):
            stores.journal.record((an_entry(seq),))

        assert stores.journal.entries("t1") == (an_entry(0), an_entry(2), an_entry(10))

    def test_an_entry_that_is_there_is_left_as_it_is(self, stores: Stores) -> None:
        stores.journal.record((an_entry(0),))

        stores.journal.record((an_entry(0, event=Finalized(status="error")), an_entry(1)))

        assert stores.journal.entries("t1") == (an_entry(0), an_entry(1))

    def test_an_entry_that_came_before_its_turn_is_there_once(self, stores: Stores) -> None:
        stores.journal.record((an_entry(0),))
        stores.start("t1")

        stores.journal.record((an_entry(0), an_entry(1)))

        assert stores.journal.entries("t1") == (an_entry(0), an_entry(1))

    def test_turns_do_not_mix(self, stores: Stores) -> None:
        stores.journal.record((an_entry(0, "t1"), an_entry(0, "t2"), an_entry(1, "t1")))

        assert stores.journal.entries("t2") == (an_entry(0, "t2"),)

    def test_nothing_to_record_is_nothing(self, stores: Stores) -> None:
        stores.journal.record(())

        assert stores.journal.recent() == ()

    def test_the_latest_turns_come_first(self, stores: Stores) -> None:
        for name in ("t1", "t2", "t3"):
            stores.journal.record((an_entry(0, name),))
        stores.journal.record((an_entry(1, "t1"),))

        assert stores.journal.recent() == ("t3", "t2", "t1")
        assert stores.journal.recent(limit=2) == ("t3", "t2")
