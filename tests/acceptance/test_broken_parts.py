"""A part of the machinery itself breaks: the turn still ends once, and nothing is left over."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import pytest
from builders import USER, a_request
from fakes import HeedingProvider, ScriptedProvider, fails, hears, says
from turns import Bench, Benches, a_server, a_user

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.runner import Look, Stop
from turnkeeper.application.ports.turn_store import Closing
from turnkeeper.domain.admission import QuotaRule
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import SinkError, StoreUnavailable, TurnFailed
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.plan import Plan, ServerRoute
from turnkeeper.domain.settings import ServerSettings
from turnkeeper.domain.stream import StreamEvent, StreamFailed, TextDelta
from turnkeeper.domain.turn import Persona, TurnRequest
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore
from turnkeeper.infrastructure.threads import LookedAfter, ThreadRunner, ThreadWork

HELLO = says("Hello.")
LIMITED = fails(FailureKind.RATE_LIMIT)
AUTH = fails(FailureKind.AUTH)
LONG = "A paragraph that is long enough to be posted. " * 30 + "\n\n"
ONE = QuotaRule(enabled=True, daily_per_user=1)
T = TypeVar("T")


def nothing_is_held(turn: Bench) -> None:
    saved = turn.keys.keys(None)
    assert [one.key.health.in_flight for one in saved] == [0] * len(saved)


def asked_by_ann(**more: object) -> TurnRequest:
    return a_request("Hello", user_id=USER.id, **more)


def test_words_that_cannot_be_given_do_not_take_the_end_away(bench: Benches) -> None:
    turn = bench(ScriptedProvider(alpha=AUTH), server=a_server("alpha", quota=ONE))

    result = turn.run(asked_by_ann(locale=None))

    assert (result.status, turn.sink.finalized) == (TurnStatus.ERROR, [result])
    assert [event.committed for event in turn.of("QuotaSettled")] == [False]  # type: ignore[union-attr]
    nothing_is_held(turn)


class AwayAtTheEnd(MemoryTurnStore):
    """A store that is away when the first turn ends, and back after that."""

    closings = 0

    def close(self, closing: Closing) -> None:
        self.closings += 1
        if self.closings == 1:
            raise StoreUnavailable("the store is away")
        super().close(closing)


def test_a_turn_does_not_wait_for_one_whose_end_could_not_be_written(bench: Benches) -> None:
    turn = bench(ScriptedProvider(alpha=HELLO), turn_store=AwayAtTheEnd)
    turn.run()

    began_s = turn.clock.monotonic()
    result = turn.run()

    assert result.status is TurnStatus.COMPLETED
    assert turn.clock.monotonic() == began_s


class FewThreads(ThreadRunner):
    """Has no thread left for the first works that are started."""

    missing = 0

    def start(self, work: Callable[[Stop], T], name: str) -> ThreadWork[T]:
        if self.missing:
            self.missing -= 1
            raise RuntimeError("can't start new thread")
        return super().start(work, name)

    def here(self, work: Callable[[Stop], T], look: Look, *, first_look_s: float) -> LookedAfter[T]:
        if self.missing:
            self.missing -= 1
            raise RuntimeError("can't start new thread")
        return super().here(work, look, first_look_s=first_look_s)


@pytest.mark.parametrize("provider", [ScriptedProvider, HeedingProvider])
def test_a_thread_that_cannot_be_started_fails_the_attempt_and_books_its_key(
    bench: Benches, provider: type[ScriptedProvider]
) -> None:
    runner = FewThreads(settle_s=0.5)
    runner.missing = 1
    turn = bench(provider(alpha=HELLO, beta=HELLO), runner=runner)

    result = turn.run()

    assert result.success_model is not None
    assert result.success_model.name == "beta"
    nothing_is_held(turn)


@pytest.mark.parametrize("provider", [ScriptedProvider, HeedingProvider])
def test_what_stands_is_not_taken_back_where_its_successor_cannot_start(
    bench: Benches, provider: type[ScriptedProvider]
) -> None:
    runner = FewThreads(settle_s=0.5)

    def cut(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        yield TextDelta(LONG)
        runner.missing = 1
        yield StreamFailed(failure=Failure(kind=FailureKind.OVERLOADED, message="full"))

    turn = bench(provider(alpha=cut, beta=HELLO), runner=runner)

    result = turn.run()

    assert result.status is TurnStatus.ERROR
    assert turn.sink.channel.text == LONG.strip()
    assert [delivery.text for delivery in result.delivered] == [LONG.strip()]


def test_an_interrupt_of_the_caller_leaves_nothing_open(bench: Benches) -> None:
    class Interrupting(MemorySink):
        def finalize(self, result: object) -> None:
            raise KeyboardInterrupt

    turn = bench(ScriptedProvider(alpha=HELLO), server=a_server("alpha", quota=ONE))

    with pytest.raises(KeyboardInterrupt):
        turn.run(asked_by_ann(), Interrupting())

    assert turn.sink.cleaned_up == 1
    nothing_is_held(turn)
    assert turn.run(asked_by_ann(channel_id="channel")).status is TurnStatus.SKIPPED


def test_a_turn_that_cannot_be_planned_after_it_was_opened_holds_nothing(bench: Benches) -> None:
    turn = bench(ScriptedProvider(alpha=HELLO), server=a_server("alpha", quota=ONE, version=1))
    turn.run(a_request(user_id="bob"))
    turn.settings.now_server = a_server("alpha", quota=ONE, version=2)
    read = turn.settings.server

    def away(server_id: str) -> ServerSettings:
        raise StoreUnavailable("the store is away")

    turn.settings.server = away  # type: ignore[method-assign]
    failed = turn.run(asked_by_ann())
    turn.settings.server = read  # type: ignore[method-assign]

    assert failed.status is TurnStatus.ERROR
    assert turn.run(asked_by_ann()).status is TurnStatus.COMPLETED


def test_a_providers_own_words_do_not_reach_the_channel_as_its_code(bench: Benches) -> None:
    spam = fails(FailureKind.OVERLOADED, code="@everyone free nitro http://evil.example")
    turn = bench(ScriptedProvider(alpha=spam, beta=HELLO))

    turn.run()

    assert len(turn.sink.notices) == 1
    assert "everyone" not in repr(turn.sink.channel.messages)


def test_a_stop_that_a_provider_answers_with_a_failure_is_a_stop(bench: Benches) -> None:
    mailbox = Mailbox()
    broken = hears(mailbox, Signal.STOP_REQUESTED, fails(FailureKind.NETWORK, LONG))
    turn = bench(ScriptedProvider(alpha=broken))

    result = turn.run(mailbox=mailbox)

    assert result.status is TurnStatus.STOPPED_BY_USER
    assert [response.text for response in result.persona_responses] == [LONG.strip()]
    assert turn.health(turn.server_keys[0]).error_count == 0


def test_a_stream_that_nobody_listens_to_any_more_is_closed(bench: Benches) -> None:
    closed = []

    def stream(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        try:
            yield TextDelta(LONG)
            yield TextDelta("more")
        finally:
            closed.append(True)

    def full(text: str) -> None:
        raise SinkError("the channel is full")

    turn = bench(ScriptedProvider(alpha=stream))

    result = turn.run(sink=MemorySink(trouble=full))

    assert (result.status, closed) == (TurnStatus.ERROR, [True])


class TestImpersonation:
    REQUEST = a_request(trigger_id="t", impersonated=Persona(name="Ann"))

    def test_whoever_speaks_as_somebody_else_is_told_alone(self, bench: Benches) -> None:
        turn = bench(ScriptedProvider(alpha=AUTH, beta=AUTH))

        with pytest.raises(TurnFailed):
            turn.run(self.REQUEST)

        assert (turn.sink.channel.messages, turn.sink.finalized) == ((), [])

    def test_a_second_call_is_told_the_same(self, bench: Benches) -> None:
        turn = bench(ScriptedProvider(alpha=AUTH, beta=AUTH))
        for _ in range(2):
            with pytest.raises(TurnFailed):
                turn.run(self.REQUEST)

        assert turn.sink.finalized == []


def test_a_transformer_cannot_lend_what_the_account_has_turned_off(bench: Benches) -> None:
    def lend(plan: Plan, request: TurnRequest) -> Plan:
        return replace(plan, server_route=ServerRoute.MAY_OPEN)

    turn = bench(
        ScriptedProvider(mine=AUTH, alpha=HELLO),
        user=a_user("mine", server_fallback=False),
        transformers=(lend,),
    )

    result = turn.run()

    assert (result.status, turn.settings.server_reads) == (TurnStatus.ERROR, 0)


def test_a_transformer_sees_the_servers_attempts_too(bench: Benches) -> None:
    seen = []

    def look(plan: Plan, request: TurnRequest) -> Plan:
        seen.append([attempt.model.name for attempt in plan.attempts])
        return plan

    turn = bench(
        ScriptedProvider(mine=AUTH, alpha=HELLO), user=a_user("mine"), transformers=(look,)
    )

    turn.run()

    assert seen == [["mine"], ["alpha", "beta"]]
