"""A process is killed at any point of a turn; two others sweep at once, and nothing of it stays."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from builders import a_request
from fakes import OneProvider, Script, ScriptedProvider, says
from file_channel import FileChannelReader, put, shown
from keepers import SERVER
from sqlalchemy import Engine
from sweepers import environment, let_it_be_dead, swept_by_two

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.runner import Stop
from turnkeeper.application.sweep_report import LostTurn
from turnkeeper.domain.admission import QuotaRule
from turnkeeper.domain.events import TurnSwept
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, TextDelta
from turnkeeper.infrastructure.memory.channel_reader import MemoryChannelReader
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres

RUN = """
import os, signal, sys
from pathlib import Path
from builders import a_request
from fakes import OneProvider, ScriptedProvider
from file_channel import FileSink
from turnkeeper.domain.stream import Finished, FinishReason, TextDelta
from turnkeeper.interfaces import Settings, Turnkeeper

data, url, channel, point = sys.argv[1:]

def reached(name):
    if name == point:
        os.kill(os.getpid(), signal.SIGKILL)

def script(call, stop):
    reached("asked")
    for number in range(1, 4):
        yield TextDelta(f"Paragraph {number} is long enough to be posted. " * 30 + "\\n\\n")
    yield Finished(reason=FinishReason.STOP)

sink = FileSink(
    Path(channel),
    at_post=lambda when, number: reached(f"{when} post {number}"),
    at_finalize=lambda: reached("finalize"),
    webhook_id="77",
)
keeper = Turnkeeper.open(
    Settings(data_dir=Path(data), database_url=url, sweep_every_s=0, live_limits=False),
    chat_providers=OneProvider(ScriptedProvider(alpha=script)),
)
keeper.run(a_request(trigger_id="trigger", user_id="ann"), sink)
"""

SWEEP = """
import json, sys
from pathlib import Path
from file_channel import FileChannelReader
from turnkeeper.infrastructure.json_values import as_json
from turnkeeper.interfaces import Settings, Turnkeeper

data, url, channel = sys.argv[1:]
with Turnkeeper.open(
    Settings(data_dir=Path(data), database_url=url, sweep_every_s=0, live_limits=False),
    channel_reader=FileChannelReader(Path(channel)),
) as keeper:
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(as_json(keeper.sweep())), flush=True)
"""

POINTS = (
    "asked",
    "before post 1",
    "after post 1",
    "before post 2",
    "after post 2",
    "finalize",
)


@pytest.fixture
def channel(tmp_path: Path) -> Path:
    folder = tmp_path / "channel"
    folder.mkdir()
    return folder


@pytest.fixture
def keeper(tmp_path: Path, database_url: str) -> Iterator[Turnkeeper]:
    made = opened(tmp_path, database_url)
    made.configure.register_model("wall:alpha")
    made.configure.use_model(SERVER.id, "wall:alpha")
    made.configure.add_key(SERVER, "wall", "sk-alpha-0123456789abcdef")
    made.configure.set_quota(SERVER.id, QuotaRule(enabled=True, daily_per_user=1))
    yield made
    made.close(5.0)


def opened(folder: Path, url: str, script: Script = says("Hello."), **parts: object) -> Turnkeeper:
    settings = Settings(data_dir=folder, database_url=url, sweep_every_s=0, live_limits=False)
    provider = OneProvider(ScriptedProvider(alpha=script))
    return Turnkeeper.open(settings, chat_providers=provider, **parts)


def killed_at(point: str, *arguments: object) -> None:
    run = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments), point],
        env=environment(),
        timeout=60,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL


@pytest.mark.parametrize("point", POINTS)
def test_nothing_stays_of_a_turn_that_was_killed(
    point: str,
    keeper: Turnkeeper,
    tmp_path: Path,
    channel: Path,
    database: Engine,
    database_url: str,
) -> None:
    put(channel, "Good morning")
    killed_at(point, tmp_path, database_url, channel)
    left = shown(channel)
    put(channel, "Paragraph 1 is what I like")
    let_it_be_dead(database)

    reports = swept_by_two(SWEEP, tmp_path, database_url, channel)

    lost = [one for report in reports for one in report["lost"]]
    assert [(one["turn_key"], one["successor"]) for one in lost] == [  # type: ignore[index]
        ("trigger//0", None)
    ]
    assert shown(channel) == ["Good morning", "Paragraph 1 is what I like"]
    taken_back = [one for report in reports for one in report["taken_back"]]
    assert len(taken_back) == len(left) - 1
    had_intent = point != "asked"
    assert (channel / "deleted-77").exists() == had_intent

    again = keeper.run(a_request(trigger_id="another", user_id="ann"), MemorySink())
    assert again.status is TurnStatus.COMPLETED
    (turn_id,) = {one["turn_id"] for one in lost}  # type: ignore[index]
    (swept,) = [e.event for e in keeper.events(str(turn_id)) if isinstance(e.event, TurnSwept)]
    assert len(swept.taken_back) == len(left) - 1


# ── a turn that is only slow ────────────────────────────────────────────────────────────────


def paused(reached: Event, go_on: Event) -> Script:
    """An answer of two messages, between which its process sleeps."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        for number in (1, 2):
            yield TextDelta(f"Paragraph {number} is long enough to be posted. " * 40 + "\n\n")
        reached.set()
        go_on.wait(60)
        yield TextDelta("The end.")
        yield Finished(reason=FinishReason.STOP)

    return script


def test_a_slow_turn_that_was_swept_posts_nothing_more(
    keeper: Turnkeeper, tmp_path: Path, database: Engine, database_url: str
) -> None:
    reached, go_on = Event(), Event()
    sink, lost = MemorySink(), list[LostTurn]()
    slow = opened(tmp_path, database_url, paused(reached, go_on))
    reader = MemoryChannelReader({"channel": sink.channel})
    sweeping = opened(tmp_path, database_url, channel_reader=reader, on_lost_turn=lost.append)
    turn = Thread(target=slow.run, args=(a_request(user_id="ann"), sink))
    turn.start()
    try:
        assert reached.wait(30)
        before = sink.channel.text
        let_it_be_dead(database)
        report = sweeping.sweep()
    finally:
        go_on.set()
        turn.join(60)
        slow.close(5.0)
        sweeping.close(5.0)

    assert "Paragraph 1" in before
    assert ([one.turn_id for one in report.lost], len(lost)) == ([lost[0].turn_id], 1)
    assert sink.channel.text == ""


def test_a_turn_that_lives_is_not_swept(
    keeper: Turnkeeper, tmp_path: Path, database_url: str
) -> None:
    reached, go_on = Event(), Event()
    sink = MemorySink()
    slow = opened(tmp_path, database_url, paused(reached, go_on))
    reader = MemoryChannelReader({"channel": sink.channel})
    sweeping = opened(tmp_path, database_url, channel_reader=reader)
    turn = Thread(target=slow.run, args=(a_request(user_id="ann"), sink))
    turn.start()
    try:
        assert reached.wait(30)
        report = sweeping.sweep()
    finally:
        go_on.set()
        turn.join(60)
        slow.close(5.0)
        sweeping.close(5.0)

    assert report.lost == ()
    assert sink.channel.text.endswith("The end.")


def test_a_turnkeeper_sweeps_as_it_opens(
    keeper: Turnkeeper, tmp_path: Path, channel: Path, database: Engine, database_url: str
) -> None:
    killed_at("after post 2", tmp_path, database_url, channel)
    let_it_be_dead(database)
    told = Event()
    lost: list[LostTurn] = []

    def hear(one: LostTurn) -> None:
        lost.append(one)
        told.set()

    settings = Settings(data_dir=tmp_path, database_url=database_url, live_limits=False)
    with Turnkeeper.open(settings, channel_reader=FileChannelReader(channel), on_lost_turn=hear):
        assert told.wait(60)

    assert ([one.trigger_id for one in lost], shown(channel)) == (["trigger"], [])
