"""A turn is stopped, or interrupted, at any point and from anywhere: one right ending each."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Event

import pytest
from fakes import HeedingProvider, Script, ScriptedProvider, fails, says
from sqlalchemy import Engine, text
from turns import Bench, Benches, a_server
from walled import Walled, opened, settings_of

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.runner import Stop, Work
from turnkeeper.application.run_generation_turn import TurnRules
from turnkeeper.domain.admission import RefusalKind
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import Delivery, TurnStatus
from turnkeeper.domain.policy import TimeLimits, TurnPolicy
from turnkeeper.domain.rotation import KeyHealth
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, TextDelta
from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Behaviour, Drip, Stall
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.turnkeeper import Turnkeeper

WAIT_S = 30.0  # only ever waited out by a test that fails
STOP, FOLLOW_UP = Signal.STOP_REQUESTED, Signal.FOLLOW_UP_REQUESTED
STOPPED, INTERRUPTED = TurnStatus.STOPPED_BY_USER, TurnStatus.FOLLOW_UP_INTERRUPT
HELLO = Answer(text="Hello.")
SILENT = Stall()
MID_TEXT = Stall(after_tokens=1, of=Answer(tokens=("What was said,", " and was not.")))

Open = Callable[..., Walled]


Scripted = type[ScriptedProvider]


@pytest.fixture(params=[ScriptedProvider, HeedingProvider])
def scripted(request: pytest.FixtureRequest) -> Scripted:
    """Asked by a thread that can be left behind, and by the turn's own."""
    kind: Scripted = request.param
    return kind


@pytest.fixture
def runner() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def walled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Makes turnkeepers on one wall and one store, whose alpha does as it is told."""
    values: dict[str, object] = {"store": request.param}
    if request.param == "postgres":
        values["database_url"] = request.getfixturevalue("database_url")
    keepers = []
    with Wall() as wall:

        def make(alpha: Behaviour, **settings: object) -> Walled:
            wall.script(alpha, model="alpha")
            wall.script(HELLO, model="beta")
            keepers.append(opened(wall, tmp_path, **(values | settings)))
            return Walled(keepers[-1], wall)

        yield make
        for keeper in keepers:
            keeper.close(0.0)


def running(
    turn: Walled, runner: ThreadRunner, turn_id: str = "t1", posts: int = 0, calls: int = 1
) -> Work[TurnResult]:
    """A turn that has called its provider, and has posted so many messages."""
    posted = SimpleQueue[str]()

    class Noting(MemorySink):
        def post(self, text: str, **more: object) -> Delivery:
            delivery = super().post(text, **more)  # type: ignore[arg-type]
            posted.put(text)
            return delivery

    sink = Noting(edit_interval_s=0.0)
    work = runner.start(lambda stop: turn.run(sink=sink, turn_id=turn_id), turn_id)
    turn.wall.await_seen(calls, timeout_s=WAIT_S)
    for _ in range(posts):
        posted.get(timeout=WAIT_S)
    return work


def ending(turn: Walled, work: Work[TurnResult]) -> tuple[object, ...]:
    """How the turn ended, what is to be read, and whom it blames."""
    result = work.result(WAIT_S)
    assert result.text == turn.sink.channel.text.strip()
    assert turn.sink.channel.said("error") == turn.sink.channel.said("notice") == ()
    (end,) = turn.ends
    return (result.status, end[1], turn.sink.channel.text, turn.booked, turn.calls("beta"))


def stopped(text: str) -> tuple[object, ...]:
    return (STOPPED, "Stopped", text, [("neutral", "nothing")], 0)


def interrupted(text: str) -> tuple[object, ...]:
    return (INTERRUPTED, "Interrupted", text, [("neutral", "nothing")], 0)


# ── while a provider is asked ───────────────────────────────────────────────────────────────


class TestFromThisProcess:
    def test_before_the_first_word(self, walled: Open, runner: ThreadRunner) -> None:
        turn = walled(SILENT)

        work = running(turn, runner)
        turn.keeper.stop("t1")

        assert ending(turn, work) == stopped("")

    def test_in_the_middle_of_the_text(self, walled: Open, runner: ThreadRunner) -> None:
        turn = walled(MID_TEXT)

        work = running(turn, runner, posts=1)
        turn.keeper.stop("t1")

        assert ending(turn, work) == stopped("What was said,")

    def test_in_the_middle_of_a_flood(self, walled: Open, runner: ThreadRunner) -> None:
        turn = walled(Drip(gap_s=0.001))

        work = running(turn, runner, posts=1)
        turn.keeper.stop("t1")
        work.result(WAIT_S)
        shown = turn.sink.channel.text
        (asked,) = turn.wall.seen

        assert asked.sent.over.wait(WAIT_S)  # the wall has met the closed line
        assert turn.sink.channel.text == shown
        assert ending(turn, work) == stopped(shown)

    def test_by_a_follow_up(self, walled: Open, runner: ThreadRunner) -> None:
        turn = walled(MID_TEXT)

        work = running(turn, runner, posts=1)
        turn.keeper.follow_up("t1")

        assert ending(turn, work) == interrupted("What was said,")

    def test_by_both_it_is_a_stop(self, walled: Open, runner: ThreadRunner) -> None:
        turn = walled(MID_TEXT)

        work = running(turn, runner, posts=1)
        turn.keeper.stop("t1")
        turn.keeper.follow_up("t1")

        assert ending(turn, work) == stopped("What was said,")

    def test_the_line_to_the_provider_is_closed(self, walled: Open, runner: ThreadRunner) -> None:
        turn = walled(SILENT)

        work = running(turn, runner)
        turn.keeper.stop("t1")
        work.result(WAIT_S)

        assert turn.wall.seen[0].client_gone.wait(WAIT_S)

    def test_the_key_serves_the_next_turn(self, walled: Open, runner: ThreadRunner) -> None:
        turn = walled(SILENT)
        work = running(turn, runner)
        turn.keeper.stop("t1")
        work.result(WAIT_S)
        turn.wall.script(HELLO, model="alpha")

        turn.run()

        assert turn.ends == [(0, "Answered", "stop")]


# ── for whom it is ──────────────────────────────────────────────────────────────────────────


class TestAStopIsForOneTurn:
    def test_one_for_a_turn_that_has_ended_reaches_nobody(self, walled: Open) -> None:
        turn = walled(HELLO)
        turn.run(turn_id="t1")

        assert turn.keeper.stop("t1") is False
        assert turn.run(turn_id="t2").status is TurnStatus.COMPLETED

    def test_one_that_a_turn_ended_on_does_not_end_the_next(
        self, walled: Open, runner: ThreadRunner
    ) -> None:
        turn = walled(SILENT)
        work = running(turn, runner)
        turn.keeper.stop("t1")
        turn.keeper.stop("t1")
        work.result(WAIT_S)
        turn.wall.script(HELLO, model="alpha")

        assert turn.run(turn_id="t2").status is TurnStatus.COMPLETED

    def test_one_that_comes_with_the_last_word_does_not_take_it_away(self, walled: Open) -> None:
        turn = walled(HELLO)

        class Late(MemorySink):
            def finalize(self, result: TurnResult) -> None:
                super().finalize(result)
                turn.keeper.stop("t1")

        first = turn.run(sink=Late(), turn_id="t1")

        assert first.status is TurnStatus.COMPLETED
        assert turn.run(turn_id="t2").status is TurnStatus.COMPLETED


# ── from another process ────────────────────────────────────────────────────────────────────

OTHER = """
import sys
from pathlib import Path
from turnkeeper.interfaces import Settings, Turnkeeper

with Turnkeeper.open(Settings(data_dir=Path(sys.argv[1]), database_url=sys.argv[2])) as keeper:
    print(getattr(keeper, sys.argv[3])("t1"))
"""


@pytest.mark.postgres
class TestFromAnotherProcess:
    @pytest.fixture
    def turn(self, tmp_path: Path, database_url: str) -> Iterator[Walled]:
        with Wall() as wall:
            wall.script(HELLO, model="beta")
            with opened(wall, tmp_path, store="postgres", database_url=database_url) as keeper:
                yield Walled(keeper, wall)

    @pytest.fixture
    def press(self, tmp_path: Path, database_url: str) -> Callable[[str], str]:
        def press(button: str) -> str:
            return subprocess.run(
                [sys.executable, "-W", "error", "-c", OTHER, tmp_path, database_url, button],
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            ).stdout.strip()

        return press

    @pytest.mark.parametrize(
        ("alpha", "posts", "button", "end"),
        [
            (SILENT, 0, "stop", stopped("")),
            (MID_TEXT, 1, "stop", stopped("What was said,")),
            (MID_TEXT, 1, "follow_up", interrupted("What was said,")),
        ],
        ids=["before the first word", "in the middle of the text", "a follow-up"],
    )
    def test_it_ends_as_it_does_from_this_one(
        self,
        turn: Walled,
        runner: ThreadRunner,
        press: Callable[[str], str],
        alpha: Behaviour,
        posts: int,
        button: str,
        end: tuple[object, ...],
    ) -> None:
        turn.wall.script(alpha, model="alpha")

        work = running(turn, runner, posts=posts)
        heard = press(button)

        assert (heard, ending(turn, work)) == ("True", end)
        assert turn.wall.seen[0].client_gone.wait(WAIT_S)

    def test_a_turn_that_has_ended_hears_nothing(
        self, turn: Walled, press: Callable[[str], str]
    ) -> None:
        turn.wall.script(HELLO, model="alpha")
        turn.run(turn_id="t1")

        assert press("stop") == "False"
        assert turn.run(turn_id="t2").status is TurnStatus.COMPLETED


@pytest.mark.postgres
def test_a_late_owner_does_not_free_its_successors_channel(
    tmp_path: Path, database_url: str, database: Engine, runner: ThreadRunner
) -> None:
    values = {"store": "postgres", "database_url": database_url, "channel_wait_s": 0}
    with Wall() as wall:
        wall.script(SILENT, model="alpha")
        with (
            opened(wall, tmp_path, **values) as one,
            Turnkeeper.open(settings_of(tmp_path, **values)) as two,
        ):
            first, second, third = Walled(one, wall), Walled(two, wall), Walled(two, wall)
            work = running(first, runner, "t1")
            say_it_died(database)
            successor = running(second, runner, "t2", calls=2)
            one.stop("t1")
            late = work.result(WAIT_S)
            refused = third.run()
            two.stop("t2")

            assert late.status is STOPPED
            assert refused.refusal is not None
            assert refused.refusal.kind is RefusalKind.CHANNEL_BUSY
            assert successor.result(WAIT_S).status is STOPPED


def say_it_died(database: Engine) -> None:
    with connected(database) as connection:
        connection.execute(text("UPDATE turns SET alive_until = now()"))
        connection.execute(text("UPDATE channel_leases SET until = now()"))


# ── between the calls, and beside them ──────────────────────────────────────────────────────


class Listening(SystemClock):
    """Says when a turn begins to wait, and whether it was woken."""

    def __init__(self) -> None:
        self.waits = Event()
        self.was_woken: bool | None = None

    def wait(self, event: Event, timeout_s: float) -> bool:
        self.waits.set()
        self.was_woken = super().wait(event, timeout_s)
        return self.was_woken


def ran(turn: Bench, runner: ThreadRunner, mailbox: Mailbox) -> Work[TurnResult]:
    return runner.start(lambda stop: turn.run(mailbox=mailbox), "turn")


@pytest.mark.parametrize(
    ("signal", "status"), [(STOP, STOPPED), (FOLLOW_UP, INTERRUPTED)], ids=["stop", "follow-up"]
)
def test_while_the_turn_waits_for_a_key_to_come_back(
    bench: Benches,
    runner: ThreadRunner,
    signal: Signal,
    status: TurnStatus,
    scripted: Scripted,
) -> None:
    clock, mailbox = Listening(), Mailbox()
    limited = fails(FailureKind.RATE_LIMIT, retry_after_s=60.0)
    provider = ScriptedProvider(alpha=limited, beta=says("Hello."))
    turn = bench(
        provider,
        clock=clock,
        runner=runner,
        rules=TurnRules(policy=TurnPolicy(key_wait_s=120.0)),
        server=a_server("alpha"),
    )

    work = ran(turn, runner, mailbox)
    assert clock.waits.wait(WAIT_S)
    mailbox.put(signal)

    assert work.result(WAIT_S).status is status
    assert clock.was_woken
    assert [model for model, _ in provider.calls] == ["alpha"]
    assert turn.sink.channel.messages == ()


def goes_on_when_stopped(asked: Event, release: Event) -> Script:
    """An answer whose end comes although it was told to stop, once it is let."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        yield TextDelta("Too late.")
        stop.on_stop(asked.set)
        assert release.wait(WAIT_S)
        yield Finished(reason=FinishReason.STOP)

    return script


@pytest.mark.parametrize(
    ("signal", "status"), [(STOP, STOPPED), (FOLLOW_UP, INTERRUPTED)], ids=["stop", "follow-up"]
)
def test_while_an_abandoned_stream_settles(
    bench: Benches, runner: ThreadRunner, signal: Signal, status: TurnStatus
) -> None:
    asked, release, mailbox = Event(), Event(), Mailbox()
    provider = ScriptedProvider(alpha=goes_on_when_stopped(asked, release), beta=says("Hello."))
    turn = bench(
        provider,
        clock=SystemClock(),
        runner=runner,
        rules=TurnRules(limits=TimeLimits(silence_s=0.1, settle_s=WAIT_S)),
    )

    work = ran(turn, runner, mailbox)
    assert asked.wait(WAIT_S)  # it was abandoned for its silence
    mailbox.put(signal)
    result = work.result(WAIT_S / 2)  # it is not waited for any longer
    release.set()

    assert (result.status, [model for model, _ in provider.calls]) == (status, ["alpha"])
    assert [event.effect for event in turn.of("EffectFailed")] == ["abandoned stream"]  # type: ignore[union-attr]
    turn.close()  # which waits for the stream
    assert turn.sink.channel.messages == ()


def test_an_answer_that_completes_after_the_stop_is_not_shown(
    bench: Benches, runner: ThreadRunner, scripted: Scripted
) -> None:
    release, mailbox = Event(), Mailbox()
    waits = Event()

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        yield TextDelta("Too late.")
        stop.on_stop(release.set)
        waits.set()
        assert release.wait(WAIT_S)
        yield Finished(reason=FinishReason.STOP)

    turn = bench(ScriptedProvider(alpha=script), clock=SystemClock(), runner=runner)

    work = ran(turn, runner, mailbox)
    assert waits.wait(WAIT_S)
    mailbox.put(STOP)

    assert work.result(WAIT_S).status is STOPPED
    assert turn.sink.channel.messages == ()


class Gated(MemorySink):
    """A sink whose posts, or edits, of a text are under way until they are let through."""

    is_prompt = False

    def __init__(self, what: str, text: str) -> None:
        super().__init__(edit_interval_s=0.0)
        self.what, self.text = what, text
        self.under_way, self.let, self.over = Event(), Event(), Event()
        self.changes: list[str] = []

    def post(self, text: str, **more: object) -> Delivery:
        if self.what == "post" and text == self.text:
            self.hold()
        return super().post(text, **more)  # type: ignore[arg-type]

    def edit(self, delivery: Delivery, text: str) -> Delivery:
        if self.what == "edit" and text == self.text:
            self.hold()
        after = super().edit(delivery, text)
        self.changes.append(text)
        if len(self.changes) == 2:
            self.over.set()
        return after

    def take_back(self, delivery: Delivery) -> bool:
        is_gone = super().take_back(delivery)
        self.over.set()
        return is_gone

    def hold(self) -> None:
        self.under_way.set()
        assert self.let.wait(WAIT_S)


@pytest.mark.parametrize(
    ("what", "text", "left"), [("post", "One.", ""), ("edit", "One. Two.", "One.")]
)
def test_a_message_that_was_under_way_is_undone_when_it_arrives(
    bench: Benches,
    runner: ThreadRunner,
    what: str,
    text: str,
    left: str,
    scripted: Scripted,
) -> None:
    sink, mailbox = Gated(what, text), Mailbox()
    turn = bench(
        scripted(alpha=says("One.", " Two.", " Three.")),
        clock=SystemClock(),
        runner=runner,
        rules=TurnRules(limits=TimeLimits(settle_s=0.1)),
        text_rules=TextRules(hold_chars=0),
    )

    work = runner.start(lambda stop: turn.run(sink=sink, mailbox=mailbox), "turn")
    assert sink.under_way.wait(WAIT_S)
    mailbox.put(STOP)
    result = work.result(WAIT_S)
    sink.let.set()

    assert sink.over.wait(WAIT_S)
    assert (result.status, result.text, sink.channel.text) == (STOPPED, left, left)


def test_a_follow_up_that_comes_with_a_limit_is_an_interrupt(
    bench: Benches, scripted: Scripted
) -> None:
    mailbox = Mailbox()

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        stop.on_stop(lambda: mailbox.put(FOLLOW_UP))
        yield TextDelta("Some text.")
        while not stop.is_set:
            mailbox.arrived.wait(0.01)
        stop.check()

    turn = bench(
        ScriptedProvider(alpha=script, beta=says("Hello.")),
        clock=SystemClock(),
        runner=ThreadRunner(),
        rules=TurnRules(limits=TimeLimits(silence_s=0.1)),
    )

    assert turn.run(mailbox=mailbox).status is INTERRUPTED


def test_before_it_runs_nobody_is_asked(bench: Benches) -> None:
    provider, mailbox = ScriptedProvider(alpha=says("Hello.")), Mailbox()
    mailbox.put(STOP)
    turn = bench(provider)

    result = turn.run(mailbox=mailbox)

    assert (result.status, provider.calls) == (STOPPED, [])
    assert turn.health(turn.server_keys[0]) == KeyHealth()
