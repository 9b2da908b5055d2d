"""What operators see of real turns against the wall."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import a_request
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry
from walled import opened, settings_of, use_both

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.events import Entry
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.tools.registry import ToolRegistry
from turnkeeper.infrastructure.wall.answer import Answer, ToolCall
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.container import built, shut_down
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SERVER = Owner.server("guild")
SECRET_WORDS = "the words that nobody else may read"


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as wall:
        yield wall


def rescued(keeper: Turnkeeper, wall: Wall) -> None:
    """A turn whose first model refuses and whose second answers."""
    wall.script(Refuse(status=429), model="alpha")
    wall.script(Answer(text=SECRET_WORDS), model="beta")
    keeper.run(a_request(SECRET_WORDS), MemorySink(), turn_id="t1")


def shown(app: Any) -> str:
    """What the app serves."""
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics"}
    return b"".join(app(environ, lambda status, headers: None)).decode()


# ── nothing, and each alone ─────────────────────────────────────────────────────────────────


def test_where_all_is_off_nobody_listens(tmp_path: Path) -> None:
    container = built(settings_of(tmp_path), {})
    try:
        assert container.listeners() == ()
    finally:
        shut_down(container)


def test_where_all_is_off_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from turnkeeper.interfaces import Turnkeeper\n"
        "with Turnkeeper.open():\n"
        "    print(*sys.modules)"
    )
    environ = {"TURNKEEPER_STORE": "memory", "TURNKEEPER_DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | environ,
    )

    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded.isdisjoint({"structlog", "opentelemetry", "prometheus_client"})


def test_a_turn_is_logged_without_its_words(
    wall: Wall, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(wall, tmp_path, log="json", log_level="debug") as keeper:
        rescued(keeper, wall)

    text = capsys.readouterr().err
    lines = [json.loads(line) for line in text.splitlines()]
    assert {line["turn_id"] for line in lines} == {"t1"}
    assert (lines[0]["event"], lines[-1]["event"]) == ("turn_started", "cleaned_up")
    assert "words" not in text
    assert "sk-alpha" not in text


def test_a_turn_is_traced(wall: Wall, tmp_path: Path) -> None:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    keeper = Turnkeeper.open(settings_of(tmp_path, traces=True), trace_providers=lambda: provider)
    with keeper:
        use_both(keeper, wall, SERVER)
        rescued(keeper, wall)

    spans = {span.name: span for span in kept.get_finished_spans()}
    assert set(spans) == {"turnkeeper.turn", "chat alpha", "chat beta"}
    answered = dict(spans["chat beta"].attributes or {})
    assert answered["gen_ai.response.model"] == "beta"
    assert answered["gen_ai.usage.output_tokens"]
    assert SECRET_WORDS not in "".join(span.to_json() for span in spans.values())


def test_without_an_sdk_traces_come_to_nothing(wall: Wall, tmp_path: Path) -> None:
    with opened(wall, tmp_path, traces=True) as keeper:
        wall.script(Answer(text="Hello."))

        assert keeper.run(a_request(), MemorySink()).text == "Hello."


def test_tools_that_run_beside_each_other_have_the_times_at_which_they_did(
    wall: Wall, tmp_path: Path
) -> None:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tools = ToolRegistry()
    tools.add(lambda: "quick", name="quick", description="Quick.")
    tools.add(lambda: "other", name="other", description="Other.")
    keeper = Turnkeeper.open(
        settings_of(tmp_path, traces=True), trace_providers=lambda: provider, tools=tools
    )
    with keeper:
        use_both(keeper, wall, SERVER)
        calls = (ToolCall(name="quick"), ToolCall(name="other"))
        wall.script([Answer(tool_calls=calls), Answer(text="Done.")])
        keeper.run(a_request(), MemorySink())

    spans = {span.name: span for span in kept.get_finished_spans()}
    chat = spans["chat alpha"]
    for name in ("execute_tool quick", "execute_tool other"):
        assert _lies_within(spans[name], chat)
        assert spans[name].parent == chat.context


def _lies_within(inner: ReadableSpan, outer: ReadableSpan) -> bool:
    times = (outer.start_time, inner.start_time, inner.end_time, outer.end_time)
    assert None not in times
    return list(times) == sorted(times)  # type: ignore[type-var]


# ── metrics ─────────────────────────────────────────────────────────────────────────────────


def test_a_turn_is_counted_and_shown(wall: Wall, tmp_path: Path) -> None:
    with opened(wall, tmp_path, metrics=True) as keeper:
        rescued(keeper, wall)
        text = shown(keeper.metrics_app())

    assert 'turnkeeper_rescued_turns_total{by="model"} 1.0' in text
    assert 'turnkeeper_keys{provider="custom",state="resting"} 1.0' in text


def test_the_registry_may_be_the_hosts(wall: Wall, tmp_path: Path) -> None:
    registry = CollectorRegistry()
    settings = settings_of(tmp_path, metrics=True)
    with Turnkeeper.open(settings, metrics_registry=registry) as keeper:
        use_both(keeper, wall, SERVER)
        rescued(keeper, wall)

    labels = {"status": "completed", "route": "server"}
    assert registry.get_sample_value("turnkeeper_turns_total", labels) == 1


def test_a_sweep_is_counted(wall: Wall, tmp_path: Path) -> None:
    with opened(wall, tmp_path, metrics=True, sweep_every_s=0) as keeper:
        keeper.sweep()

        assert "turnkeeper_sweeps_total 1.0" in shown(keeper.metrics_app())


def test_metrics_that_are_off_are_not_shown_and_it_is_said_how(wall: Wall, tmp_path: Path) -> None:
    off = pytest.raises(SettingsError, match="set TURNKEEPER_METRICS=true")
    with opened(wall, tmp_path) as keeper, off:
        keeper.metrics_app()


def test_a_listener_that_fails_takes_no_answer_away(wall: Wall, tmp_path: Path) -> None:
    def breaks(entry: Entry) -> None:
        raise RuntimeError("no")

    with Turnkeeper.open(settings_of(tmp_path), listeners=(breaks,)) as keeper:
        use_both(keeper, wall, SERVER)
        wall.script(Answer(text="Hello."))

        assert keeper.run(a_request(), MemorySink()).text == "Hello."


# ── the command ─────────────────────────────────────────────────────────────────────────────


def served(folder: Path, database_url: str) -> "subprocess.Popen[str]":
    """The command, in a process of its own."""
    place = ("--data-dir", str(folder), "--database-url", database_url)
    command = [sys.executable, "-c", "from turnkeeper.interfaces.cli import main; main()", *place]
    environ = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [*command, "metrics", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environ,
    )


@pytest.mark.postgres
def test_the_command_shows_what_other_processes_did(
    wall: Wall, database_url: str, tmp_path: Path
) -> None:
    settings = Settings(database_url=database_url, data_dir=tmp_path, live_limits=False)
    with Turnkeeper.open(settings) as keeper:
        use_both(keeper, wall, SERVER)
        with served(tmp_path, database_url) as process:
            assert process.stdout is not None
            url = re.findall(r"http://\S+", process.stdout.readline())[0]
            wall.script(Answer(text="Hello."))
            keeper.run(a_request(), MemorySink())
            keeper.recent()  # writes what waits
            with urllib.request.urlopen(url, timeout=30) as answer:
                text = answer.read().decode()
            process.send_signal(signal.SIGTERM)

    assert url.startswith("http://127.0.0.1:")
    assert 'turnkeeper_turns_total{route="server",status="completed"} 1.0' in text
    assert 'turnkeeper_keys{provider="custom",state="free"} 2.0' in text
