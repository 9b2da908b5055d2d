"""What every delivery ledger does."""

import pytest
from builders import a_delivery
from contracts.journal import an_entry
from contracts.stores import Stores, an_intent

from turnkeeper.application.ports.ledger import Fates, IntentState
from turnkeeper.domain.outcome import Origin

INTENDED, POSTED = IntentState.INTENDED, IntentState.POSTED
TAKEN_BACK, STUCK = IntentState.TAKEN_BACK, IntentState.STUCK
ABSENT = IntentState.ABSENT


def posted(**messages: str) -> Fates:
    """Fates of intents that became these messages."""
    return Fates(posted=tuple((i, a_delivery(message)) for i, message in messages.items()))


class LedgerContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    def left(self, stores: Stores) -> list[tuple[IntentState, str | None]]:
        return [(state, message) for _, state, message in stores.ledger.left_by("t1")]

    def test_a_turn_that_nobody_knows_left_nothing(self, stores: Stores) -> None:
        assert stores.ledger.left_by("nobody") == ()

    def test_an_intent_is_written_before_its_post(self, stores: Stores) -> None:
        stores.start()
        intent = an_intent(
            origin=Origin.PROGRESS, invocation_no=2, thread_id="thread", webhook_id="hook"
        )

        goes_on = stores.ledger.intend(intent)

        assert goes_on
        assert stores.ledger.left_by("t1") == ((intent, INTENDED, None),)

    def test_intents_stand_in_the_order_of_writing(self, stores: Stores) -> None:
        stores.start()
        for name in ("i3", "i1", "i2"):
            stores.ledger.intend(an_intent(name))

        names = [intent.intent_id for intent, _, _ in stores.ledger.left_by("t1")]
        assert names == ["i3", "i1", "i2"]

    def test_an_intent_that_is_written_twice_is_one(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent())

        assert stores.ledger.intend(an_intent())
        assert self.left(stores) == [(INTENDED, None)]

    def test_the_next_intent_says_what_became_of_the_last(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))

        stores.ledger.intend(an_intent("i2"), fates=posted(i1="m1"))

        assert self.left(stores) == [(POSTED, "m1"), (INTENDED, None)]

    def test_journal_entries_go_with_an_intent(self, stores: Stores) -> None:
        stores.start()

        stores.ledger.intend(an_intent(), entries=(an_entry(0), an_entry(1)))

        assert stores.journal.entries("t1") == (an_entry(0), an_entry(1))

    def test_journal_entries_go_with_the_fates(self, stores: Stores) -> None:
        stores.start()

        stores.ledger.settle("t1", Fates(), entries=(an_entry(0),))

        assert stores.journal.entries("t1") == (an_entry(0),)

    def test_what_was_taken_back_or_stuck_is_known(self, stores: Stores) -> None:
        stores.start()
        for name in ("i1", "i2", "i3"):
            stores.ledger.intend(an_intent(name))
        stores.ledger.settle("t1", posted(i1="m1", i2="m2", i3="m3"))

        stores.ledger.settle("t1", Fates(taken_back=("m1",), stuck=("m2",)))

        assert self.left(stores) == [(TAKEN_BACK, "m1"), (STUCK, "m2"), (POSTED, "m3")]

    def test_what_was_posted_and_taken_back_meanwhile_is_gone(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))

        fates = posted(i1="m1").plus(Fates(taken_back=("m1",)))
        stores.ledger.intend(an_intent("i2"), fates=fates)

        assert self.left(stores) == [(TAKEN_BACK, "m1"), (INTENDED, None)]

    def test_what_was_stuck_may_be_taken_back_after_all(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))
        stores.ledger.settle("t1", posted(i1="m1").plus(Fates(stuck=("m1",))))

        stores.ledger.settle("t1", Fates(taken_back=("m1",)))

        assert self.left(stores) == [(TAKEN_BACK, "m1")]

    def test_what_is_gone_stays_gone(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))
        stores.ledger.settle("t1", posted(i1="m1").plus(Fates(taken_back=("m1",))))

        stores.ledger.settle("t1", posted(i1="m1").plus(Fates(stuck=("m1",))))

        assert self.left(stores) == [(TAKEN_BACK, "m1")]

    def test_what_is_stuck_is_not_told_again_as_posted(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))
        stores.ledger.settle("t1", posted(i1="m1").plus(Fates(stuck=("m1",))))

        stores.ledger.settle("t1", posted(i1="m1"))

        assert self.left(stores) == [(STUCK, "m1")]

    def test_fates_of_another_turn_are_its_own(self, stores: Stores) -> None:
        stores.start("t1")
        stores.ledger.intend(an_intent("i1"))
        stores.start("t2", channel_id="other")

        stores.ledger.settle("t2", posted(i1="m1"))

        assert self.left(stores) == [(INTENDED, None)]

    # ── a turn that was given up ────────────────────────────────────────────────────────────

    def test_a_turn_that_was_given_up_posts_nothing_more(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.ledger.intend(an_intent("i1"))
        stores.pass_time(31)
        stores.start("t2", turn_key="key")

        goes_on = stores.ledger.intend(an_intent("i2"), fates=posted(i1="m1"))

        assert not goes_on
        assert self.left(stores) == [(POSTED, "m1")]

    def test_its_successor_posts(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.pass_time(31)
        epoch = stores.start("t2", turn_key="key").epoch

        assert stores.ledger.intend(an_intent("i1", "t2", epoch=epoch))
        assert not stores.ledger.intend(an_intent("i2", "t2", epoch=epoch + 1))

    def test_a_turn_that_has_ended_posts_nothing_more(self, stores: Stores) -> None:
        stores.start("t1")
        stores.close("t1")

        assert not stores.ledger.intend(an_intent("i1"))

    def test_a_turn_that_never_began_posts_nothing(self, stores: Stores) -> None:
        assert not stores.ledger.intend(an_intent("i1"))
