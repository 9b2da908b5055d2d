"""One test, or a few, for each sentence of the specification's "Invariants"."""

from collections.abc import Callable, Iterator
from threading import Event

import pytest
from builders import USER, a_request
from fakes import FrozenClock, Script, ScriptedProvider, fails, hangs, raises, says
from turns import Bench, a_server, a_user

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.sink import Stuck, TakesBackMany
from turnkeeper.application.run_generation_turn import TurnRules
from turnkeeper.domain.admission import QuotaRule
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import DestinationGone, SinkError, TurnFailed
from turnkeeper.domain.events import MessageStuck
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import Delivery, TurnStatus
from turnkeeper.domain.policy import TimeLimits, TurnPolicy
from turnkeeper.domain.stream import FinishReason
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.sink import MemorySink

NO_RETRIES = TurnRules(policy=TurnPolicy(empty_retries=0))
FAILS = fails(FailureKind.OVERLOADED)
Benches = Callable[..., Bench]


@pytest.fixture
def bench() -> Iterator[Benches]:
    made: list[Bench] = []

    def make(
        alpha: Script | list[Script], beta: Script | list[Script] = FAILS, **more: object
    ) -> Bench:
        provider = ScriptedProvider(alpha=alpha, beta=beta, mine=FAILS)
        made.append(Bench(provider, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.close()


PATHS: dict[str, tuple[Script, Script, TurnStatus]] = {
    "answers": (says("Hello."), FAILS, TurnStatus.COMPLETED),
    "falls back": (FAILS, says("Hello."), TurnStatus.COMPLETED),
    "all fail": (FAILS, FAILS, TurnStatus.ERROR),
    "nothing comes": (says(), says("  "), TurnStatus.EMPTY_RESPONSE),
    "a bug in a provider": (raises(RuntimeError("bug")), raises(KeyError("x")), TurnStatus.ERROR),
    "refused content": (
        says("No", finish=FinishReason.CONTENT_FILTER),
        fails(FailureKind.CONTENT_FILTER),
        TurnStatus.ERROR,
    ),
}


class TestFinalize:
    """responseSink.finalize(result) has been called exactly once on every path that returns a
    result: that is, all of them except user impersonation, whose rethrowing error handler
    propagates instead of returning."""

    @pytest.mark.parametrize("path", PATHS)
    def test_it_is_called_once_with_the_result(self, bench: Benches, path: str) -> None:
        alpha, beta, status = PATHS[path]
        turn = bench(alpha, beta, rules=NO_RETRIES)

        result = turn.run()

        assert result.status is status
        assert turn.sink.finalized == [result]

    def test_it_is_called_once_where_the_plan_is_empty(self, bench: Benches) -> None:
        turn = bench(FAILS, server=a_server())

        result = turn.run()

        assert (result.status, turn.sink.finalized) == (TurnStatus.ERROR, [result])

    def test_it_is_called_once_where_the_destination_is_gone(self, bench: Benches) -> None:
        def gone(text: str) -> None:
            raise DestinationGone("the channel was deleted", code="10003")

        turn = bench(says("Hello."))

        result = turn.run(sink=MemorySink(trouble=gone))

        assert (result.status, turn.sink.finalized) == (TurnStatus.SKIPPED, [result])

    def test_it_is_called_once_where_the_turn_is_stopped(self, bench: Benches) -> None:
        mailbox = Mailbox()
        mailbox.put(Signal.STOP_REQUESTED)
        turn = bench(says("Hello."))

        result = turn.run(mailbox=mailbox)

        assert (result.status, turn.sink.finalized) == (TurnStatus.STOPPED_BY_USER, [result])

    def test_it_is_not_called_again_where_it_fails_itself(self, bench: Benches) -> None:
        class BadEnd(MemorySink):
            def finalize(self, result: object) -> None:
                super().finalize(result)  # type: ignore[arg-type]
                raise SinkError("the end was not taken")

        turn = bench(says("Hello."))

        result = turn.run(sink=BadEnd())

        assert (result.status, len(turn.sink.finalized)) == (TurnStatus.COMPLETED, 1)

    @pytest.mark.parametrize("script", [FAILS, raises(RuntimeError("bug")), says()])
    def test_under_impersonation_the_failure_is_raised_and_it_is_not_called(
        self, bench: Benches, script: Script
    ) -> None:
        turn = bench(script, script, rules=NO_RETRIES)

        with pytest.raises(TurnFailed):
            turn.run(a_request(audience=Audience.CALLER))
        assert turn.sink.finalized == []
        assert turn.sink.channel.messages == ()

    def test_under_impersonation_an_answer_is_finalized(self, bench: Benches) -> None:
        turn = bench(says("Hello."))

        result = turn.run(a_request(audience=Audience.CALLER))

        assert turn.sink.finalized == [result]


class TestCleanup:
    """responseSink.cleanup() has been called exactly once, without exception. This is the
    invariant per-turn resource release relies on; finalize is not."""

    @pytest.mark.parametrize("path", PATHS)
    def test_it_is_called_once_on_every_path(self, bench: Benches, path: str) -> None:
        alpha, beta, _ = PATHS[path]
        turn = bench(alpha, beta, rules=NO_RETRIES)

        turn.run()

        assert turn.sink.cleaned_up == 1

    def test_it_is_called_where_the_failure_is_raised(self, bench: Benches) -> None:
        turn = bench(FAILS)

        with pytest.raises(TurnFailed):
            turn.run(a_request(audience=Audience.CALLER))
        assert turn.sink.cleaned_up == 1

    def test_it_is_called_where_prepare_raises_and_finalize_is_not(self, bench: Benches) -> None:
        class NoPlace(MemorySink):
            def prepare(self, request: object) -> object:  # type: ignore[override]
                raise SinkError("there is no such channel")

        turn = bench(says("Hello."))

        with pytest.raises(SinkError):
            turn.run(sink=NoPlace())
        assert (turn.sink.finalized, turn.sink.cleaned_up) == ([], 1)
        assert turn.provider.calls == []

    def test_its_own_trouble_does_not_hide_the_result(self, bench: Benches) -> None:
        class Sticky(MemorySink):
            def cleanup(self) -> None:
                super().cleanup()
                raise SinkError("the webhook could not be deleted")

        turn = bench(says("Hello."))

        result = turn.run(sink=Sticky())

        assert (result.status, turn.sink.cleaned_up) == (TurnStatus.COMPLETED, 1)


class TestResponses:
    """If the result is non-error, result.personaResponses.length > 0 (or the status is "skipped",
    which post-turn effects will distinguish).

    Ours is stricter: an empty response counts as an error, and a stop or a follow-up carries what
    was kept, possibly nothing."""

    def test_a_completed_turn_says_what_its_persona_said(self, bench: Benches) -> None:
        result = bench(says("Hel", "lo.")).run()

        assert [response.text for response in result.persona_responses] == ["Hello."]

    def test_a_turn_in_which_nothing_came_is_not_completed(self, bench: Benches) -> None:
        result = bench(says(), says(), rules=NO_RETRIES).run()

        assert (result.status, result.persona_responses) == (TurnStatus.EMPTY_RESPONSE, ())
        assert result.finish is FinishReason.STOP


class TestBooking:
    """Rotation-key bookkeeping (recordKeySuccess/recordKeyError) reflects the outcome of the key
    that was actually used for each attempt."""

    def test_each_key_is_booked_with_what_it_came_to(self, bench: Benches) -> None:
        turn = bench(
            [fails(FailureKind.RATE_LIMIT), fails(FailureKind.AUTH), says("Hello.")],
            server_keys=3,
        )

        turn.run()

        one, two, three = (turn.health(key) for key in turn.server_keys)
        assert (one.error_count, one.rests_until is not None, one.disabled) == (1, True, False)
        assert (two.error_count, two.disabled) == (1, True)
        assert (three.usage_count, three.error_count) == (1, 0)

    def test_the_last_key_of_a_turn_that_fails_is_booked_too(self, bench: Benches) -> None:
        turn = bench(fails(FailureKind.RATE_LIMIT), server=a_server("alpha"))

        turn.run()

        assert turn.health(turn.server_keys[0]).error_count == 1

    def test_no_lease_is_left_under_way(self, bench: Benches) -> None:
        turn = bench([fails(FailureKind.SERVER_ERROR), says("Hello.")], server_keys=3)

        turn.run()

        assert [turn.health(key).in_flight for key in turn.server_keys] == [0, 0, 0]

    def test_a_personal_turn_never_spends_or_books_the_servers_keys(self, bench: Benches) -> None:
        turn = bench(
            [fails(FailureKind.AUTH), says("Hello.")],
            user=a_user("alpha", server_fallback=False),
            user_keys=2,
            server_keys=2,
        )

        turn.run()

        assert [key for _, key in turn.provider.calls] == ["sk-u1", "sk-u2"]
        assert [turn.health(key).usage_count for key in turn.server_keys] == [0, 0]


QUOTA = QuotaRule(enabled=True, daily_per_user=2)


class TestTheCharge:
    """The server route never charges the server's text quota for a turn it did not answer:
    consumption is armed only when the route is entered, and post-turn consumption still requires
    a reply from the winning attempt."""

    def left(self, turn: Bench) -> int:
        """How many more turns the user may have."""
        count = 0
        while turn.run().status is not TurnStatus.SKIPPED:
            count += 1
        return count

    def test_a_server_route_that_fails_too_costs_nothing(self, bench: Benches) -> None:
        turn = bench(
            FAILS, FAILS, user=a_user("mine"), server=a_server("alpha", "beta", quota=QUOTA)
        )
        for _ in range(4):
            turn.run()
        turn.settings.now_personal = a_user()

        settled = turn.of("QuotaSettled")

        assert [event.committed for event in settled] == [False]  # type: ignore[union-attr]

    def test_a_turn_that_never_leaves_its_own_route_reserves_nothing(self, bench: Benches) -> None:
        turn = bench(says("Hello."), user=a_user("alpha"), server=a_server("alpha", quota=QUOTA))

        turn.run()

        assert turn.of("QuotaReserved", "QuotaSettled") == []

    def test_an_answer_on_the_server_route_costs_one_unit(self, bench: Benches) -> None:
        turn = bench(says("Hello."), user=a_user("mine"), server=a_server("alpha", quota=QUOTA))

        statuses = [turn.run().status for _ in range(3)]

        assert statuses == [TurnStatus.COMPLETED, TurnStatus.COMPLETED, TurnStatus.ERROR]

    def test_failed_server_turns_leave_the_quota_whole(self, bench: Benches) -> None:
        turn = bench([FAILS, FAILS, FAILS, says("Hello.")], server=a_server("alpha", quota=QUOTA))
        for _ in range(3):
            turn.run()

        assert self.left(turn) == 2


class TestWithheldRoutes:
    """An account that turned the server fallback off never has server provider config resolved,
    and a server that requires member-provided providers never contributes a server route."""

    def test_an_opted_out_account_never_reads_the_servers_configuration(
        self, bench: Benches
    ) -> None:
        turn = bench(says("Hello."), user=a_user("mine", server_fallback=False))

        result = turn.run()

        assert (result.status, turn.settings.server_reads) == (TurnStatus.ERROR, 0)
        assert [model for model, _ in turn.provider.calls] == ["mine"]

    def test_a_server_that_requires_member_keys_lends_nothing(self, bench: Benches) -> None:
        turn = bench(
            says("Hello."), user=a_user("mine"), server=a_server("alpha", member_keys_only=True)
        )

        result = turn.run()

        assert result.status is TurnStatus.ERROR
        assert [model for model, _ in turn.provider.calls] == ["mine"]


LONG = "A paragraph that is long enough to be posted. " * 30 + "\n\n"


class Purging(MemorySink, TakesBackMany):
    """Takes many messages back at once; some of them stay, or it breaks."""

    def __init__(self, stays: tuple[int, ...] = (), *, broken: bool = False) -> None:
        super().__init__()
        self.stays, self.broken = stays, broken
        self.at_once: list[tuple[Delivery, ...]] = []
        self.taken_one_by_one = 0

    def take_back(self, delivery: Delivery) -> bool:
        self.taken_one_by_one += 1
        return super().take_back(delivery)

    def take_back_all(self, deliveries: tuple[Delivery, ...]) -> tuple[Stuck, ...]:
        if self.broken:
            raise ZeroDivisionError("division by zero")
        self.at_once.append(deliveries)
        for number, delivery in enumerate(deliveries):
            if number not in self.stays:
                super().take_back(delivery)
        return tuple((deliveries[number], SinkError("it is pinned")) for number in self.stays)


class TestSuperseded:
    """No superseded attempt's partial output committed through the streaming send path
    (recordSuccessfulSend) remains in the channel: those messages are deleted, leaving only the
    surviving (or final) attempt's response. Artifacts sent outside that path (alter reply notice,
    warning embeds) are not tracked and are out of scope for this guarantee."""

    def test_what_a_failed_model_had_posted_is_gone_when_the_fallback_answers(
        self, bench: Benches
    ) -> None:
        turn = bench(fails(FailureKind.NETWORK, LONG, "and then"), says("The whole answer."))

        result = turn.run()

        assert turn.sink.channel.text == "The whole answer."
        assert len(turn.sink.channel.deleted) == 1
        assert [d.text for d in result.delivered] == ["The whole answer."]

    def test_what_a_failed_key_had_posted_is_gone_when_the_next_answers(
        self, bench: Benches
    ) -> None:
        turn = bench(
            [fails(FailureKind.RATE_LIMIT, LONG), says("The whole answer.")], server_keys=2
        )

        turn.run()

        assert turn.sink.channel.text == "The whole answer."

    def test_on_total_failure_the_last_output_stays_and_the_error_is_said_once(
        self, bench: Benches
    ) -> None:
        turn = bench(fails(FailureKind.NETWORK, LONG + "1"), fails(FailureKind.NETWORK, LONG + "2"))

        turn.run()

        assert turn.sink.channel.text == LONG.strip()
        assert len(turn.sink.channel.said("error")) == 1

    def test_a_message_that_the_channel_does_not_delete_is_known_to_be_stuck(
        self, bench: Benches
    ) -> None:
        def refuse(text: str) -> None:
            raise SinkError("no permission")

        turn = bench(fails(FailureKind.NETWORK, LONG), says("The whole answer."))

        turn.run(sink=MemorySink(take_back_trouble=refuse))

        assert len(turn.of("MessageStuck")) == 1

    @pytest.mark.parametrize("stays", [(), (0,), (1, 2)], ids=["none", "one", "two"])
    def test_many_messages_go_at_once_where_the_sink_can(
        self, stays: tuple[int, ...], bench: Benches
    ) -> None:
        sink = Purging(stays)
        turn = bench(fails(FailureKind.NETWORK, LONG * 3), says("The whole answer."))

        result = turn.run(sink=sink)

        (at_once,) = sink.at_once
        assert len(at_once) == 3
        assert sink.taken_one_by_one == 0
        assert turn.of("MessageStuck") == [
            MessageStuck(message_id=at_once[number].message_id, cause="it is pinned")
            for number in stays
        ]
        assert len(turn.of("MessageTakenBack")) == 3 - len(stays)
        assert [delivery.text for delivery in result.delivered] == ["The whole answer."]

    def test_a_bug_in_taking_back_many_is_said_of_each(self, bench: Benches) -> None:
        turn = bench(fails(FailureKind.NETWORK, LONG * 3), says("The whole answer."))

        turn.run(sink=Purging(broken=True))

        assert [event.cause for event in turn.of("MessageStuck")] == [  # type: ignore[union-attr]
            "the sink failed to take back: ZeroDivisionError: division by zero"
        ] * 3

    def test_a_sink_that_cannot_take_back_sees_nothing_of_a_failed_attempt(
        self, bench: Benches
    ) -> None:
        turn = bench(fails(FailureKind.NETWORK, LONG), says("The whole answer."))

        turn.run(sink=MemorySink(can_take_back=False))

        assert turn.sink.channel.text == "The whole answer."
        assert turn.sink.channel.deleted == ()

    def test_a_send_that_outlives_the_settle_time_is_deleted_when_it_arrives(
        self, bench: Benches
    ) -> None:
        release, arrived = Event(), Event()

        def slow(text: str) -> None:
            if "paragraph" in text:
                release.wait(30)

        class Watched(MemorySink):
            def take_back(self, delivery: object) -> bool:
                gone = super().take_back(delivery)  # type: ignore[arg-type]
                arrived.set()
                return gone

        limits = TimeLimits(first_progress_s=60, silence_s=0.05, settle_s=0)
        turn = bench(
            hangs(LONG),
            says("The whole answer."),
            rules=TurnRules(limits=limits),
            clock=SystemClock(),
        )

        result = turn.run(sink=Watched(trouble=slow))
        release.set()

        assert result.status is TurnStatus.COMPLETED
        assert arrived.wait(30)
        assert turn.sink.channel.text == "The whole answer."


def test_the_frozen_clock_waits_without_waiting() -> None:
    clock = FrozenClock()
    clock.wait(Event(), 5.0)

    assert clock.monotonic() == 1005.0


def test_a_user_without_a_route_of_their_own_is_answered_by_the_server(bench: Benches) -> None:
    turn = bench(says("Hello."))

    turn.run(a_request(user_id=USER.id))

    assert turn.provider.calls == [("alpha", "sk-s1")]
