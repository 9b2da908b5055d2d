"""The parity scenarios of fallback between keys, models and routes, 1 to 38; one test, or a few.

Not here: 35 to 38 (verbatim tool scaffolding) belong to the context of an attempt, and of 28 the
deletion through a webhook belongs to Discord. A docstring that says "Ours" names a difference.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from builders import SERVER, USER, a_model, a_request, an_endpoint
from fakes import LoadedDice, Script, ScriptedProvider, fails, hears, says, stalls
from turns import Bench, Benches, a_server, a_user

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.sink import Target
from turnkeeper.domain.admission import (
    Admission,
    AdmissionCheck,
    CooldownRule,
    CooldownType,
    QuotaRule,
    RefusalKind,
    Refused,
)
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import DestinationGone, StoreUnavailable
from turnkeeper.domain.events import Entry, InvocationEnded, QuotaReserved, QuotaSettled
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.occasion import Audience, Occasion, QuotaSource
from turnkeeper.domain.outcome import Delivery, Origin, TurnStatus
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import EndpointEntry, ModelEntry, Slot
from turnkeeper.domain.rotation import KeyHealth
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.settings import PersonalSettings
from turnkeeper.domain.turn import Persona, TurnRequest
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore

FAILS = fails(FailureKind.OVERLOADED, message="too busy")
HELLO = says("Hello.")
ONE_A_DAY = QuotaRule(enabled=True, daily_per_user=1)
A_MINUTE = CooldownRule(type=CooldownType.PER_USER, length_s=60)
LONG = "A paragraph that is long enough to be posted. " * 30 + "\n\n"


def failed(turn: Bench) -> list[tuple[str, str]]:
    """The models that gave no answer, with what each said last."""
    failures = turn.sink.finalized[0].failures
    return [(one.model, one.failure.message) for one in failures]


def asked(turn: Bench) -> list[str]:
    """The models that were asked, in order."""
    return [model for model, _ in turn.provider.calls]


def notices(turn: Bench) -> list[FallbackNotice]:
    return [notice for notice, _ in turn.sink.notices]


def a_turn_for(persona: str = "", trigger: str = "t", **more: object) -> TurnRequest:
    who = Persona(id=persona, name=persona or "assistant")
    return a_request("Hello", user_id=USER.id, trigger_id=trigger, persona=who, **more)


class TestAFallbackOfTheSameRoute:
    def test_a_rate_limited_primary_gives_way_and_people_are_told_once(
        self, bench: Benches
    ) -> None:
        """1. The primary answers with a rate limit and there is one fallback: the fallback
        completes the turn, one notice names the primary and its detail, no error is emitted."""
        turn = bench(
            ScriptedProvider(alpha=fails(FailureKind.RATE_LIMIT, message="slow down"), beta=HELLO),
            server=a_server("alpha", chain=(ModelEntry(model=a_model("beta", provider="other")),)),
        )
        turn.keys.add(SERVER, "other", Secret("sk-o1"))

        result = turn.run()

        (notice,) = notices(turn)
        assert (result.status, turn.sink.errors) == (TurnStatus.COMPLETED, [])
        assert turn.provider.calls == [("alpha", "sk-s1"), ("beta", "sk-o1")]
        assert [(one.model, one.failure.message) for one in notice.failures] == [
            ("alpha", "slow down")
        ]
        assert (notice.model, notice.slot) == ("beta", Slot(number=1, is_lead=False))

    def test_a_fallback_of_the_same_provider_is_asked_though_the_one_saved_key_rests(
        self, bench: Benches
    ) -> None:
        """1, where both models share one saved key: limits are often a model's own, and with
        nothing else to lend the owner's saved key is still better than no answer."""
        turn = bench(
            ScriptedProvider(alpha=fails(FailureKind.RATE_LIMIT, message="slow down"), beta=HELLO),
            server_keys=1,
        )

        result = turn.run()

        assert (result.status, asked(turn)) == (TurnStatus.COMPLETED, ["alpha", "beta"])

    def test_a_personal_endpoint_is_paid_by_the_user_who_owns_it(self, bench: Benches) -> None:
        """2. A personal endpoint in the personal chain: its attempt uses the owning user's saved
        key, not the server's of the same name."""
        home = EndpointEntry(endpoint=an_endpoint(42, connection_id=42, label="home"), owner=USER)
        turn = bench(
            ScriptedProvider(mine=FAILS, home=HELLO), user=replace(a_user("mine"), chain=(home,))
        )
        turn.keys.add(SERVER, "custom:42", Secret("sk-of-the-server"))
        turn.keys.add(USER, "custom:42", Secret("sk-of-the-user"))

        turn.run()

        assert turn.provider.calls == [("mine", "sk-u1"), ("home", "sk-of-the-user")]

    def test_a_personal_fallback_keeps_the_personal_credential_source(self, bench: Benches) -> None:
        """19. A personal fallback answered: the credential source stays personal."""
        turn = bench(ScriptedProvider(mine=FAILS, yours=HELLO), user=a_user("mine", "yours"))

        assert turn.run().credential_source is Route.PERSONAL

    def test_the_notice_of_a_personal_fallback_offers_no_opt_out(self, bench: Benches) -> None:
        """25. A personal fallback, not the server, answered: the notice has no opt-out."""
        turn = bench(ScriptedProvider(mine=FAILS, yours=HELLO), user=a_user("mine", "yours"))

        turn.run()

        ((notice, spoken),) = turn.sink.notices
        assert (notice.offers_opt_out, spoken.tips) == (False, ())

    def test_what_the_primary_had_posted_is_gone_before_the_fallback_speaks(
        self, bench: Benches
    ) -> None:
        """28. The timed-out primary had sent a message and the fallback completes: that message
        is deleted and only the fallback's remains.

        Ours: it goes before the fallback's first message comes, so nobody reads two answers."""

        class Diary(MemorySink):
            def __init__(self) -> None:
                super().__init__()
                self.lines: list[str] = []

            def post(self, text: str, *, target: Target, origin: Origin, nonce: str) -> Delivery:
                self.lines.append(f"post {text[:6]}")
                return super().post(text, target=target, origin=origin, nonce=nonce)

            def take_back(self, delivery: Delivery) -> bool:
                self.lines.append(f"take back {delivery.text[:6]}")
                return super().take_back(delivery)

        diary = Diary()
        turn = bench(ScriptedProvider(alpha=stalls(LONG, "and"), beta=HELLO))

        result = turn.run(sink=diary)

        assert diary.lines == ["post A para", "take back A para", "post Hello."]
        assert [delivery.text for delivery in result.delivered] == ["Hello."]


class TestTheServerRoute:
    def test_the_server_answers_with_its_own_key_where_the_personal_route_fails(
        self, bench: Benches
    ) -> None:
        """3. The personal route fails and the server fallback is allowed: a server attempt runs
        with the server's key."""
        turn = bench(ScriptedProvider(mine=FAILS, alpha=HELLO), user=a_user("mine"))

        result = turn.run()

        assert result.status is TurnStatus.COMPLETED
        assert turn.provider.calls == [("mine", "sk-u1"), ("alpha", "sk-s1")]

    def test_the_whole_server_chain_follows_in_its_order(self, bench: Benches) -> None:
        """4. The server has its own chain and the personal route fails: the whole server pool is
        available, in server order."""
        turn = bench(
            ScriptedProvider(mine=FAILS, alpha=FAILS, beta=FAILS, gamma=HELLO),
            user=a_user("mine"),
            server=a_server("alpha", "beta", "gamma"),
        )

        turn.run()

        assert asked(turn) == ["mine", "alpha", "beta", "gamma"]

    def test_it_asks_for_one_admission(self, bench: Benches) -> None:
        """5. The personal route fails and the extension is built: exactly one quota admission.

        Ours: it sets the unit aside, and settles it at the turn's end, so that two turns at once
        cannot both use the last one."""

        turn = bench(
            ScriptedProvider(mine=FAILS, alpha=FAILS, beta=HELLO),
            user=a_user("mine"),
            server=a_server("alpha", "beta", quota=ONE_A_DAY),
            turn_store=CountingStore,
        )

        turn.run(a_turn_for())

        assert isinstance(turn.turns, CountingStore)
        assert turn.turns.asked == 1
        assert turn.of("QuotaReserved", "QuotaSettled") == [
            QuotaReserved(trigger_key="t"),
            QuotaSettled(trigger_key="t", committed=True),
        ]

    def test_the_notice_of_its_answer_names_the_opt_out(self, bench: Benches) -> None:
        """6. The server route answered: the notice carries the personal opt-out, and the slot
        of a route's own lead."""
        turn = bench(ScriptedProvider(mine=FAILS, alpha=HELLO), user=a_user("mine"))

        turn.run()

        ((notice, spoken),) = turn.sink.notices
        assert (notice.offers_opt_out, notice.slot) == (True, Slot(number=1, is_lead=True))
        assert len(spoken.tips) == 1

    def test_a_personal_answer_never_touches_the_server(self, bench: Benches) -> None:
        """7. The personal route succeeds: only personal config was loaded, no admission asked.

        Ours: whether members must bring their own keys is looked up with the plan, since it
        decides what may follow; no key, model or quota of the server is."""
        turn = bench(
            ScriptedProvider(mine=HELLO),
            user=a_user("mine"),
            server=a_server("alpha", quota=ONE_A_DAY),
            turn_store=CountingStore,
        )

        turn.run()

        assert isinstance(turn.turns, CountingStore)
        assert (turn.turns.asked, turn.of("ServerRouteAsked", "QuotaReserved")) == (0, [])
        assert turn.health(turn.server_keys[0]).last_leased_at is None

    def test_the_model_of_the_persona_leads_it(self, bench: Benches) -> None:
        """8. The persona has its own server model: on the server route that model leads."""
        turn = bench(
            ScriptedProvider(mine=FAILS, gamma=FAILS, beta=HELLO),
            user=a_user("mine"),
            server=a_server("alpha", "beta", persona_models=(("miko", a_model("gamma")),)),
        )

        turn.run(a_turn_for("miko"))

        assert asked(turn) == ["mine", "gamma", "beta"]

    def test_a_server_that_wants_member_keys_lends_nothing(self, bench: Benches) -> None:
        """9. The server requires member providers and the personal route fails: no server route;
        the error is emitted."""
        turn = bench(
            ScriptedProvider(mine=FAILS),
            user=a_user("mine"),
            server=a_server("alpha", member_keys_only=True),
        )

        result = turn.run()

        assert (result.status, asked(turn)) == (TurnStatus.ERROR, ["mine"])
        assert len(turn.sink.errors) == 1

    def test_a_member_without_keys_is_told_so_where_they_are_wanted(self, bench: Benches) -> None:
        """A server that requires member providers, and a member who has none: no model is asked,
        no cooldown and no quota is taken, and it is said once."""
        turn = bench(
            ScriptedProvider(alpha=HELLO),
            server=a_server(
                "alpha",
                member_keys_only=True,
                quota=QuotaRule(enabled=True, daily_per_user=3),
            ),
        )

        result = turn.run()

        assert (result.status, asked(turn)) == (TurnStatus.SKIPPED, [])
        assert [told.text for told in turn.sink.told] == [
            "This server wants members to use keys of their own. "
            "Set up a provider in your personal settings."
        ]
        assert turn.of("QuotaReserved") == []

    def test_what_no_member_set_off_needs_no_member_keys(self, bench: Benches) -> None:
        turn = bench(ScriptedProvider(alpha=HELLO), server=a_server("alpha", member_keys_only=True))
        of_itself = a_request(user_id=USER.id, occasion=Occasion(quota_source=QuotaSource.SYSTEM))

        assert turn.run(of_itself).status is TurnStatus.COMPLETED

    def test_an_account_that_opted_out_stays_on_its_own_route(self, bench: Benches) -> None:
        """10. The account opted out and the personal route fails: no server route; the error is
        emitted."""
        turn = bench(ScriptedProvider(mine=FAILS), user=a_user("mine", server_fallback=False))

        result = turn.run()

        assert (result.status, asked(turn)) == (TurnStatus.ERROR, ["mine"])
        assert len(turn.sink.errors) == 1

    def test_an_account_that_never_chose_keeps_it(self, bench: Benches) -> None:
        """11. The preference is undefined and the personal route fails: the server route is
        kept."""
        user = PersonalSettings(user_id=USER.id, providers=a_user("mine").providers)
        turn = bench(ScriptedProvider(mine=FAILS, alpha=HELLO), user=user)

        assert turn.run().status is TurnStatus.COMPLETED

    def test_where_every_model_fails_nothing_is_charged_and_one_error_is_said(
        self, bench: Benches
    ) -> None:
        """14. Every server model fails too: all three models were tried, nothing is consumed,
        there is no notice, the turn is an error."""
        turn = bench(
            ScriptedProvider(mine=FAILS, alpha=FAILS, beta=FAILS),
            user=a_user("mine"),
            server=a_server("alpha", "beta", quota=ONE_A_DAY),
        )

        result = turn.run(a_turn_for())

        assert (result.status, asked(turn)) == (TurnStatus.ERROR, ["mine", "alpha", "beta"])
        assert (notices(turn), len(turn.sink.errors)) == ([], 1)
        assert turn.of("QuotaSettled") == [QuotaSettled(trigger_key="t", committed=False)]

    @pytest.mark.parametrize("last", [HELLO, FAILS])
    def test_who_paid_is_read_from_the_last_that_ran(self, bench: Benches, last: Script) -> None:
        """18. The server route was entered: the credential source is the server, whether it
        answers or fails."""
        turn = bench(
            ScriptedProvider(mine=FAILS, alpha=last),
            user=a_user("mine"),
            server=a_server("alpha"),
        )

        assert turn.run().credential_source is Route.SERVER

    def test_a_server_failure_gives_the_servers_tip(self, bench: Benches) -> None:
        """18. So a failing server attempt gets server-scoped recovery tips."""
        turn = bench(
            ScriptedProvider(mine=FAILS, alpha=FAILS),
            user=a_user("mine"),
            server=a_server("alpha"),
        )

        turn.run()

        assert "A manager of this server" in turn.sink.channel.said("error")[0]


class CountingStore(MemoryTurnStore):
    """Counts the admissions that are asked for beside the planned one."""

    asked = 0

    def admit(self, check: AdmissionCheck) -> Admission:
        self.asked += 1
        return super().admit(check)


class AwayStore(MemoryTurnStore):
    """Cannot be reached for an admission."""

    def admit(self, check: AdmissionCheck) -> Admission:
        raise StoreUnavailable("the database is away")


class TestTheServersAdmission:
    def lender(self, bench: Benches, **rules: object) -> Bench:
        return bench(
            ScriptedProvider(mine=FAILS, alpha=HELLO),
            user=a_user("mine"),
            server=a_server("alpha", **rules),
        )

    def test_a_used_up_quota_leaves_the_personal_failure(self, bench: Benches) -> None:
        """12. The quota is refused after the personal route failed: no server attempt; the
        result is an error."""
        turn = self.lender(bench, quota=ONE_A_DAY)
        turn.run(a_turn_for(trigger="first"))
        turn.provider.calls.clear()

        result = turn.run(a_turn_for(trigger="second"))

        assert (result.status, asked(turn)) == (TurnStatus.ERROR, ["mine"])
        assert failed(turn) == [("mine", "too busy")]
        assert (len(turn.sink.told), len(turn.sink.errors)) == (1, 1)

    def test_a_quota_that_cannot_be_looked_up_leaves_the_personal_failure(
        self, bench: Benches
    ) -> None:
        """13. The quota lookup throws: the personal error stays the outcome."""
        turn = bench(
            ScriptedProvider(mine=FAILS, alpha=HELLO),
            user=a_user("mine"),
            server=a_server("alpha", quota=ONE_A_DAY),
            turn_store=AwayStore,
        )

        result = turn.run()

        assert (result.status, asked(turn)) == (TurnStatus.ERROR, ["mine"])
        assert failed(turn) == [("mine", "too busy")]
        assert result.refusal == Refused(kind=RefusalKind.STORE, cause="the database is away")

    def test_a_refused_cooldown_asks_for_no_quota(self, bench: Benches) -> None:
        """15. The cooldown is refused: the quota is never asked, there is no server attempt."""
        turn = self.lender(bench, quota=ONE_A_DAY, cooldown=A_MINUTE)
        turn.run(a_turn_for(trigger="first"))
        turn.provider.calls.clear()

        result = turn.run(a_turn_for(trigger="second"))

        assert result.refusal is not None
        assert (result.refusal.kind, asked(turn)) == (RefusalKind.COOLDOWN, ["mine"])
        assert turn.of("QuotaReserved") == []

    def test_a_refused_cooldown_is_not_told_beside_the_failure(self, bench: Benches) -> None:
        """15. Ours: people are told why there is no answer, and not also that they might have
        been answered a minute later by somebody else's models."""
        turn = self.lender(bench, cooldown=A_MINUTE)
        turn.run(a_turn_for(trigger="first"))

        turn.run(a_turn_for(trigger="second"))

        assert (turn.sink.told, len(turn.sink.errors)) == ([], 1)

    def test_a_cooldown_that_is_over_lets_the_server_answer(self, bench: Benches) -> None:
        """16. The cooldown is clear: the server attempt proceeds."""
        turn = self.lender(bench, cooldown=A_MINUTE)
        turn.run(a_turn_for(trigger="first"))
        turn.clock.sleep(61)

        assert turn.run(a_turn_for(trigger="second")).status is TurnStatus.COMPLETED

    def test_lending_takes_the_cooldown(self, bench: Benches) -> None:
        """16. So a personal provider that fails on every message does not buy a server reply on
        every message."""
        turn = self.lender(bench, cooldown=A_MINUTE)

        statuses = [turn.run(a_turn_for(trigger=str(n))).status for n in range(3)]

        assert statuses == [TurnStatus.COMPLETED, TurnStatus.ERROR, TurnStatus.ERROR]

    def test_a_persona_job_is_not_asked_for_the_cooldown(self, bench: Benches) -> None:
        """17. A persona job: the cooldown is not asked again."""
        turn = self.lender(bench, cooldown=A_MINUTE)
        turn.run(a_turn_for("one", "first"))

        result = turn.run(a_turn_for("two", "second", occasion=Occasion(is_persona_job=True)))

        assert result.status is TurnStatus.COMPLETED

    def test_a_further_persona_of_the_trigger_passes_its_cooldown(self, bench: Benches) -> None:
        """17. Ours: nor is it in the way of a turn that has the same trigger, job or not."""
        turn = self.lender(bench, cooldown=A_MINUTE)

        statuses = [turn.run(a_turn_for(persona)).status for persona in ("one", "two")]

        assert statuses == [TurnStatus.COMPLETED, TurnStatus.COMPLETED]

    def test_two_personas_of_one_trigger_are_refused_aloud_once(self, bench: Benches) -> None:
        """24. Two persona turns of one trigger are refused: people are told the first time, not
        the second."""
        turn = self.lender(bench, quota=ONE_A_DAY)
        turn.run(a_turn_for(trigger="earlier"))
        told = []

        for persona, is_job in (("one", False), ("two", True)):
            turn.run(a_turn_for(persona, occasion=Occasion(is_persona_job=is_job)))
            told.append(len(turn.sink.told))

        assert told == [1, 0]


class TestTimeOuts:
    """The time-out that stands is said from the last invocation that ran."""

    def silent(self, bench: Benches, *, audience: Audience) -> Bench:
        turn = bench(
            ScriptedProvider(mine=[FAILS, stalls("Well")], alpha=[HELLO, stalls("Well")]),
            user=a_user("mine"),
            server=a_server("alpha", quota=ONE_A_DAY),
        )
        turn.run(a_turn_for(trigger="first"))
        turn.run(a_turn_for(trigger="second", audience=audience))
        return turn

    def test_it_is_said_once_where_the_server_route_adds_nothing(self, bench: Benches) -> None:
        """20. The last personal attempt times out while the server might still answer, and the
        server route refuses: the timeout is said once."""
        turn = self.silent(bench, audience=Audience.PERSON)

        assert turn.sink.finalized[0].status is TurnStatus.TIMEOUT
        assert len(turn.sink.channel.said("error")) == 1
        assert "took too long" in turn.sink.channel.said("error")[0]

    def test_a_server_turn_that_hides_errors_stays_silent(self, bench: Benches) -> None:
        """21. The same on a server turn that hides errors: silence."""
        turn = bench(ScriptedProvider(alpha=stalls("Well")), server=a_server("alpha"))

        turn.run(a_turn_for(audience=Audience.NOBODY))

        assert turn.sink.finalized[0].status is TurnStatus.TIMEOUT
        assert [m.by for m in turn.sink.channel.messages] == []

    def test_a_personal_turn_that_hides_errors_stays_silent(self, bench: Benches) -> None:
        """22. The same on a personal turn that hides errors: silence, the refusal too."""
        turn = self.silent(bench, audience=Audience.NOBODY)

        assert turn.sink.finalized[0].status is TurnStatus.TIMEOUT
        assert [m.by for m in turn.sink.channel.messages] == []

    def test_it_is_not_said_where_the_server_answers(self, bench: Benches) -> None:
        """23. A timeout, then the server answers: no timeout is said, the notice tells of it."""
        turn = bench(ScriptedProvider(mine=stalls("Well"), alpha=HELLO), user=a_user("mine"))

        turn.run()

        (notice,) = notices(turn)
        assert turn.sink.errors == []
        assert [one.failure.kind for one in notice.failures] == [FailureKind.TIMEOUT]

    def test_a_time_out_says_nothing_about_the_key(self, bench: Benches) -> None:
        """23. Ours: a slow model is booked on its key as neutral, and rests itself; in the
        system before, nothing was booked at all."""
        turn = bench(ScriptedProvider(alpha=stalls()), server=a_server("alpha"))

        turn.run()

        health = turn.health(turn.server_keys[0])
        assert health == KeyHealth(last_leased_at=health.last_leased_at)
        assert len(turn.of("ModelRested")) == 1


class TestTheRandomizer:
    def test_a_personal_draw_leaves_the_servers_order(self, bench: Benches) -> None:
        """26. The personal randomizer is on and the server's off: the server pool's order is
        unchanged."""
        turn = bench(
            ScriptedProvider(mine=FAILS, yours=FAILS, alpha=FAILS, beta=FAILS),
            user=a_user("mine", "yours", randomizer=True),
            dice=LoadedDice(1, 1),
        )

        turn.run()

        assert asked(turn) == ["yours", "mine", "alpha", "beta"]

    def test_the_servers_own_draw_reorders_its_pool(self, bench: Benches) -> None:
        """27. The server randomizer is on: the server pool is reordered, the personal is not."""
        turn = bench(
            ScriptedProvider(mine=FAILS, yours=FAILS, alpha=FAILS, beta=FAILS),
            user=a_user("mine", "yours"),
            server=a_server("alpha", "beta", randomizer=True),
            dice=LoadedDice(1, 1),
        )

        turn.run()

        assert asked(turn) == ["mine", "yours", "beta", "alpha"]


def at_the_answer(mailbox: Mailbox, signal: Signal) -> Callable[[Entry], None]:
    """A listener by which a signal comes just when the answer is whole."""

    def listen(entry: Entry) -> None:
        if isinstance(entry.event, InvocationEnded) and entry.event.outcome == "Answered":
            mailbox.put(signal)

    return listen


class TestStopsAndFollowUps:
    @pytest.mark.parametrize(
        ("signal", "status"),
        [
            pytest.param(
                Signal.FOLLOW_UP_REQUESTED, TurnStatus.FOLLOW_UP_INTERRUPT, id="29 follow-up"
            ),
            pytest.param(Signal.STOP_REQUESTED, TurnStatus.STOPPED_BY_USER, id="30 stop"),
        ],
    )
    def test_a_fallback_that_is_cut_short_gets_no_notice(
        self, bench: Benches, signal: Signal, status: TurnStatus
    ) -> None:
        """29, 30. The fallback ends as a follow-up interrupt, or stopped by the user: no
        notice, and what it had shown stays."""
        mailbox = Mailbox()
        turn = bench(
            ScriptedProvider(alpha=FAILS, beta=hears(mailbox, signal, says(LONG, "and more")))
        )

        result = turn.run(mailbox=mailbox)

        assert (result.status, notices(turn)) == (status, [])
        assert turn.sink.channel.text == LONG.strip() == result.text

    @pytest.mark.parametrize(
        "signal",
        [
            pytest.param(Signal.FOLLOW_UP_REQUESTED, id="33 follow-up"),
            pytest.param(Signal.STOP_REQUESTED, id="34 stop"),
        ],
    )
    def test_a_request_that_is_waiting_holds_the_notice_back(
        self, bench: Benches, signal: Signal
    ) -> None:
        """33, 34. A follow-up, or a stop with its context, is pending when the fallback has
        completed: the notice is held back.

        Ours: neither request is used up by that; whoever has to act on it still finds it."""
        mailbox = Mailbox()
        turn = bench(ScriptedProvider(alpha=FAILS, beta=HELLO))

        result = turn.run(mailbox=mailbox, listener=at_the_answer(mailbox, signal))

        assert (result.status, notices(turn)) == (TurnStatus.COMPLETED, [])
        assert mailbox.signal is signal

    def test_a_stop_between_two_models_opens_neither(self, bench: Benches) -> None:
        """30. A stop that comes while the primary fails ends the turn before the fallback."""
        mailbox = Mailbox()

        def listen(entry: Entry) -> None:
            if isinstance(entry.event, InvocationEnded):
                mailbox.put(Signal.STOP_REQUESTED)

        turn = bench(ScriptedProvider(alpha=FAILS, beta=HELLO))

        result = turn.run(mailbox=mailbox, listener=listen)

        assert (result.status, asked(turn)) == (TurnStatus.STOPPED_BY_USER, ["alpha"])
        assert turn.sink.errors == []


class TestUnreachableDestinations:
    @pytest.mark.parametrize(
        "code", [pytest.param("50001", id="31"), pytest.param("10003", id="32")]
    )
    def test_a_channel_that_cannot_be_reached_ends_the_chain(
        self, bench: Benches, code: str
    ) -> None:
        """31, 32. The destination says 50001 or 10003: the chain is abandoned, the turn skipped,
        and nobody there is told.

        Ours: the result keeps what was thought, used and delivered until then."""

        def gone(text: str) -> None:
            raise DestinationGone("the channel cannot be reached", code=code)

        turn = bench(ScriptedProvider(alpha=HELLO, beta=HELLO), server_keys=2)

        result = turn.run(sink=MemorySink(trouble=gone))

        assert (result.status, asked(turn)) == (TurnStatus.SKIPPED, ["alpha"])
        assert turn.sink.channel.messages == ()
        assert len(result.stream_results) == 1

    def test_a_providers_own_number_is_not_taken_for_it(self, bench: Benches) -> None:
        """31, 32. Ours: only the destination can say that it cannot be reached; a provider's
        error 10003 is a failure like any other."""
        turn = bench(
            ScriptedProvider(
                alpha=fails(FailureKind.BAD_REQUEST, message="error 10003", code="10003"),
                beta=HELLO,
            )
        )

        assert turn.run().status is TurnStatus.COMPLETED
