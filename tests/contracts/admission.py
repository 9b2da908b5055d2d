"""What every turn store does with cooldown and quota, at a turn's opening and later alike."""

from collections.abc import Callable

import pytest
from builders import SERVER
from contracts.stores import (
    DAY_S,
    Stores,
    a_check,
    an_opening,
    cooling,
    counting,
    refused,
    reserved,
)

from turnkeeper.application.ports.turn_store import Opened
from turnkeeper.domain.admission import (
    Admission,
    AdmissionCheck,
    CooldownCheck,
    Granted,
    QuotaCheck,
    QuotaRule,
    RefusalKind,
    Refused,
    Reservation,
)
from turnkeeper.domain.finish import Nothing
from turnkeeper.domain.owner import Owner

COOLDOWN = RefusalKind.COOLDOWN
USER_QUOTA = RefusalKind.USER_QUOTA
SERVER_QUOTA = RefusalKind.SERVER_QUOTA

Ask = Callable[[AdmissionCheck], Admission]


class AdmissionContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    @pytest.fixture(params=["open", "admit"])
    def ask(self, request: pytest.FixtureRequest, stores: Stores) -> Ask:
        def by_opening(check: AdmissionCheck) -> Admission:
            opening = an_opening(check.holder, admission=check, serialize=False)
            opened = stores.turns.open(opening)
            assert isinstance(opened, Opened)
            return opened.admission

        return by_opening if request.param == "open" else stores.turns.admit

    # ── cooldown ────────────────────────────────────────────────────────────────────────────

    def test_a_cooldown_refuses_the_next_until_it_is_over(self, stores: Stores, ask: Ask) -> None:
        first = ask(cooling("one", s=5))
        second = ask(cooling("two", s=5))

        assert first == Granted()
        assert isinstance(second, Refused)
        assert second.kind is COOLDOWN
        assert 0 < stores.seconds_until(second.until) <= 5
        stores.pass_time(5)
        assert ask(cooling("three")) == Granted()

    def test_a_refused_turn_does_not_prolong_the_cooldown(self, stores: Stores, ask: Ask) -> None:
        ask(cooling("one", s=5))
        stores.pass_time(4)
        ask(cooling("two", s=5))
        stores.pass_time(1)

        assert ask(cooling("three")) == Granted()

    def test_cooldowns_of_two_scopes_are_two(self, ask: Ask) -> None:
        ask(cooling("one", "user:ann"))

        assert ask(cooling("two", "user:bob")) == Granted()

    def test_cooldowns_of_two_servers_are_two(self, ask: Ask) -> None:
        ask(cooling("one"))
        elsewhere = a_check(
            "two", server_id="elsewhere", cooldown=CooldownCheck(scope="", length_s=5)
        )

        assert ask(elsewhere) == Granted()

    def test_a_trigger_passes_its_own_cooldown(self, ask: Ask) -> None:
        ask(cooling("one"))

        assert ask(cooling("one")) == Granted()

    def test_who_is_exempt_passes(self, ask: Ask) -> None:
        ask(cooling("one"))

        assert ask(cooling("two", exempt=True)) == Granted()

    def test_who_is_exempt_sets_it_for_the_others(self, ask: Ask) -> None:
        ask(cooling("one", exempt=True))

        assert refused(ask(cooling("two"))) is COOLDOWN

    def test_who_is_exempt_makes_it_longer_for_the_others(self, stores: Stores, ask: Ask) -> None:
        ask(cooling("one", s=5))
        stores.pass_time(3)
        ask(cooling("two", s=5, exempt=True))
        stores.pass_time(3)

        assert refused(ask(cooling("three"))) is COOLDOWN

    def test_who_is_exempt_leaves_it_to_whoever_took_it(self, ask: Ask) -> None:
        ask(cooling("one"))
        ask(cooling("two", exempt=True))

        assert ask(cooling("one")) == Granted()

    def test_a_trigger_without_a_key_is_like_no_other(self, ask: Ask) -> None:
        cooldown = CooldownCheck(scope="", length_s=5)
        ask(a_check("", "t1", cooldown=cooldown))

        assert refused(ask(a_check("", "t2", cooldown=cooldown))) is COOLDOWN
        assert ask(a_check("", "t1", cooldown=cooldown)) == Granted()

    # ── how many ────────────────────────────────────────────────────────────────────────────

    def test_a_unit_is_reserved_under_its_trigger(self, ask: Ask) -> None:
        reservation = Reservation(server_id=SERVER.id, trigger_key="trigger", holder="t1")

        assert ask(counting("trigger", "t1", daily=1)) == Granted(reservation=reservation)

    @pytest.mark.parametrize(
        "rule",
        [QuotaRule(enabled=False, daily_per_user=1, server_wide=1), QuotaRule(enabled=True)],
        ids=["disabled", "zero"],
    )
    def test_a_quota_without_a_limit_counts_nothing(self, rule: QuotaRule, ask: Ask) -> None:
        quota = QuotaCheck(user_id="ann", rule=rule)

        assert [ask(a_check(name, quota=quota)) for name in "abc"] == [Granted()] * 3

    def test_a_users_day_has_so_many_turns(self, stores: Stores, ask: Ask) -> None:
        for name in "ab":
            stores.use(reserved(ask(counting(name, daily=2))))

        third = ask(counting("c", daily=2))

        assert isinstance(third, Refused)
        assert third.kind is USER_QUOTA
        assert third.until is not None
        assert (third.until.hour, third.until.minute, third.until.second) == (0, 0, 0)
        assert 0 < stores.seconds_until(third.until) <= DAY_S

    def test_the_next_day_counts_anew(self, stores: Stores, ask: Ask) -> None:
        stores.use(reserved(ask(counting("a", daily=1))))
        stores.pass_time(DAY_S)

        reserved(ask(counting("b", daily=1)))

    def test_another_user_has_another_day(self, stores: Stores, ask: Ask) -> None:
        stores.use(reserved(ask(counting("a", daily=1))))

        reserved(ask(counting("b", daily=1, user="bob")))

    def test_a_servers_period_has_so_many_turns(self, stores: Stores, ask: Ask) -> None:
        for name in "ab":
            stores.use(reserved(ask(counting(name, wide=2, days=7, user=name))))

        third = ask(counting("c", wide=2, days=7, user="c"))

        assert isinstance(third, Refused)
        assert third.kind is SERVER_QUOTA
        assert 6 * DAY_S < stores.seconds_until(third.until) <= 7 * DAY_S

    def test_a_period_that_is_over_starts_anew(self, stores: Stores, ask: Ask) -> None:
        stores.use(reserved(ask(counting("a", wide=1, days=7))))
        stores.pass_time(6 * DAY_S)
        within = ask(counting("b", wide=1, days=7))
        stores.pass_time(DAY_S)

        assert refused(within) is SERVER_QUOTA
        reserved(ask(counting("c", wide=1, days=7)))

    def test_the_new_period_counts_too(self, stores: Stores, ask: Ask) -> None:
        stores.use(reserved(ask(counting("a", wide=1))))
        stores.pass_time(DAY_S)
        stores.use(reserved(ask(counting("b", wide=1))))

        assert refused(ask(counting("c", wide=1))) is SERVER_QUOTA

    def test_another_server_has_another_period(self, stores: Stores, ask: Ask) -> None:
        stores.use(reserved(ask(counting("a", wide=1))))

        reserved(ask(counting("b", wide=1, server_id="elsewhere")))

    def test_the_users_limit_is_said_before_the_servers(self, stores: Stores, ask: Ask) -> None:
        stores.use(reserved(ask(counting("a", daily=1, wide=1))))

        assert refused(ask(counting("b", daily=1, wide=1))) is USER_QUOTA
        assert refused(ask(counting("c", daily=1, wide=1, user="bob"))) is SERVER_QUOTA

    # ── reservations ────────────────────────────────────────────────────────────────────────

    def test_a_unit_that_is_held_counts(self, ask: Ask) -> None:
        reserved(ask(counting("a", daily=1, wide=1)))

        assert refused(ask(counting("b", daily=1))) is USER_QUOTA
        assert refused(ask(counting("c", wide=1))) is SERVER_QUOTA

    def test_a_unit_that_is_given_back_can_be_had_again(self, stores: Stores, ask: Ask) -> None:
        stores.give_back(reserved(ask(counting("a", daily=1, wide=1))))

        reserved(ask(counting("b", daily=1, wide=1)))

    def test_a_turn_that_knows_of_no_unit_gives_its_unit_back(
        self, stores: Stores, ask: Ask
    ) -> None:
        reservation = reserved(ask(counting("a", daily=1)))
        stores.close(reservation.holder, settle=Nothing())

        reserved(ask(counting("b", daily=1)))

    def test_a_unit_that_was_forgotten_comes_back(self, stores: Stores, ask: Ask) -> None:
        reserved(ask(counting("a", daily=1, wide=1, expires_in_s=60)))
        stores.pass_time(61)

        reserved(ask(counting("b", daily=1, wide=1)))

    def test_a_unit_that_is_used_after_all_counts(self, stores: Stores, ask: Ask) -> None:
        forgotten = reserved(ask(counting("a", daily=1, wide=1, expires_in_s=60)))
        stores.pass_time(61)
        stores.use(forgotten)

        assert refused(ask(counting("b", daily=1))) is USER_QUOTA
        assert refused(ask(counting("c", wide=1))) is SERVER_QUOTA

    def test_a_forgotten_unit_is_asked_for_like_a_new_one(self, stores: Stores, ask: Ask) -> None:
        reserved(ask(counting("a", daily=1, expires_in_s=60)))
        stores.pass_time(61)
        reserved(ask(counting("b", daily=1)))

        assert refused(ask(counting("a", "a2", daily=1))) is USER_QUOTA

    def test_a_unit_of_a_past_day_or_period_is_charged_there(
        self, stores: Stores, ask: Ask
    ) -> None:
        old = reserved(ask(counting("a", daily=1, wide=1)))
        stores.pass_time(DAY_S)
        new = reserved(ask(counting("b", daily=1, wide=1)))
        stores.use(old)
        stores.give_back(new)

        reserved(ask(counting("c", daily=1, wide=1)))

    # ── one unit a trigger ──────────────────────────────────────────────────────────────────

    def test_personas_of_one_trigger_share_its_unit(self, stores: Stores, ask: Ask) -> None:
        one = reserved(ask(counting("trigger", "t1", daily=2, wide=2)))
        two = reserved(ask(counting("trigger", "t2", daily=2, wide=2)))
        stores.use(one)
        stores.use(two)

        reserved(ask(counting("other", daily=2, wide=2)))
        assert refused(ask(counting("third", daily=2))) is USER_QUOTA

    def test_the_last_unit_is_enough_for_all_personas(self, stores: Stores, ask: Ask) -> None:
        stores.use(reserved(ask(counting("trigger", "t1", daily=1))))

        reserved(ask(counting("trigger", "t2", daily=1)))

    def test_a_unit_is_given_back_by_its_last_holder(self, stores: Stores, ask: Ask) -> None:
        one = reserved(ask(counting("trigger", "t1", daily=1)))
        two = reserved(ask(counting("trigger", "t2", daily=1)))
        stores.give_back(one)
        while_held = ask(counting("other", daily=1))
        stores.give_back(two)

        assert refused(while_held) is USER_QUOTA
        reserved(ask(counting("third", daily=1)))

    def test_one_persona_that_answers_is_enough_to_charge(self, stores: Stores, ask: Ask) -> None:
        one = reserved(ask(counting("trigger", "t1", daily=1)))
        two = reserved(ask(counting("trigger", "t2", daily=1)))
        stores.use(one)
        stores.give_back(two)

        assert refused(ask(counting("other", daily=1))) is USER_QUOTA

    def test_a_holder_that_asks_again_still_holds_it_once(self, stores: Stores, ask: Ask) -> None:
        ask(counting("trigger", "t1", daily=1))
        stores.give_back(reserved(ask(counting("trigger", "t1", daily=1))))

        reserved(ask(counting("other", daily=1)))

    def test_who_gave_its_unit_back_cannot_use_it(self, stores: Stores, ask: Ask) -> None:
        one = reserved(ask(counting("trigger", "t1", daily=1)))
        two = reserved(ask(counting("trigger", "t2", daily=1)))
        stores.give_back(one)
        stores.use(one)
        stores.give_back(two)

        reserved(ask(counting("other", daily=1)))

    # ── both rules are one decision ─────────────────────────────────────────────────────────

    def test_a_refused_quota_leaves_no_cooldown(self, stores: Stores, ask: Ask) -> None:
        stores.use(reserved(ask(counting("a", daily=1))))
        both = counting("b", daily=1, cooldown=CooldownCheck(scope="", length_s=5))

        assert refused(ask(both)) is USER_QUOTA
        assert ask(cooling("c")) == Granted()

    def test_a_refused_quota_leaves_the_cooldown_of_who_is_exempt(
        self, stores: Stores, ask: Ask
    ) -> None:
        stores.use(reserved(ask(counting("a", daily=1))))
        ask(cooling("b", s=5))
        stores.pass_time(3)
        exempt = CooldownCheck(scope="", length_s=5, is_exempt=True)
        ask(counting("c", daily=1, cooldown=exempt))
        stores.pass_time(2)

        assert ask(cooling("d")) == Granted()

    def test_a_cooldown_that_refuses_leaves_no_unit(self, ask: Ask) -> None:
        cooldown = CooldownCheck(scope="", length_s=5)
        ask(cooling("a"))

        assert refused(ask(counting("b", daily=1, wide=1, cooldown=cooldown))) is COOLDOWN
        reserved(ask(counting("c", daily=1, wide=1)))

    def test_the_cooldown_is_said_before_the_quota(self, stores: Stores, ask: Ask) -> None:
        stores.use(reserved(ask(counting("a", daily=1))))
        ask(cooling("b"))
        both = counting("c", daily=1, cooldown=CooldownCheck(scope="", length_s=5))

        assert refused(ask(both)) is COOLDOWN

    # ── what was said ───────────────────────────────────────────────────────────────────────

    def test_a_refusal_is_said_once_a_trigger(self, ask: Ask) -> None:
        ask(cooling("a"))
        twice = [ask(cooling("b")), ask(cooling("b")), ask(cooling("c"))]

        assert [one.already_said for one in twice if isinstance(one, Refused)] == [
            False,
            True,
            False,
        ]

    def test_a_refused_turn_may_be_opened_again(self, stores: Stores) -> None:
        stores.start("t1", admission=cooling("a"), turn_key="a", channel_id="one")
        refusal = stores.open("t2", admission=cooling("b"), turn_key="b").admission
        stores.pass_time(5)

        assert refused(refusal) is COOLDOWN
        stores.start("t3", admission=cooling("b"), turn_key="b")

    def test_a_busy_channel_takes_neither_cooldown_nor_unit(self, stores: Stores) -> None:
        stores.start("t1")
        both = counting("a", daily=1, cooldown=CooldownCheck(scope="", length_s=5))
        busy = stores.open("t2", admission=both).admission
        stores.close("t1")

        assert refused(busy) is RefusalKind.CHANNEL_BUSY
        again = counting("b", daily=1, cooldown=CooldownCheck(scope="", length_s=5))
        reserved(stores.start("t3", admission=again).admission)

    def test_a_refused_turn_does_not_hold_the_channel(self, stores: Stores) -> None:
        stores.start("t1", admission=cooling("a"), channel_id="one")
        refusal = stores.open("t2", admission=cooling("b"), channel_id="two").admission

        assert refused(refusal) is COOLDOWN
        stores.start("t3", channel_id="two")

    def test_a_turn_that_is_opened_again_may_be_asked_more(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")

        reserved(
            stores.start("t1", turn_key="key", admission=counting("a", "t1", daily=1)).admission
        )

        assert refused(stores.turns.admit(counting("b", daily=1))) is USER_QUOTA

    def test_a_turn_that_is_refused_when_opened_again_is_gone(self, stores: Stores) -> None:
        stores.turns.admit(cooling("a"))
        stores.start("t1", turn_key="key")

        refusal = stores.open("t1", turn_key="key", admission=cooling("b")).admission

        assert refused(refusal) is COOLDOWN
        stores.start("t2", turn_key="key")

    def test_a_refusal_leaves_the_channel_to_whoever_holds_it(self, stores: Stores) -> None:
        stores.turns.admit(cooling("a"))
        stores.start("t1")
        stores.open("t2", serialize=False, admission=cooling("b"))

        assert refused(stores.open("t3").admission) is RefusalKind.CHANNEL_BUSY

    def test_who_takes_over_a_dead_turn_holds_its_unit_alone(self, stores: Stores) -> None:
        stores.start("t1", admission=counting("a", "t1", daily=1), turn_key="key")
        stores.pass_time(31)
        heir = stores.start("t2", admission=counting("a", "t2", daily=1), turn_key="key")
        stores.give_back(reserved(heir.admission), epoch=heir.epoch)

        reserved(stores.start("t3", admission=counting("b", daily=1)).admission)

    def test_rules_of_another_place_than_the_turn_are_asked_there(self, stores: Stores) -> None:
        private = Owner.server("conversation")
        check = a_check("a", server_id="ann", cooldown=CooldownCheck(scope="", length_s=5))
        stores.start("t1", server=private, admission=check)

        assert stores.turns.admit(cooling("b")) == Granted()
        again = a_check("c", server_id="ann", cooldown=CooldownCheck(scope="", length_s=5))
        assert refused(stores.turns.admit(again)) is COOLDOWN
