"""Every way in which a stream can be late: which limit fires, and that the next attempt answers."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from builders import a_model
from fakes import (
    FrozenClock,
    HeedingProvider,
    InlineRunner,
    InlineWork,
    ScriptedProvider,
    says,
    stalls,
)
from turns import Benches, a_server
from walled import Walled, opened

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.runner import Stop
from turnkeeper.application.run_generation_turn import TurnRules
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.events import Entry, InvocationEnded
from turnkeeper.domain.outcome import Delivery, TurnStatus
from turnkeeper.domain.plan import ModelEntry
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, TextDelta
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import (
    Behaviour,
    CommentsOnly,
    Drip,
    Replay,
    Stall,
)
from turnkeeper.infrastructure.wall.server import Wall

WHOLE = Answer(text="The whole answer.")
SILENCE_S = 0.4
SHORT: dict[str, object] = {
    "first_progress_s": SILENCE_S,
    "silence_ms": int(SILENCE_S * 1000),
    "settle_ms": 200,
}
ENDLESS = {"first_progress_s": 60.0, "silence_ms": 60_000}
UNFINISHED = b'data: {"choices":[{"index":0,"delta":{"content":"' + b"x" * 4000
THINKS = Answer(reasoning=("hm ",) * 12, tokens=("Thought ", "out."), gap_s=0.1)
PARAGRAPHS = "\n\n".join(f"A paragraph, number {n}. " + "Word. " * 60 for n in range(9))

FIRST, SILENCE, PACE, ATTEMPT = (
    (0, "TimedOut", phase) for phase in ("first_progress", "silence", "pace", "attempt")
)
ANSWERED = (1, "Answered", "stop")

Open = Callable[..., Walled]


Scripted = type[ScriptedProvider]


@pytest.fixture(params=[ScriptedProvider, HeedingProvider])
def scripted(request: pytest.FixtureRequest) -> Scripted:
    """Asked by a thread that can be left behind, and by the turn's own."""
    kind: Scripted = request.param
    return kind


@pytest.fixture
def walled(tmp_path: Path) -> Iterator[Open]:
    keepers = []
    with Wall() as wall:

        def make(alpha: Behaviour, **settings: object) -> Walled:
            wall.script(alpha, model="alpha")
            wall.script(WHOLE, model="beta")
            keepers.append(opened(wall, tmp_path, **(SHORT | settings)))
            return Walled(keepers[-1], wall)

        yield make
        for keeper in keepers:
            keeper.close(0.0)


# ── over sockets ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fault", "settings", "end"),
    [
        (Stall(), {}, FIRST),
        (Stall(after_tokens=0), {}, FIRST),
        (Stall(after_tokens=1), {"first_progress_s": 30.0}, SILENCE),
        (CommentsOnly(every_s=0.05), {}, FIRST),
        (CommentsOnly(every_s=0.05, comment=b"event: ping\ndata: {}\n\n"), {}, FIRST),
        (Replay(body=UNFINISHED, slice_bytes=1, gap_s=0.02), {}, FIRST),
        (Drip(gap_s=0.6 * SILENCE_S), {"attempt_s": 1.0}, ATTEMPT),
        (Drip(gap_s=0.6 * SILENCE_S, kind="reasoning"), {"attempt_s": 1.0}, ATTEMPT),
        (Drip(gap_s=0.05), {"min_chars_per_s": 1000, "pace_window_s": 0.3}, PACE),
        (Drip(gap_s=0.05, kind="reasoning"), {"reasoning_is_progress": False}, FIRST),
        (THINKS, {"reasoning_is_progress": False}, FIRST),
        (Stall(), ENDLESS | {"attempt_s": 0.5}, ATTEMPT),
    ],
    ids=[
        "accept then silence",
        "headers then silence",
        "one token then silence",
        "comments",
        "pings",
        "bytes of one event",
        "a token just before each silence",
        "a thought just before each silence",
        "a drip below the pace",
        "thoughts alone where they do not count",
        "thoughts, then text, where they do not count",
        "silence without a limit of its own",
    ],
)
def test_each_limit_fires_as_its_own_outcome_and_the_next_attempt_answers(
    walled: Open, fault: Behaviour, settings: dict[str, object], end: tuple[int, str, str]
) -> None:
    turn = walled(fault, **settings)

    result = turn.run()

    assert turn.ends == [end, ANSWERED]
    assert (result.status, result.text) == (TurnStatus.COMPLETED, "The whole answer.")
    assert turn.sink.channel.text == "The whole answer."
    assert turn.booked[0] == ("neutral", "nothing")


@pytest.mark.parametrize(
    ("answer", "settings"),
    [
        (THINKS, {}),
        (THINKS, {"reasoning_is_progress": False, "first_progress_s": 30.0}),
        (replace(THINKS, reasoning=()), {"min_chars_per_s": 1, "pace_window_s": 30.0}),
        (THINKS, {"min_chars_per_s": 5, "pace_window_s": 1.0}),
    ],
    ids=[
        "thoughts count",
        "they do not, but there is time for them",
        "a short answer within its pace",
        "thoughts are part of the pace",
    ],
)
def test_a_stream_within_its_limits_is_left_alone(
    walled: Open, answer: Answer, settings: dict[str, object]
) -> None:
    turn = walled(answer, **({"silence_ms": 900, "first_progress_s": 0.9} | settings))

    turn.run()

    assert turn.ends == [(0, "Answered", "stop")]
    assert turn.sink.channel.text == "Thought out."


def test_the_turns_own_limit_ends_the_turn_and_asks_nobody_else(walled: Open) -> None:
    turn = walled(Stall(), **ENDLESS, turn_s=0.5)

    result = turn.run()

    assert turn.ends == [(0, "TimedOut", "turn")]
    assert (result.status, turn.calls("beta")) == (TurnStatus.TIMEOUT, 0)
    assert len(turn.sink.channel.said("error")) == 1


def test_an_abandoned_request_is_closed(walled: Open) -> None:
    turn = walled(Stall(after_tokens=1))

    turn.run()

    (asked,) = (seen for seen in turn.wall.seen if seen.model == "alpha")
    assert asked.client_gone.wait(10)


# ── by a clock of our own ───────────────────────────────────────────────────────────────────


class Patience(InlineRunner):
    """Notes how long abandoned work was given to settle."""

    def __init__(self, clock: FrozenClock, look: Callable[[], None] = lambda: None) -> None:
        super().__init__(clock)
        self.given_s: list[float] = []
        self._frozen = clock
        self._look = look

    def start(self, work: Callable[[Stop], object], name: str) -> InlineWork:  # type: ignore[type-arg]
        given_s, look = self.given_s, self._look

        class Watched(InlineWork[object]):
            def abandon(self, settle_s: float) -> bool:
                given_s.append(settle_s)
                look()
                return super().abandon(settle_s)

        started = Watched(work, self._frozen)
        if not name.startswith("invocation"):
            started.run()
        return started


def ended_at_s(entries: list[Entry]) -> list[tuple[float, str]]:
    return [(e.at_s, e.event.detail) for e in entries if isinstance(e.event, InvocationEnded)]


@pytest.mark.parametrize(
    ("limits", "script", "end"),
    [
        (TimeLimits(first_progress_s=12), stalls(), (12.0, "first_progress")),
        (TimeLimits(silence_s=120), stalls("Some text."), (120.0, "silence")),
        (TimeLimits(silence_s=700), stalls("Some text."), (600.0, "attempt")),
        (TimeLimits(silence_s=990, attempt_s=990), stalls("Some text."), (900.0, "turn")),
    ],
    ids=["first progress", "silence", "attempt", "turn"],
)
def test_each_limit_is_waited_out_to_the_second(
    bench: Benches, limits: TimeLimits, script: object, end: tuple[float, str]
) -> None:
    turn = bench(
        ScriptedProvider(alpha=script, beta=says("Hello.")),  # type: ignore[arg-type]
        rules=TurnRules(limits=limits),
    )

    turn.run()

    assert ended_at_s(list(turn.recorder.entries))[0] == pytest.approx(end)


def test_the_last_that_may_answer_is_given_longer_for_its_first_word(bench: Benches) -> None:
    turn = bench(ScriptedProvider(alpha=stalls()), server=a_server("alpha"))

    turn.run()

    assert ended_at_s(list(turn.recorder.entries)) == [(300.0, "first_progress")]


def test_so_is_a_model_that_thinks_first(bench: Benches) -> None:
    thinker = ModelEntry(model=a_model("alpha", reasoning=True))
    turn = bench(
        ScriptedProvider(alpha=stalls(), beta=says("Hello.")),
        server=replace(a_server("alpha", "beta"), primary=thinker),
    )

    turn.run()

    assert ended_at_s(list(turn.recorder.entries))[0] == (300.0, "first_progress")


class TestTheSettleTime:
    """STREAM_ABANDONED_SETTLE_TIMEOUT_MS."""

    def given_s(self, bench: Benches, mailbox: Mailbox | None = None, **limits: float) -> float:
        """How long a stream that does not settle is waited for."""
        clock = FrozenClock()
        look = (lambda: mailbox.put(Signal.STOP_REQUESTED)) if mailbox else (lambda: None)
        runner = Patience(clock, look)
        turn = bench(
            ScriptedProvider(alpha=stalls("Some text.", settles=False), beta=says("Hello.")),
            clock=clock,
            runner=runner,
            rules=TurnRules(limits=TimeLimits(**limits)),  # type: ignore[arg-type]
        )
        result = turn.run(mailbox=mailbox or Mailbox())
        ended = TurnStatus.STOPPED_BY_USER if mailbox else TurnStatus.COMPLETED
        if "turn_s" not in limits:
            assert result.status is ended
        (leak,) = turn.of("EffectFailed")
        assert leak.effect == "abandoned stream"  # type: ignore[union-attr]
        return sum(runner.given_s)

    def test_it_is_waited_out_where_the_stream_does_not_settle(self, bench: Benches) -> None:
        assert self.given_s(bench, settle_s=5) == 5

    def test_zero_does_not_wait(self, bench: Benches) -> None:
        assert self.given_s(bench, settle_s=0) == 0

    def test_a_stop_ends_it(self, bench: Benches) -> None:
        assert self.given_s(bench, Mailbox(), settle_s=60) <= 1

    def test_the_turns_own_limit_leaves_none_of_it(self, bench: Benches) -> None:
        assert self.given_s(bench, settle_s=60, turn_s=100) <= 1

    def test_a_stream_that_settles_is_no_leak(self, bench: Benches) -> None:
        turn = bench(ScriptedProvider(alpha=stalls("Some text."), beta=says("Hello.")))

        turn.run()

        assert turn.of("EffectFailed") == []


# ── with threads ────────────────────────────────────────────────────────────────────────────


def completes_when_stopped(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
    """All of an answer but its end, which comes as soon as it is told to stop."""
    yield TextDelta("The late answer.")
    woken = Event()
    stop.on_stop(woken.set)
    assert woken.wait(30)
    yield Finished(reason=FinishReason.STOP)


def limits(**values: float) -> TurnRules:
    short = {"silence_s": 0.2, "first_progress_s": 60.0, "settle_s": 30.0}
    return TurnRules(limits=TimeLimits(**(short | values)))  # type: ignore[arg-type]


class TestAStreamThatCompletesWhileItSettles:
    def test_is_its_real_outcome(self, bench: Benches, scripted: Scripted) -> None:
        provider = scripted(alpha=completes_when_stopped, beta=says("Hello."))
        turn = bench(provider, clock=SystemClock(), runner=ThreadRunner(), rules=limits())

        result = turn.run()

        assert (result.status, turn.sink.channel.text) == (
            TurnStatus.COMPLETED,
            "The late answer.",
        )
        assert [model for model, _ in provider.calls] == ["alpha"]
        assert result.failures == ()

    def test_is_a_time_out_where_the_turns_limit_came_first(
        self, bench: Benches, scripted: Scripted
    ) -> None:
        turn = bench(
            scripted(alpha=completes_when_stopped, beta=says("Hello.")),
            clock=SystemClock(),
            runner=ThreadRunner(),
            rules=limits(silence_s=60.0, turn_s=0.3),
        )

        result = turn.run()

        assert (result.status, turn.sink.channel.text) == (TurnStatus.TIMEOUT, "")


class TestAPostThatTakesLongerThanTheSilenceLimit:
    def test_is_not_the_providers_silence(self, bench: Benches, scripted: Scripted) -> None:
        turn = bench(
            scripted(alpha=says(PARAGRAPHS, "The end.")),
            clock=SystemClock(),
            runner=ThreadRunner(),
            rules=limits(silence_s=0.1),
        )

        result = turn.run(sink=MemorySink(trouble=lambda text: time.sleep(0.3)))

        assert (result.status, result.failures) == (TurnStatus.COMPLETED, ())

    def test_nor_is_an_edit(self, bench: Benches, scripted: Scripted) -> None:
        class Slow(MemorySink):
            is_prompt = False

            def edit(self, delivery: Delivery, text: str) -> Delivery:
                time.sleep(0.3)
                return super().edit(delivery, text)

        turn = bench(
            ScriptedProvider(alpha=says("One. ", "Two. ", "Three.")),
            clock=SystemClock(),
            runner=ThreadRunner(),
            rules=limits(silence_s=0.1),
        )

        result = turn.run(sink=Slow(edit_interval_s=0.0))

        assert (result.status, result.failures) == (TurnStatus.COMPLETED, ())
        assert turn.sink.channel.text == "One. Two. Three."

    def test_is_bounded_by_the_attempts_total_and_gone_when_it_arrives(
        self, bench: Benches, scripted: Scripted
    ) -> None:
        release, gone = Event(), Event()

        class Sticky(MemorySink):
            is_prompt = False

            def take_back(self, delivery: Delivery) -> bool:
                is_gone = super().take_back(delivery)
                gone.set()
                return is_gone

        def hold(text: str) -> None:
            if "paragraph" in text:
                assert release.wait(30)

        turn = bench(
            ScriptedProvider(alpha=says(PARAGRAPHS), beta=says("Hello.")),
            clock=SystemClock(),
            runner=ThreadRunner(),
            rules=limits(silence_s=60.0, attempt_s=0.3, settle_s=0.1),
        )

        result = turn.run(sink=Sticky(trouble=hold))
        release.set()

        assert [failed.failure.rule for failed in result.failures] == ["timeout.attempt"]
        assert [event.effect for event in turn.of("EffectFailed")] == ["abandoned stream"]  # type: ignore[union-attr]
        assert gone.wait(30)
        assert turn.sink.channel.text == "Hello."
