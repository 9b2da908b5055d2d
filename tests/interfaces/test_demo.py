import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from keepers import servers_on

from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.domain.contract import breaches
from turnkeeper.domain.events import Entry
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Stall
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.demo import CUT_ANSWER, FALLBACK, PRIMARY, WHOLE_ANSWER, rescued_turn
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

MAIN = "from turnkeeper.interfaces.cli import main; main()"
LONG_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescue:
    """The demonstration, and what is left of it."""

    result: TurnResult
    heard: tuple[Entry, ...]
    sink: MemorySink
    saved_keys: tuple[SavedKey, ...]
    recent: tuple[str, ...]


@pytest.fixture(scope="module")
def rescue(tmp_path_factory: pytest.TempPathFactory) -> Rescue:
    heard: list[Entry] = []
    sink = MemorySink(edit_interval_s=0.0)
    folder = tmp_path_factory.mktemp("demo")
    with Turnkeeper.open(Settings(store="memory", data_dir=folder)) as keeper:
        result = rescued_turn(keeper, sink, on_event=heard.append)
        return Rescue(
            result=result,
            heard=tuple(heard),
            sink=sink,
            saved_keys=keeper.configure.saved_keys(),
            recent=keeper.recent(),
        )


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", MAIN, *arguments]


def bare_environment(**more: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TURNKEEPER_")}
    return {**kept, **more}


def test_the_demonstration_is_answered_whole_by_the_fallback(rescue: Rescue) -> None:
    assert rescue.result.status is TurnStatus.COMPLETED
    assert rescue.result.success_model is not None
    assert rescue.result.success_model.name == FALLBACK
    assert rescue.sink.channel.text == WHOLE_ANSWER
    assert [failed.model for failed in rescue.result.failures] == [PRIMARY, PRIMARY]
    assert breaches(rescue.heard) == ()


def test_half_an_answer_had_been_visible_and_was_taken_back(rescue: Rescue) -> None:
    (taken_back,) = rescue.sink.channel.deleted

    assert CUT_ANSWER.startswith(taken_back.text)
    assert len(taken_back.text) > 100


def test_nothing_but_the_journal_is_left_of_it(rescue: Rescue) -> None:
    assert rescue.saved_keys == ()
    assert rescue.recent == (rescue.result.turn_id,)


@pytest.mark.postgres
def test_it_runs_twice_on_one_folder_and_leaves_no_process(passable_folder: Path) -> None:
    arguments = command("--data-dir", str(passable_folder), "demo")

    for _ in range(2):
        ran = subprocess.run(
            arguments,
            capture_output=True,
            env=bare_environment(),
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=LONG_S,
        )

        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.count("taken back: First, she counts.") == 1
        assert WHOLE_ANSWER in ran.stdout
        assert "took message console-1 back" in ran.stdout
    assert servers_on(passable_folder) == []


def hears_interrupts() -> None:
    """As a program at a terminal does; one in the background inherits that it does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.postgres
def test_an_interrupt_stops_the_turn_and_leaves_no_process(passable_folder: Path) -> None:
    with Wall() as wall:
        half = Stall(after_tokens=30, of=Answer(tokens=tuple(f"word {n} " for n in range(60))))
        wall.script(half, model="gpt")
        environ = bare_environment(
            TURNKEEPER_BASE_URLS=json.dumps({"openai": wall.base_url}), OPENAI_API_KEY="sk-one"
        )
        arguments = command(
            "--data-dir", str(passable_folder), "run", "Hi", "--model", "openai:gpt", "--json"
        )
        with subprocess.Popen(
            arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            text=True,
            preexec_fn=hears_interrupts,
        ) as running:
            wall.await_seen(1, timeout_s=LONG_S)
            running.send_signal(signal.SIGINT)
            stdout, stderr = running.communicate(timeout=LONG_S)

    end = json.loads(stdout.splitlines()[-1])
    assert (running.returncode, stderr) == (1, "")
    assert end["result"]["status"] == "stopped_by_user"
    assert servers_on(passable_folder) == []


@pytest.mark.postgres
def test_a_termination_while_the_server_starts_leaves_no_process(passable_folder: Path) -> None:
    arguments = command("--data-dir", str(passable_folder), "turns")
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=bare_environment(), text=True
    ) as running:
        while not servers_on(passable_folder) and running.poll() is None:
            os.sched_yield()
        running.terminate()
        _, stderr = running.communicate(timeout=LONG_S)

    assert "Traceback" not in stderr
    assert servers_on(passable_folder) == []


@pytest.mark.postgres
def test_whoever_stops_reading_the_output_sees_no_error(database_url: str, tmp_path: Path) -> None:
    before = ("--data-dir", str(tmp_path), "--database-url", database_url)
    with subprocess.Popen(
        command(*before, "turns"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=bare_environment(),
    ) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        stderr = running.stderr.read()

    assert (running.returncode, stderr) == (1, b"")
