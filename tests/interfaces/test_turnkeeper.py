import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import psutil
import pytest
from builders import a_request
from fakes import Script, hangs, says
from keepers import ask_the_wall, scripted, servers_on

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.runner import Stop, Work
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import AlreadyRunning, Busy, Closed, SettingsError
from turnkeeper.domain.events import CleanedUp, Entry, SignalHeard, TurnEnded, TurnStarted
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.stream import StreamEvent
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.simple_sink import SimpleSink
from turnkeeper.interfaces.turnkeeper import Turnkeeper

LONG_S = 30.0
CANARY = "sk-canary-0123456789abcdef"


class Waiting:
    """A script that says when it is asked, and answers when it is let."""

    def __init__(self) -> None:
        self.asked = Event()
        self.let = Event()

    def __call__(self, call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        self.asked.set()
        forget = stop.on_stop(self.let.set)
        assert self.let.wait(LONG_S)
        forget()
        stop.check()
        yield from says("the answer")(call, stop)


@pytest.fixture
def runner() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


def started(
    runner: ThreadRunner, keeper: Turnkeeper, turn_id: str = "t1", channel_id: str = "channel"
) -> Work[TurnResult]:
    asked = a_request(channel_id=channel_id)
    return runner.start(lambda stop: keeper.run(asked, MemorySink(), turn_id=turn_id), turn_id)


# ── a turn ──────────────────────────────────────────────────────────────────────────────────


def test_a_turn_is_answered_by_a_provider_on_the_network(tmp_path: Path) -> None:
    with Wall() as wall, Turnkeeper.open(Settings(store="memory", data_dir=tmp_path)) as keeper:
        wall.script(Answer(text="Hello, you."), model="alpha", key="sk-alpha")
        ask_the_wall(keeper, wall.base_url, key="sk-alpha")

        result = keeper.run(a_request(), SimpleSink())

    assert (result.status, result.text) == (TurnStatus.COMPLETED, "Hello, you.")


@pytest.mark.postgres
def test_a_turn_is_answered_and_journalled_on_postgres(database_url: str, tmp_path: Path) -> None:
    settings = Settings(database_url=database_url, data_dir=tmp_path)
    with Wall() as wall:
        wall.script(Answer(text="Hello, you."), model="alpha")
        with Turnkeeper.open(settings) as keeper:
            ask_the_wall(keeper, wall.base_url, key="sk-alpha")
            result = keeper.run(a_request(), SimpleSink(), turn_id="t1")
        with Turnkeeper.open(settings) as again:
            entries = again.events("t1")

    assert result.text == "Hello, you."
    assert [entry.seq for entry in entries] == list(range(len(entries)))
    assert isinstance(entries[-1].event, CleanedUp)


def test_events_are_heard_as_they_happen_and_kept(tmp_path: Path) -> None:
    heard: list[Entry] = []
    with scripted(tmp_path, says("hello")) as keeper:
        keeper.run(a_request(), SimpleSink(), turn_id="t1", on_event=heard.append)

        assert keeper.events("t1") == tuple(sorted(heard, key=lambda entry: entry.seq))
        assert keeper.recent() == ("t1",)
    assert isinstance(heard[0].event, TurnStarted)


def test_a_listener_that_fails_does_not_end_the_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def listen(entry: Entry) -> None:
        raise RuntimeError("the host's bug")

    with scripted(tmp_path, says("hello")) as keeper:
        result = keeper.run(a_request(), SimpleSink(), on_event=listen)

    assert result.text == "hello"
    assert "a listener failed for TurnStarted" in caplog.text


def test_a_key_is_in_no_event_result_or_text_that_people_see(tmp_path: Path) -> None:
    heard: list[Entry] = []
    sink = MemorySink()
    echo = {"error": {"message": f"Incorrect API key provided: {CANARY}.", "code": CANARY}}
    with Wall() as wall, Turnkeeper.open(Settings(store="memory", data_dir=tmp_path)) as keeper:
        wall.script(Refuse(status=401, body=echo, headers=(("x-key", CANARY),)), model="alpha")
        ask_the_wall(keeper, wall.base_url, key=CANARY)

        result = keeper.run(a_request(), sink, on_event=heard.append)

        assert [seen.key for seen in wall.seen] == [CANARY]
        assert result.status is TurnStatus.ERROR
        shown = (result, sink.channel.messages, heard, keeper.configure.saved_keys())
        assert CANARY not in repr(shown)


# ── many turns ──────────────────────────────────────────────────────────────────────────────


def test_beyond_the_limit_a_turn_is_busy(tmp_path: Path, runner: ThreadRunner) -> None:
    script = Waiting()
    with scripted(tmp_path, script, max_turns=1, queue_s=0.0) as keeper:
        first = started(runner, keeper)
        assert script.asked.wait(LONG_S)

        with pytest.raises(Busy):
            keeper.run(a_request(channel_id="elsewhere"), SimpleSink())

        script.let.set()
        assert first.result(LONG_S).text == "the answer"


def test_the_same_id_is_not_run_twice_at_once(tmp_path: Path, runner: ThreadRunner) -> None:
    script = Waiting()
    with scripted(tmp_path, script) as keeper:
        first = started(runner, keeper, "t1")
        assert script.asked.wait(LONG_S)

        with pytest.raises(AlreadyRunning):
            keeper.run(a_request(channel_id="elsewhere"), SimpleSink(), turn_id="t1")

        script.let.set()
        first.result(LONG_S)


@pytest.mark.parametrize("place", ["here", "in another process"])
def test_a_turn_is_stopped_from_any_thread(
    place: str, tmp_path: Path, runner: ThreadRunner
) -> None:
    script = Waiting()
    with scripted(tmp_path, script) as keeper:
        turn = started(runner, keeper)
        assert script.asked.wait(LONG_S)

        if place == "here":
            assert keeper.stop("t1")
        else:
            assert keeper.stop_channel("guild", "channel") == ("t1",)

        assert turn.result(LONG_S).status is TurnStatus.STOPPED_BY_USER
        assert not keeper.stop("t1")


def test_a_follow_up_ends_the_turn_as_interrupted(tmp_path: Path, runner: ThreadRunner) -> None:
    script = Waiting()
    with scripted(tmp_path, script) as keeper:
        turn = started(runner, keeper)
        assert script.asked.wait(LONG_S)

        assert keeper.follow_up("t1")

        assert turn.result(LONG_S).status is TurnStatus.FOLLOW_UP_INTERRUPT


def test_stopping_a_channel_leaves_the_other_channels_alone(
    tmp_path: Path, runner: ThreadRunner
) -> None:
    script = Waiting()
    with scripted(tmp_path, script) as keeper:
        turn = started(runner, keeper)
        assert script.asked.wait(LONG_S)

        assert keeper.stop_channel("guild", "elsewhere") == ()

        script.let.set()
        assert turn.result(LONG_S).status is TurnStatus.COMPLETED


# ── the end ─────────────────────────────────────────────────────────────────────────────────


def test_closing_lets_running_turns_end_and_sends_waiting_ones_away(
    tmp_path: Path, runner: ThreadRunner
) -> None:
    script = Waiting()
    keeper = scripted(tmp_path, script, max_turns=1, queue_s=LONG_S)
    running = started(runner, keeper)
    assert script.asked.wait(LONG_S)
    waiting = started(runner, keeper, "t2", channel_id="elsewhere")

    closing = runner.start(lambda stop: keeper.close(LONG_S), "closing")

    with pytest.raises(Closed):
        waiting.result(LONG_S)
    script.let.set()
    assert running.result(LONG_S).status is TurnStatus.COMPLETED
    assert closing.result(LONG_S) is None


def test_closing_stops_the_turns_that_do_not_end_in_time(
    tmp_path: Path, runner: ThreadRunner
) -> None:
    script = Waiting()
    keeper = scripted(tmp_path, script)
    heard: list[Entry] = []
    turn = runner.start(
        lambda stop: keeper.run(a_request(), SimpleSink(), on_event=heard.append), "turn"
    )
    assert script.asked.wait(LONG_S)

    keeper.close(0.0)

    assert turn.result(LONG_S).status is TurnStatus.STOPPED_BY_USER
    signals = [entry.event for entry in heard if isinstance(entry.event, SignalHeard)]
    assert signals == [SignalHeard(signal=Signal.SYSTEM_STOP_REQUESTED.value)]
    assert keeper.running == ()


def test_a_closed_turnkeeper_takes_no_turns(tmp_path: Path) -> None:
    keeper = scripted(tmp_path, says("hello"))
    keeper.close()
    keeper.close()

    with pytest.raises(Closed):
        keeper.run(a_request(), SimpleSink())
    for use in (
        lambda: keeper.stop("t1"),
        lambda: keeper.stop_channel("guild", "channel"),
        lambda: keeper.events("t1"),
        keeper.recent,
        lambda: keeper.configure,
    ):
        with pytest.raises(Closed):
            use()


@pytest.mark.postgres
def test_closing_leaves_no_thread_and_no_connection(database_url: str, tmp_path: Path) -> None:
    threads = set(threading.enumerate())
    connections = _connections()
    settings = Settings(database_url=database_url, data_dir=tmp_path)
    with Wall() as wall:
        wall.script(Answer(text="Hello, you."), model="alpha")
        with Turnkeeper.open(settings) as keeper:
            ask_the_wall(keeper, wall.base_url, key="sk-alpha")
            keeper.run(a_request(), SimpleSink())

    for thread in set(threading.enumerate()) - threads:
        thread.join(LONG_S)
    assert set(threading.enumerate()) <= threads
    assert _connections() == connections


def _connections() -> int:
    return len(psutil.Process().net_connections("all"))


@pytest.mark.postgres
def test_a_turnkeeper_that_does_not_open_leaves_no_server(passable_folder: Path) -> None:
    settings = Settings(data_dir=passable_folder, base_urls={"nobody": "http://127.0.0.1:9"})

    with pytest.raises(SettingsError, match="nobody"):
        Turnkeeper.open(settings)

    assert (passable_folder / "postgres").is_dir()
    assert servers_on(passable_folder) == []


def test_turns_from_many_threads_all_get_their_answer(tmp_path: Path, runner: ThreadRunner) -> None:
    with scripted(tmp_path, says("hello"), max_turns=4) as keeper:
        works = [
            started(runner, keeper, f"t{number}", channel_id=f"c{number}") for number in range(24)
        ]

        texts = [work.result(LONG_S).text for work in works]

    assert texts == ["hello"] * 24


def test_the_ended_turn_says_so_in_its_journal(tmp_path: Path) -> None:
    script: Script = hangs("never", until=None)
    with scripted(tmp_path, script, turn_s=0.05, settle_ms=0) as keeper:
        keeper.run(a_request(), SimpleSink(), turn_id="t1")

        ends = [e.event for e in keeper.events("t1") if isinstance(e.event, TurnEnded)]

    assert [end.status for end in ends] == ["timeout"]
