"""What every store does with turns that are long over."""

import pytest
from contracts.journal import an_entry
from contracts.ledger import posted
from contracts.notices import DETAILS, PLACE
from contracts.orphans import DEAD_S
from contracts.stores import (
    DAY_S,
    Stores,
    an_intent,
    an_opening,
    cooling,
    counting,
    refused,
    reserved,
)

from turnkeeper.application.ports.ledger import Fates
from turnkeeper.application.ports.old_turns import Pruned
from turnkeeper.application.ports.orphans import Swept
from turnkeeper.application.prune import Prune
from turnkeeper.domain.admission import RefusalKind
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.finish import Commit


class OldTurnsContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    def prune(self, stores: Stores, days: float = 10) -> Pruned:
        return Prune(old=stores.old)(days=days)

    def a_turn(self, stores: Stores, turn_id: str = "t1", **more: object) -> None:
        """One that ended, and left something of each kind."""
        stores.start(turn_id, channel_id=turn_id, **more)
        intent = an_intent(f"i-{turn_id}", turn_id, channel_id=turn_id)
        stores.ledger.intend(intent, entries=(an_entry(0, turn_id), an_entry(1, turn_id)))
        stores.signals.send(turn_id, Signal.STOP_REQUESTED)
        stores.close(turn_id, channel_id=turn_id)

    def test_a_turn_that_is_old_is_forgotten_with_all_it_left(self, stores: Stores) -> None:
        self.a_turn(stores, turn_key="key")
        stores.pass_time(11 * DAY_S)

        assert self.prune(stores) == Pruned(turns=1, journals=1, events=2, messages=1)
        assert stores.journal.entries("t1") == ()
        assert stores.ledger.left_by("t1") == ()
        assert stores.signals.pending("t1") is None
        stores.start("t2", turn_key="key")

    def test_a_turn_that_is_young_stays(self, stores: Stores) -> None:
        self.a_turn(stores, turn_key="key")
        stores.pass_time(9 * DAY_S)

        assert self.prune(stores) == Pruned()
        assert len(stores.journal.entries("t1")) == 2
        assert len(stores.ledger.left_by("t1")) == 1
        again = stores.turns.open(an_opening("t2", turn_key="key"))
        assert type(again).__name__ == "AlreadyEnded"

    def test_a_turn_that_was_never_swept_stays_whole(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent(), entries=(an_entry(0),))
        stores.pass_time(11 * DAY_S)

        unswept = self.prune(stores)
        (orphan,) = stores.orphans.claim("me", limit=9)
        claimed = self.prune(stores)

        assert (unswept, claimed) == (Pruned(), Pruned())
        assert len(orphan.left) == 1
        assert stores.journal.entries("t1") == (an_entry(0),)

    def test_a_turn_is_as_old_as_its_sweep(self, stores: Stores) -> None:
        stores.start()
        stores.pass_time(11 * DAY_S)
        (orphan,) = stores.orphans.claim("me", limit=9)
        stores.orphans.done(Swept(orphan=orphan))
        just_swept = self.prune(stores)
        stores.pass_time(11 * DAY_S)

        assert (just_swept, self.prune(stores)) == (Pruned(), Pruned(turns=1))

    def test_what_is_stuck_and_tried_again_stays(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))
        stores.pass_time(DEAD_S + 1)
        (orphan,) = stores.orphans.claim("me", limit=9)
        fates = posted(i1="m1").plus(Fates(stuck=("m1",)))
        stores.orphans.done(Swept(orphan=orphan, fates=fates, again_in_s=60))
        stores.pass_time(11 * DAY_S)

        assert self.prune(stores) == Pruned()
        assert len(stores.orphans.stuck()) == 1

    def test_a_unit_is_forgotten_once_it_counts_nowhere(self, stores: Stores) -> None:
        opened = stores.start("t1", admission=counting("first", "t1", daily=1))
        stores.close("t1", settle=Commit(reservation=reserved(opened.admission)))
        young = self.prune(stores, days=1)
        still_counts = refused(stores.turns.admit(counting("second", daily=1)))
        stores.pass_time(11 * DAY_S)

        assert (young, still_counts) == (Pruned(), RefusalKind.USER_QUOTA)
        pruned = self.prune(stores)
        assert (pruned.turns, pruned.units > 0, pruned.refusals) == (1, True, 1)

    def test_a_refusal_is_forgotten(self, stores: Stores) -> None:
        stores.turns.admit(cooling("first"))
        stores.turns.admit(cooling("second"))
        stores.pass_time(11 * DAY_S)

        assert self.prune(stores) == Pruned(refusals=1)

    def test_a_notice_is_forgotten_once_its_time_is_long_over(self, stores: Stores) -> None:
        stores.notices.save(PLACE, DETAILS, alive_s=DAY_S)
        stores.pass_time(10.5 * DAY_S)
        young = self.prune(stores)
        stores.pass_time(DAY_S)

        assert (young, self.prune(stores)) == (Pruned(), Pruned(notices=1))
        assert stores.notices.find(PLACE.message_id) is None

    def test_a_batch_is_bounded(self, stores: Stores) -> None:
        for number in range(5):
            self.a_turn(stores, f"t{number}")
        stores.pass_time(11 * DAY_S)

        batches = [stores.old.prune(older_than_s=DAY_S, limit=2).turns for _ in range(4)]

        assert batches == [2, 2, 1, 0]
