"""What every store does with turns whose process died."""

from collections import Counter
from datetime import timedelta

import pytest
from builders import SERVER, a_delivery
from contracts.journal import an_entry
from contracts.keys import PROVIDER, at_once
from contracts.ledger import ABSENT, INTENDED, POSTED, STUCK, TAKEN_BACK, posted
from contracts.stores import Stores, a_closing, an_intent, an_opening, counting, refused, reserved

from turnkeeper.application.ports.ledger import Fates
from turnkeeper.application.ports.orphans import LENT_S, IdleKey, Left, Orphan, Swept
from turnkeeper.domain.admission import RefusalKind
from turnkeeper.domain.events import SWEPT_SEQ, TurnSwept
from turnkeeper.domain.finish import Commit
from turnkeeper.domain.owner import Owner

DEAD_S = 60.0
"""30 s without a sign of life end a turn's time, 30 s more its life."""


class OrphansContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    def claimed(self, stores: Stores, by: str = "me", **more: object) -> list[str]:
        return [one.turn_id for one in self.claim(stores, by, **more)]

    def claim(self, stores: Stores, by: str = "me", **more: object) -> tuple[Orphan, ...]:
        values: dict[str, object] = {"limit": 10, **more}
        return stores.orphans.claim(by, **values)  # type: ignore[arg-type]

    def orphan(self, stores: Stores, turn_id: str = "t1") -> Orphan:
        """The one turn that is dead now."""
        (one,) = self.claim(stores)
        assert one.turn_id == turn_id
        return one

    # ── who is dead ─────────────────────────────────────────────────────────────────────────

    def test_a_turn_that_lives_is_left_alone(self, stores: Stores) -> None:
        stores.start()
        stores.pass_time(DEAD_S - 5)
        stores.turns.extend(("t1",), alive_s=30)
        stores.pass_time(DEAD_S - 5)

        assert (stores.orphans.are_due(), self.claimed(stores)) == (False, [])
        assert stores.ledger.intend(an_intent())

    def test_a_turn_that_gave_no_sign_of_life_is_claimed(self, stores: Stores) -> None:
        stores.start(turn_key="key", channel_id="place", user_id="ann")
        stores.pass_time(DEAD_S + 1)
        are_due = stores.orphans.are_due()

        orphan = self.orphan(stores)

        assert (are_due, stores.orphans.are_due()) == (True, False)
        assert (orphan.server, orphan.channel_id, orphan.user_id) == (SERVER, "place", "ann")
        assert (orphan.turn_key, orphan.ended_itself, orphan.swept_before) == ("key", False, False)
        assert orphan.now - orphan.alive_until > timedelta(seconds=30)

    def test_a_turn_that_ended_is_left_alone(self, stores: Stores) -> None:
        stores.start()
        stores.close()
        stores.pass_time(DEAD_S + 1)

        assert self.claimed(stores) == []

    def test_a_turn_whose_place_was_taken_is_claimed_at_once(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.pass_time(31)
        stores.start("t2", turn_key="key")

        orphan = self.orphan(stores)

        assert (orphan.turn_key, orphan.successor) == ("key", "t2")

    def test_a_turn_of_another_key_is_no_successor(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.pass_time(31)
        stores.start("t2", turn_key="another")

        assert self.orphan(stores).successor is None

    def test_the_oldest_come_first(self, stores: Stores) -> None:
        for name in ("t1", "t2", "t3"):
            stores.start(name, channel_id=name)
            stores.pass_time(1)
        stores.pass_time(DEAD_S)

        assert self.claimed(stores, limit=2) == ["t1", "t2"]
        assert self.claimed(stores, limit=2) == ["t3"]

    # ── the claim ───────────────────────────────────────────────────────────────────────────

    def test_what_one_has_claimed_another_does_not(self, stores: Stores) -> None:
        stores.start()
        stores.pass_time(DEAD_S + 1)
        self.claim(stores, "me")

        assert self.claimed(stores, "you") == []

    def test_a_claim_that_was_not_done_in_time_is_taken_over(self, stores: Stores) -> None:
        stores.start()
        stores.pass_time(DEAD_S + 1)
        late = self.orphan(stores)
        stores.pass_time(121)

        (taken_over,) = self.claim(stores, "you")

        assert not stores.orphans.done(Swept(orphan=late, entries=(an_entry(0),)))
        assert stores.journal.entries("t1") == ()
        assert stores.orphans.done(Swept(orphan=taken_over))

    def test_each_turn_is_claimed_once_by_many_at_once(self, stores: Stores) -> None:
        names = [f"t{number}" for number in range(20)]
        for name in names:
            stores.start(name, channel_id=name)
        stores.pass_time(DEAD_S + 1)

        def sweep(number: int) -> list[str]:
            found: list[str] = []
            while some := self.claimed(stores, f"sweeper {number}", limit=3):
                found += some
            return found

        claimed = Counter(name for found in at_once(8, sweep) for name in found)
        claimed.update(self.claimed(stores, limit=20))

        assert claimed == dict.fromkeys(names, 1)

    def test_a_claimed_turn_posts_nothing_more(self, stores: Stores) -> None:
        stores.start()
        stores.pass_time(DEAD_S + 1)
        self.claim(stores)

        assert not stores.ledger.intend(an_intent())
        assert stores.turns.extend(("t1",), alive_s=30) == {"t1"}

    def test_its_key_is_free_at_once(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.pass_time(DEAD_S + 1)
        self.claim(stores)

        stores.start("t2", turn_key="key")

    def test_what_is_done_is_not_claimed_again(self, stores: Stores) -> None:
        stores.start()
        stores.pass_time(DEAD_S + 1)
        stores.orphans.done(Swept(orphan=self.orphan(stores)))
        stores.pass_time(1000)

        assert self.claimed(stores) == []

    # ── what it left ────────────────────────────────────────────────────────────────────────

    def test_its_intents_come_with_it(self, stores: Stores) -> None:
        stores.start()
        one = an_intent("i1", webhook_id="77", webhook_is_temporary=True, chars=5)
        stores.ledger.intend(one)
        stores.ledger.intend(an_intent("i2"), fates=posted(i1="m1"))
        stores.pass_time(DEAD_S + 1)

        orphan = self.orphan(stores)

        left = [(left.intent, left.state, left.message_id) for left in orphan.left]
        assert left == [(one, POSTED, "m1"), (an_intent("i2"), INTENDED, None)]
        assert all(
            abs(left.written_at - orphan.opened_at).total_seconds() < 9 for left in orphan.left
        )

    def test_the_intents_of_others_in_its_channel_are_known(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.ledger.intend(an_intent("i1", "t1"))
        stores.pass_time(31)
        stores.start("t2", turn_key="key")
        stores.ledger.intend(an_intent("i2", "t2", epoch=2))
        stores.start("t3", channel_id="elsewhere")
        stores.ledger.intend(an_intent("i3", "t3", channel_id="elsewhere"))
        orphan = self.orphan(stores)

        since = orphan.opened_at - timedelta(seconds=1)
        assert [o.intent.intent_id for o in stores.orphans.others(orphan, since)] == ["i2"]
        assert stores.orphans.others(orphan, orphan.now + timedelta(seconds=9)) == ()

    def test_what_was_done_is_written(self, stores: Stores) -> None:
        stores.start()
        for name in ("i1", "i2", "i3", "i4"):
            stores.ledger.intend(an_intent(name))
        stores.ledger.settle("t1", posted(i1="m1", i2="m2"))
        stores.pass_time(DEAD_S + 1)
        entry = an_entry(SWEPT_SEQ, event=TurnSwept(by="me", silent_s=61.0))
        fates = posted(i3="m3").plus(Fates(taken_back=("m1", "m3"), stuck=("m2",)))

        swept = Swept(
            orphan=self.orphan(stores), fates=fates, absent=("i4",), entries=(entry,), again_in_s=60
        )

        assert stores.orphans.done(swept)
        left = [(state, message) for _, state, message in stores.ledger.left_by("t1")]
        assert left == [(TAKEN_BACK, "m1"), (STUCK, "m2"), (TAKEN_BACK, "m3"), (ABSENT, None)]
        assert stores.journal.entries("t1") == (entry,)

    def test_its_channel_is_free(self, stores: Stores) -> None:
        stores.start("t1", alive_s=30)
        stores.pass_time(DEAD_S + 1)
        orphan = self.orphan(stores)
        stores.orphans.done(Swept(orphan=orphan))

        assert refused(stores.open("t2").admission) is None

    def test_a_successors_channel_stays_its_own(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.pass_time(31)
        stores.start("t2", turn_key="key")

        stores.orphans.done(Swept(orphan=self.orphan(stores)))

        assert refused(stores.open("t3").admission) is RefusalKind.CHANNEL_BUSY

    def test_its_unit_goes_back(self, stores: Stores) -> None:
        stores.start("t1", admission=counting("first", "t1", daily=1))
        stores.pass_time(DEAD_S + 1)
        held = refused(stores.turns.admit(counting("second", daily=1)))

        stores.orphans.done(Swept(orphan=self.orphan(stores)))

        assert held is RefusalKind.USER_QUOTA
        assert refused(stores.turns.admit(counting("third", daily=1))) is None

    def test_a_unit_that_a_successor_holds_stays_its_own(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key", admission=counting("first", "t1", daily=1))
        stores.pass_time(31)
        opened = stores.start("t2", turn_key="key", admission=counting("first", "t2", daily=1))

        stores.orphans.done(Swept(orphan=self.orphan(stores)))

        assert refused(stores.turns.admit(counting("third", daily=1))) is RefusalKind.USER_QUOTA
        stores.close("t2", epoch=2, settle=Commit(reservation=reserved(opened.admission)))
        assert refused(stores.turns.admit(counting("third", daily=1))) is RefusalKind.USER_QUOTA

    def test_its_keys_go_back(self, stores: Stores) -> None:
        one, two = stores.keys.add("one", "two")
        stores.start()
        leases = [stores.keys.lend(two), stores.keys.lend(one)]
        stores.pass_time(DEAD_S + 1)
        idle = IdleKey(owner=SERVER, provider=PROVIDER, key_id=leases[0].key_id)

        stores.orphans.done(Swept(orphan=self.orphan(stores), idle_keys=(idle,)))

        assert (stores.keys.health(one).in_flight, stores.keys.health(two).in_flight) == (0, 1)

    def test_a_lease_that_no_turn_can_hold_goes_back(self, stores: Stores) -> None:
        (one,) = stores.keys.add("one")
        stores.keys.lend()
        stores.start()
        stores.close()
        stores.pass_time(LENT_S + 1)

        freed = stores.orphans.free_keys()

        assert (freed, stores.keys.health(one).in_flight) == (1, 0)

    @pytest.mark.parametrize("owner", [SERVER, Owner.user("ann")])
    def test_what_its_owners_turns_may_hold_stays_lent(self, stores: Stores, owner: Owner) -> None:
        (one,) = stores.keys.add("one", owner=owner)
        stores.start("t1", channel_id="here", user_id="ann")
        stores.start("t2", channel_id="there", user_id="ann")
        for _ in range(3):
            stores.keys.lend(owner=owner)
        stores.pass_time(LENT_S + 1)

        freed = stores.orphans.free_keys()

        assert (freed, stores.keys.health(one).in_flight) == (1, 2)

    def test_a_key_that_was_lent_just_now_is_left_as_it_is(self, stores: Stores) -> None:
        (one,) = stores.keys.add("one")
        stores.keys.lend()

        assert (stores.orphans.free_keys(), stores.keys.health(one).in_flight) == (0, 1)

    # ── what comes later ────────────────────────────────────────────────────────────────────

    def test_what_is_stuck_is_due_again_later(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))
        stores.pass_time(DEAD_S + 1)
        fates = posted(i1="m1").plus(Fates(stuck=("m1",)))
        stores.orphans.done(Swept(orphan=self.orphan(stores), fates=fates, again_in_s=300))
        at_once = self.claimed(stores)
        stores.pass_time(301)

        again = self.orphan(stores)

        assert at_once == []
        assert (again.swept_before, again.left[0].state) == (True, STUCK)

    def test_what_is_stuck_of_a_turn_that_ended_is_due(self, stores: Stores) -> None:
        stores.start(turn_key="key")
        stores.ledger.intend(an_intent("i1"))
        fates = posted(i1="m1").plus(Fates(stuck=("m1",)))
        stores.close(fates=fates)

        orphan = self.orphan(stores)

        assert (orphan.ended_itself, orphan.swept_before) == (True, False)
        assert type(stores.turns.open(an_opening("t2", turn_key="key"))).__name__ == "AlreadyEnded"

    def test_what_is_stuck_of_a_turn_that_runs_waits_for_its_end(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))
        stores.ledger.settle("t1", posted(i1="m1").plus(Fates(stuck=("m1",))))

        while_it_runs = self.claimed(stores)
        stores.close()

        assert (while_it_runs, self.claimed(stores)) == ([], ["t1"])

    def test_a_message_that_came_after_the_sweep_is_due(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))
        stores.pass_time(DEAD_S + 1)
        stores.orphans.done(Swept(orphan=self.orphan(stores), absent=("i1",)))

        stores.turns.close(a_closing(fates=posted(i1="m1")))

        again = self.orphan(stores)
        assert (again.swept_before, again.left[0].state) == (True, POSTED)

    def test_a_message_that_the_next_intent_tells_of_is_due(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))
        stores.pass_time(DEAD_S + 1)
        stores.orphans.done(Swept(orphan=self.orphan(stores), absent=("i1",)))

        goes_on = stores.ledger.intend(an_intent("i2"), fates=posted(i1="m1"))

        assert (goes_on, self.claimed(stores)) == (False, ["t1"])

    def test_the_end_of_a_swept_turn_is_not_its_end(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.pass_time(DEAD_S + 1)
        stores.orphans.done(Swept(orphan=self.orphan(stores)))

        stores.turns.close(a_closing(fates=Fates(posted=(("i0", a_delivery("m0")),))))

        stores.start("t2", turn_key="key")

    def test_an_intent_that_was_only_remembered_is_due(self, stores: Stores) -> None:
        stores.start()
        stores.pass_time(DEAD_S + 1)
        orphan = self.orphan(stores)
        stores.orphans.done(Swept(orphan=orphan))
        left = Left(
            intent=an_intent("i1"), state=INTENDED, message_id=None, written_at=orphan.opened_at
        )

        stores.orphans.remember((left, left))

        again = self.orphan(stores)
        assert (again.swept_before, again.left) == (True, (left,))

    def test_an_intent_of_a_turn_that_ended_is_only_remembered(self, stores: Stores) -> None:
        stores.start()
        stores.close()
        left = Left(
            intent=an_intent("i1"), state=INTENDED, message_id=None, written_at=stores.now()
        )

        stores.orphans.remember((left,))

        assert stores.ledger.left_by("t1") == ((an_intent("i1"), INTENDED, None),)
        assert self.claimed(stores) == []

    def test_all_that_is_stuck_can_be_seen(self, stores: Stores) -> None:
        for name in ("1", "2"):
            stores.start(f"t{name}", channel_id=f"c{name}")
            stores.ledger.intend(an_intent(f"i{name}", f"t{name}", channel_id=f"c{name}"))
        stores.ledger.settle("t2", posted(i2="m2").plus(Fates(stuck=("m2",))))

        assert [(s.message_id, s.intent.channel_id) for s in stores.orphans.stuck()] == [
            ("m2", "c2")
        ]
