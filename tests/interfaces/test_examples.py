import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from keepers import ask_the_wall

from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.infrastructure.wall.answer import Answer, ToolCall
from turnkeeper.infrastructure.wall.behaviour import CutAfter, Refuse
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> Any:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as wall:
        yield wall


@pytest.fixture
def keeper(wall: Wall, tmp_path: Path) -> Iterator[Turnkeeper]:
    with Turnkeeper.open(Settings(store="memory", data_dir=tmp_path)) as keeper:
        ask_the_wall(keeper, wall.base_url, key="sk-alpha")
        yield keeper


def test_the_plain_function_returns_the_answer(keeper: Turnkeeper, wall: Wall) -> None:
    wall.script(Answer(text="Hello, hallo, salut."))

    answer = example("plain_function").ask(keeper, "Say hello.", server_id="guild")

    assert answer == "Hello, hallo, salut."


def test_the_custom_sink_pins_the_answer(keeper: Turnkeeper, wall: Wall) -> None:
    wall.script(Answer(text="A short story."))

    board = example("custom_sink").pinned(keeper, "Tell a story.", server_id="guild")

    assert board == {"1": "A short story.", "status": "completed"}


def test_the_bot_answers_every_message_in_its_channel(keeper: Turnkeeper, wall: Wall) -> None:
    wall.script(Answer(text="I hear you."))
    bot = example("thread_pool_bot")
    said: list[tuple[str, str]] = []
    messages = [
        bot.Message(id=str(n), channel_id=f"room {n % 2}", user_id="you", text="Hello!")
        for n in range(6)
    ]

    results = bot.Bot(keeper, lambda *line: said.append(line), server_id="guild").serve(messages)

    assert [result.status for result in results] == [TurnStatus.COMPLETED] * 6
    assert sorted(said) == [("room 0", "I hear you.")] * 3 + [("room 1", "I hear you.")] * 3


def test_the_bot_says_what_went_wrong_where_nobody_answers(keeper: Turnkeeper, wall: Wall) -> None:
    wall.script(Refuse(status=400))
    bot = example("thread_pool_bot")
    said: list[tuple[str, str]] = []
    message = bot.Message(id="1", channel_id="room", user_id="you", text="Hello!")

    bot.Bot(keeper, lambda *line: said.append(line), server_id="guild").serve([message])

    assert [channel for channel, _ in said] == ["room"]
    assert said[0][1].startswith("No answer this time")


def test_the_tools_are_run_once_though_the_model_breaks_off(wall: Wall, tmp_path: Path) -> None:
    tools = example("tools")
    asks = Answer(
        tool_calls=(
            ToolCall(name="remind", arguments=('{"text":"tea"}',)),
            ToolCall(name="roll", arguments=("{}",)),
        ),
    )
    wall.script((asks, CutAfter(of=Answer(text="You have a"), tokens=1), Answer(text="A five.")))

    with Turnkeeper.open(Settings(store="memory", data_dir=tmp_path), tools=tools.tools) as keeper:
        ask_the_wall(keeper, wall.base_url, key="sk-alpha")
        answer = tools.play(keeper, "Roll.", server_id="guild")

    assert answer == "A five."
    assert list(tools.reminders.values()) == ["tea"]
    assert b"kept" in wall.seen[-1].raw
