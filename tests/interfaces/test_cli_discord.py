"""Real turns into a Discord on loopback, from the command line and from the example bot."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import psutil
import pytest
from builders import a_request
from click.testing import CliRunner
from keepers import ask_the_wall
from worked_examples import example

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.turn import Persona
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import NONE
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

ALTER = Persona(id="mira", name="Mira", is_alter=True)


@pytest.fixture
def discord() -> Iterator[DiscordDouble]:
    with DiscordDouble(limits=NONE) as discord:
        yield discord


@pytest.fixture
def keeper(discord: DiscordDouble, tmp_path: Path) -> Iterator[Turnkeeper]:
    settings = Settings(
        store="memory", data_dir=tmp_path, discord_token=discord.token, discord_url=discord.url
    )
    with Wall() as wall, Turnkeeper.open(settings) as keeper:
        wall.script(Answer(text="Good evening."))
        ask_the_wall(keeper, wall.base_url, key="sk-alpha")
        yield keeper


def test_the_example_bot_answers_beside_its_event_loop(
    keeper: Turnkeeper, discord: DiscordDouble
) -> None:
    channel = discord.add_channel()
    asked = discord.say(channel, "Hello?")
    message = SimpleNamespace(
        id=int(asked),
        content="Hello?",
        guild=SimpleNamespace(id="guild"),
        channel=SimpleNamespace(id=int(channel), parent_id=None),
        author=SimpleNamespace(id=7, bot=False),
    )

    with ThreadPoolExecutor(2) as pool:
        result = asyncio.run(example("discord_bot").answer(keeper, pool, message))

    assert result.text == "Good evening."
    answer = discord.visible(channel)[-1]
    assert (answer.content, answer.reply_to) == ("Good evening.", asked)


def test_without_a_token_there_is_no_sink(tmp_path: Path) -> None:
    with (
        Turnkeeper.open(Settings(store="memory", data_dir=tmp_path)) as keeper,
        pytest.raises(SettingsError, match="DISCORD_TOKEN"),
    ):
        keeper.discord_sink()


def lines_to(discord: DiscordDouble) -> int:
    """How many connections to it this process holds."""
    port = urlsplit(discord.url).port
    held = psutil.Process().net_connections(kind="tcp")
    return sum(bool(one.raddr) and one.raddr.port == port for one in held)


def test_no_connection_outlives_the_turnkeeper(discord: DiscordDouble, tmp_path: Path) -> None:
    settings = Settings(
        store="memory", data_dir=tmp_path, discord_token=discord.token, discord_url=discord.url
    )
    with Turnkeeper.open(settings) as keeper:
        keeper.discord_sink().prepare(a_request(channel_id=discord.add_channel(), persona=ALTER))
        before = lines_to(discord)

    assert (before > 0, lines_to(discord)) == (True, 0)


@pytest.mark.postgres
def test_a_turn_is_sent_from_the_command_line(
    discord: DiscordDouble, database: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = database.url.render_as_string(hide_password=False)  # type: ignore[attr-defined]
    monkeypatch.setenv("DISCORD_TOKEN", discord.token)
    monkeypatch.setenv("TURNKEEPER_DISCORD_URL", discord.url)
    channel = discord.add_channel()
    with Wall() as wall:
        wall.script(Answer(text="Good evening."))
        with Turnkeeper.open(Settings(data_dir=tmp_path, database_url=url)) as keeper:
            ask_the_wall(keeper, wall.base_url, key="sk-alpha")
        asked = ["--data-dir", str(tmp_path), "--database-url", url, "discord", "send"]

        done = CliRunner().invoke(program, [*asked, channel, "Hi", "--server", "guild", "--json"])

    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["status"] == "completed"
    assert discord.token not in done.output
    assert [one.content for one in discord.visible(channel)] == ["Good evening."]
