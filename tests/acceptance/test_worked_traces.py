"""The worked traces 13.1 to 13.12: whole turns, step by step, as their journals tell them.

Not here: 13.13 (history is left out of a run that follows an answer cut short by its length)
belongs to the context of an attempt. A docstring that says "Ours" names a difference.
"""

from collections.abc import Iterator
from dataclasses import replace
from threading import Event

import pytest
from builders import (
    USER,
    Outcomes,
    a_delivery,
    a_model,
    a_plan,
    a_request,
    when_ready,
)
from fakes import LoadedDice, Script, ScriptedProvider, fails, hears, raises, says, stalls
from turns import Bench, Benches, a_server, a_user

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.runner import Stop
from turnkeeper.application.run_generation_turn import TurnRules
from turnkeeper.domain import events as ev
from turnkeeper.domain.admission import QuotaRule
from turnkeeper.domain.answers import Signal, Waited
from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.errors import DestinationGone, TurnFailed
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.model import Sampling
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import Origin, ToolRecord, ToolState, TurnStatus
from turnkeeper.domain.plan import ModelEntry, Slot
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.steps import RunInvocation, TurnState
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, TextDelta
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.threads import ThreadRunner

FAILS = fails(FailureKind.OVERLOADED)
LIMITED = fails(FailureKind.RATE_LIMIT)
HELLO = says("Hello.")
LONG = "A paragraph that is long enough to be posted. " * 30 + "\n\n"
QUOTA = QuotaRule(enabled=True, daily_per_user=5)


def trace(turn: Bench) -> list[str]:
    """The turn's journal, a few words an event; keys are s1, s2 … the server's, u1 … the user's."""
    names: dict[int | None, str] = {None: "no key"}
    names.update((key, f"s{n}") for n, key in enumerate(turn.server_keys, start=1))
    names.update((key, f"u{n}") for n, key in enumerate(turn.user_keys, start=1))
    lines = [_of_attempts(event, names) or _of_the_turn(event) for event in turn.events]
    return [line for line in lines if line]


def _of_attempts(event: ev.Event, keys: dict[int | None, str]) -> str:
    match event:
        case ev.NoKeyLeft(attempt_no=number):
            return f"no key for {number}"
        case ev.InvocationStarted(attempt_no=number, key_id=key):
            return f"run {number} with {keys[key]}"
        case ev.MessagePosted():
            return "post"
        case ev.MessageTakenBack():
            return "take back"
        case ev.InvocationEnded(outcome=outcome, failure=failure, detail=detail):
            kind = failure.kind.value if failure else ""
            return " ".join(word for word in (outcome, kind, detail) if word)
        case ev.KeyBooked(key_id=key, booking=booking, error_class=error_class):
            return f"book {keys[key]} {booking} {error_class}".strip()
        case ev.ModelRested(attempt_no=number):
            return f"{number} rests"
    return ""


def _of_the_turn(event: ev.Event) -> str:
    match event:
        case ev.ServerRouteAsked(answer=answer):
            return f"server route {answer}"
        case ev.QuotaReserved():
            return "reserve"
        case ev.QuotaSettled(committed=committed):
            return "commit" if committed else "release"
        case ev.SignalHeard(signal=signal):
            return f"hear {signal}"
        case ev.Said(what=what, to=to):
            return f"say {what} to {to}"
        case ev.Finalized(status=status):
            return f"finalize {status}"
        case ev.CleanedUp():
            return "clean up"
    return ""


def test_one_model_without_rotation_and_an_error(bench: Benches) -> None:
    """13.1. Ours: the one key's failure is booked, and the error is said when the turn is over,
    not by the stream."""
    turn = bench(ScriptedProvider(alpha=fails(FailureKind.AUTH)), server=a_server("alpha"))

    turn.run()

    assert trace(turn) == [
        "run 0 with s1",
        "Failed auth",
        "book s1 error api_error",
        "no key for 0",
        "say error to person",
        "finalize error",
        "clean up",
    ]


def test_two_keys_and_the_first_is_rate_limited(bench: Benches) -> None:
    """13.2. The second key answers; what the first had posted is gone; no notice."""
    script = [fails(FailureKind.RATE_LIMIT, LONG), HELLO]
    turn = bench(ScriptedProvider(alpha=script), server=a_server("alpha"), server_keys=2)

    turn.run()

    assert trace(turn) == [
        "run 0 with s1",
        "post",
        "Failed rate_limit",
        "book s1 error rate_limit",
        "run 0 with s2",
        "take back",
        "post",
        "Answered stop",
        "book s2 success",
        "finalize completed",
        "clean up",
    ]
    assert turn.sink.channel.text == "Hello."


def test_the_turn_after_does_not_begin_with_the_key_that_rests(bench: Benches) -> None:
    """13.2. The first key is the less used one now, and still rests."""
    turn = bench(ScriptedProvider(alpha=[LIMITED, HELLO]), server=a_server("alpha"), server_keys=2)
    turn.run()

    turn.run()

    assert trace(turn)[0] == "run 0 with s2"


def test_two_keys_and_the_first_meets_an_error_that_is_not_its_own(bench: Benches) -> None:
    """13.2. Ours: the key is not to blame and does not rest, and yet the other one is tried."""
    turn = bench(
        ScriptedProvider(alpha=[fails(FailureKind.SERVER_ERROR), HELLO]),
        server=a_server("alpha"),
        server_keys=2,
    )

    turn.run()

    assert trace(turn)[:4] == [
        "run 0 with s1",
        "Failed server_error",
        "book s1 error api_error",
        "run 0 with s2",
    ]
    assert turn.health(turn.server_keys[0]).rests_until is None


def test_two_keys_and_both_fail(bench: Benches) -> None:
    """13.3. Ours: the second key is booked as well, so that the next turn does not begin with
    it again."""
    turn = bench(ScriptedProvider(alpha=LIMITED), server=a_server("alpha"), server_keys=2)

    turn.run()

    assert trace(turn) == [
        "run 0 with s1",
        "Failed rate_limit",
        "book s1 error rate_limit",
        "run 0 with s2",
        "Failed rate_limit",
        "book s2 error rate_limit",
        "no key for 0",
        "say error to person",
        "finalize error",
        "clean up",
    ]


def test_four_keys_and_all_fail(bench: Benches) -> None:
    """13.4. Ours: three keys are counted before a fourth is leased, so the third's partial
    output stays where the error is said; it was taken back for nothing."""
    turn = bench(
        ScriptedProvider(alpha=fails(FailureKind.RATE_LIMIT, LONG)),
        server=a_server("alpha"),
        server_keys=4,
    )

    turn.run()

    assert trace(turn) == [
        "run 0 with s1",
        "post",
        "Failed rate_limit",
        "book s1 error rate_limit",
        "run 0 with s2",
        "take back",
        "post",
        "Failed rate_limit",
        "book s2 error rate_limit",
        "run 0 with s3",
        "take back",
        "post",
        "Failed rate_limit",
        "book s3 error rate_limit",
        "say error to person",
        "finalize error",
        "clean up",
    ]
    assert turn.sink.channel.text == LONG.strip()
    assert turn.health(turn.server_keys[3]).last_leased_at is None


class TestTwoModelsAndTheFirstTimesOut:
    """13.5."""

    def test_the_second_answers_and_the_notice_tells_of_the_time_out(self, bench: Benches) -> None:
        """13.5. Ours: the key is booked as neutral, and the model rests for a moment."""
        turn = bench(ScriptedProvider(alpha=stalls(LONG), beta=HELLO))

        turn.run()

        assert trace(turn) == [
            "run 0 with s1",
            "post",
            "TimedOut timeout silence",
            "book s1 neutral",
            "0 rests",
            "run 1 with s1",
            "take back",
            "post",
            "Answered stop",
            "book s1 success",
            "say fallback_notice to person",
            "finalize completed",
            "clean up",
        ]

    def test_a_first_word_is_waited_for_longer_where_nothing_else_may_answer(
        self, bench: Benches
    ) -> None:
        """13.5. Twelve seconds while another model may answer, five minutes for the last."""
        turn = bench(ScriptedProvider(alpha=stalls(), beta=stalls()))

        turn.run()

        assert time_outs(turn) == [("first_progress", 12), ("first_progress", 312)]

    def test_silence_is_heard_as_soon_as_it_is_too_long(self, bench: Benches) -> None:
        """13.5. Two minutes from one word to the next, on the last model too."""
        turn = bench(ScriptedProvider(alpha=stalls("Well"), beta=stalls("Well")))

        turn.run()

        assert time_outs(turn) == [("silence", 120), ("silence", 240)]

    def test_a_stream_that_does_not_settle_is_left_behind(self, bench: Benches) -> None:
        """13.5. The abandoned stream gets its time to settle; then the turn goes on without."""
        turn = bench(ScriptedProvider(alpha=stalls(LONG, settles=False), beta=HELLO))

        result = turn.run()

        assert (result.status, turn.sink.channel.text) == (TurnStatus.COMPLETED, "Hello.")
        assert [event.effect for event in turn.of("EffectFailed")] == ["abandoned stream"]  # type: ignore[union-attr]

    def test_a_stream_that_completes_while_it_settles_is_the_answer(self, bench: Benches) -> None:
        """13.5. Ours: an answer that is whole within the settle time is the answer; it is not
        thrown away for another model's."""

        def late(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
            woken = Event()
            stop.on_stop(woken.set)
            yield TextDelta("Hello, though late.")
            woken.wait(30)
            yield Finished(reason=FinishReason.STOP)

        turn = bench(
            ScriptedProvider(alpha=late, beta=HELLO),
            rules=TurnRules(limits=TimeLimits(silence_s=0.05, settle_s=30)),
            clock=SystemClock(),
            runner=ThreadRunner(settle_s=0.5),
        )

        result = turn.run()

        assert (result.text, turn.sink.channel.text) == ("Hello, though late.",) * 2


class TestAPersonalModelWhoseServerMayHelp:
    """13.6, 13.7."""

    def lent(self, bench: Benches, provider: ScriptedProvider) -> Bench:
        server = a_server("alpha", "beta", quota=QUOTA)
        return bench(provider, user=a_user("mine"), server=server)

    def test_the_server_answers(self, bench: Benches) -> None:
        """13.6. Admission, then the server's own models; the notice names the opt-out and slot
        1; one unit is charged, once."""
        turn = self.lent(bench, ScriptedProvider(mine=fails(FailureKind.AUTH, LONG), alpha=HELLO))

        turn.run()

        assert trace(turn) == [
            "run 0 with u1",
            "post",
            "Failed auth",
            "book u1 error api_error",
            "no key for 0",
            "server route opened",
            "reserve",
            "run 1 with s1",
            "take back",
            "post",
            "Answered stop",
            "book s1 success",
            "say fallback_notice to person",
            "finalize completed",
            "commit",
            "clean up",
        ]
        assert [(n.slot, n.offers_opt_out) for n in notices(turn)] == [(LEAD, True)]

    @pytest.mark.parametrize(
        ("script", "said"), [(fails(FailureKind.AUTH), "error"), (stalls("Well"), "timeout")]
    )
    def test_the_server_refuses(self, bench: Benches, script: Script, said: str) -> None:
        """13.7. Ours: the personal failure, or time-out, is said, whatever had been held back
        while the server might still have answered."""
        turn = bench(
            ScriptedProvider(mine=script, alpha=HELLO),
            user=a_user("mine"),
            server=a_server("alpha", quota=QuotaRule(enabled=True, daily_per_user=1)),
        )
        turn.run()
        turn.clock.sleep(60)

        turn.run()

        assert trace(turn)[-5:] == [
            "server route refused",
            "say refusal to person",
            f"say {said} to person",
            f"finalize {said}",
            "clean up",
        ]

    def test_a_unit_that_was_held_goes_back_where_the_users_own_model_answers_after_all(
        self, bench: Benches
    ) -> None:
        """13.6. The personal model fails, the server's come to nothing, the turn is run again
        and the user's own model answers: the server is not charged for that."""
        turn = self.lent(
            bench,
            ScriptedProvider(mine=[FAILS, HELLO], alpha=says(), beta=says()),
        )

        result = turn.run()

        assert (result.text, result.retries) == ("Hello.", 1)
        assert [e for e in trace(turn) if e in ("reserve", "commit", "release")] == [
            "reserve",
            "release",
        ]


def time_outs(turn: Bench) -> list[tuple[str, float]]:
    """The limits that were passed, and after how many seconds of the turn."""
    return [
        (entry.event.detail, round(entry.at_s, 3))
        for entry in turn.recorder.entries
        if isinstance(entry.event, ev.InvocationEnded) and entry.event.outcome == "TimedOut"
    ]


LEAD = Slot(number=1, is_lead=True)


def notices(turn: Bench) -> list[FallbackNotice]:
    return [notice for notice, _ in turn.sink.notices]


def test_a_follow_up_while_the_second_model_answers(bench: Benches) -> None:
    """13.8. No notice; what the second model had shown stays.

    Ours: a key whose answer was cut short is booked as neutral; nobody knows whether it was
    about to fail."""
    mailbox = Mailbox()
    follow_up = hears(mailbox, Signal.FOLLOW_UP_REQUESTED, says(LONG, "more"))
    turn = bench(ScriptedProvider(alpha=FAILS, beta=follow_up))

    turn.run(mailbox=mailbox)

    assert trace(turn) == [
        "run 0 with s1",
        "Failed overloaded",
        "book s1 error api_error",
        "0 rests",
        "run 1 with s1",
        "post",
        "Interrupted",
        "book s1 neutral",
        "hear follow_up_requested",
        "finalize follow_up_interrupt",
        "clean up",
    ]
    assert turn.sink.channel.text == LONG.strip()


def test_the_channel_is_deleted_while_an_answer_streams(bench: Benches) -> None:
    """13.9. The turn is skipped and no further model is asked.

    Ours: the key is booked as neutral, and the result keeps what had been delivered."""
    posts: list[str] = []

    def gone(text: str) -> None:
        posts.append(text)
        if len(posts) > 1:
            raise DestinationGone("the channel was deleted", code="10003")

    turn = bench(ScriptedProvider(alpha=says(LONG, "More."), beta=HELLO))

    result = turn.run(sink=MemorySink(trouble=gone))

    assert trace(turn) == [
        "run 0 with s1",
        "post",
        "Unreachable 10003",
        "book s1 neutral",
        "finalize skipped",
        "clean up",
    ]
    assert [delivery.text for delivery in result.delivered] == [LONG.strip()]


class TestImpersonation:
    """13.10. Ours: every failure of a turn in somebody else's name is raised to the caller, and
    reported to nobody else; settled first, never finalized."""

    @pytest.mark.parametrize(
        ("script", "said"),
        [
            pytest.param(fails(FailureKind.AUTH), "error", id="a provider's error"),
            pytest.param(raises(RuntimeError("bug")), "error", id="an exception"),
            pytest.param(stalls(), "timeout", id="a time-out"),
            pytest.param(says(), "empty", id="nothing came"),
        ],
    )
    def test_it_is_raised(self, bench: Benches, script: Script, said: str) -> None:
        """13.10 a, b."""
        turn = bench(
            ScriptedProvider(alpha=script), server=a_server("alpha", quota=QUOTA), server_keys=1
        )

        with pytest.raises(TurnFailed):
            turn.run(a_request(user_id=USER.id, audience=Audience.CALLER))

        assert trace(turn)[-3:] == [f"say {said} to caller", "release", "clean up"]
        assert (turn.sink.finalized, turn.sink.channel.messages) == ([], ())

    def test_a_bug_outside_the_attempts_is_raised_too(self, bench: Benches) -> None:
        """13.10 c."""

        def broken(plan: object, request: object) -> object:
            raise RuntimeError("a plug-in's bug")

        turn = bench(ScriptedProvider(), transformers=(broken,))

        with pytest.raises(TurnFailed, match="a plug-in's bug"):
            turn.run(a_request(audience=Audience.CALLER))

        assert trace(turn) == ["say error to caller", "clean up"]


class TestARandomLead:
    """13.11. Pool alpha, beta, gamma; the draw is 2."""

    def drawn(self, bench: Benches, **scripts: Script) -> Bench:
        server = a_server("alpha", "beta", "gamma", randomizer=True)
        return bench(ScriptedProvider(**scripts), server=server, dice=LoadedDice(2))

    def test_it_is_called_primary_and_the_others_follow(self, bench: Benches) -> None:
        """13.11. Its label is primary; the true model is still to be seen."""
        turn = self.drawn(bench, gamma=HELLO)

        result = turn.run()

        (started,) = turn.of("TurnStarted")
        assert isinstance(started, ev.TurnStarted)
        assert [attempt.label for attempt in started.attempts] == [
            "primary",
            "fallback 1: alpha",
            "fallback 2: beta",
        ]
        assert (result.success_model, notices(turn)) == (a_model("gamma"), [])

    def test_where_it_fails_the_servers_own_lead_is_named_as_such(self, bench: Benches) -> None:
        """13.11. Alpha answers: slot 1. Ours: as the route's own lead, which it is, and not as
        a first fallback."""
        turn = self.drawn(bench, gamma=FAILS, alpha=HELLO)

        turn.run()

        assert [(n.model, n.slot) for n in notices(turn)] == [("alpha", LEAD)]


def test_the_oldest_exchange_is_left_out_of_a_small_window(bench: Benches) -> None:
    """13.12. A window of 1000 and a reserve of 100: the first exchange goes, the rest stays.

    Ours: three bytes a token instead of four characters less a tenth, and the reserve is what
    the request asks for."""
    history = [
        Item.said(Role.SYSTEM, "s" * 400, None),
        Item.said(Role.USER, "u" * 1600),
        Item.said(Role.MODEL, "m" * 800),
        Item.said(Role.USER, "u" * 800),
        Item.said(Role.MODEL, "m" * 400),
        Item.said(Role.USER, "u" * 300),
    ]
    small = ModelEntry(model=a_model("alpha", window=1000))
    server = a_server(primary=small, sampling=Sampling(max_output_tokens=100))
    turn = bench(ScriptedProvider(alpha=HELLO), server=server)

    turn.run(replace(a_request(), conversation=Conversation(items=tuple(history))))

    (call,) = turn.provider.seen
    assert call.conversation.items == (history[0], *history[3:])
    assert call.max_output_tokens == 100


class TestATurnThatIsRunAgain:
    """Nothing came, so the same plan is run once more; it is still the same turn."""

    RECORD = ToolRecord(
        name="remind", arguments_hash="0" * 64, nth=0, state=ToolState.DONE, result_json="{}"
    )

    def again(self) -> RunInvocation:
        """The first invocation of the second run; in the first one a tool had run and spoken."""
        state = when_ready(TurnState.begin(a_plan(1)))
        empty = Outcomes(state).empty()
        ran = replace(empty.ran, tool_results=(self.RECORD,), delivered=(PROGRESS, BY_TOOL))
        step = when_ready(state.after(replace(empty, ran=ran)).told(Waited())).next_step()
        assert isinstance(step, RunInvocation)
        return step

    def test_what_a_tool_has_done_is_not_done_again(self) -> None:
        assert self.again().tool_results == (self.RECORD,)

    def test_what_was_said_of_its_progress_is_taken_back(self) -> None:
        assert self.again().take_back == (PROGRESS,)


PROGRESS = a_delivery("m1", "Reminding you …", Origin.PROGRESS)
BY_TOOL = a_delivery("m2", "You will be reminded.", Origin.TOOL)
