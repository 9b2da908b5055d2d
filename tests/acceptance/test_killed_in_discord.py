"""A process is killed at ten points of a turn in Discord; two others sweep at once."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import a_request
from discord_town import HastyClock
from fakes import OneProvider, ScriptedProvider, says
from keepers import SERVER
from sqlalchemy import Engine
from sweepers import environment, let_it_be_dead, swept_by_two

from turnkeeper.domain.admission import QuotaRule
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import NONE
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres

RUN = """
import os, signal, sys
from pathlib import Path
from builders import a_request
from fakes import OneProvider, ScriptedProvider, fails, says
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.turn import Persona
from turnkeeper.infrastructure.discord.sink import DiscordSink
from turnkeeper.interfaces import Settings, Turnkeeper

data, url, channel, asked, point, speaker = sys.argv[1:]
seen = {}

def reached(name):
    seen[name] = seen.get(name, 0) + 1
    if point == f"{name} {seen[name]}":
        os.kill(os.getpid(), signal.SIGKILL)

class Dying(DiscordSink):
    def post(self, *args, **kwargs):
        reached("before post")
        delivery = super().post(*args, **kwargs)
        reached("after post")
        return delivery

    def take_back(self, delivery):
        reached("before take back")
        is_gone = super().take_back(delivery)
        reached("after take back")
        return is_gone

    def take_back_all(self, deliveries):
        first, *others = deliveries
        self.take_back(first)
        return super().take_back_all(tuple(others))

    def finalize(self, result):
        reached("finalize")
        super().finalize(result)

def asks(script):
    def asked(call, stop):
        reached("asked")
        yield from script(call, stop)
    return asked

LONG = "A paragraph that is long enough to be posted. " * 35 + "\\n\\n"
keeper = Turnkeeper.open(
    Settings(data_dir=Path(data), database_url=url, sweep_every_s=0, live_limits=False),
    chat_providers=OneProvider(
        ScriptedProvider(
            alpha=asks(fails(FailureKind.OVERLOADED, LONG, LONG, LONG)),
            beta=asks(says("A whole answer.")),
        )
    ),
)
request = a_request(
    trigger_id=asked, user_id="ann", channel_id=channel,
    impersonated=Persona(name="Ann") if speaker == "ann" else None,
)
keeper.run(request, Dying(keeper._container.discord_bot()))
"""

SWEEP = """
import json, sys
from pathlib import Path
from turnkeeper.infrastructure.json_values import as_json
from turnkeeper.interfaces import Settings, Turnkeeper

data, url = sys.argv[1:]
with Turnkeeper.open(
    Settings(data_dir=Path(data), database_url=url, sweep_every_s=0, live_limits=False)
) as keeper:
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(as_json(keeper.sweep())), flush=True)
"""

POINTS = (
    "asked 1",
    "before post 1",
    "after post 1",
    "before post 2",
    "after post 2",
    "asked 2",
    "before take back 1",
    "after take back 1",
    "after post 4",
    "finalize 1",
)


@pytest.fixture
def discord() -> Iterator[DiscordDouble]:
    with DiscordDouble(clock=HastyClock(), limits=NONE) as discord:
        yield discord


@pytest.fixture
def keeper(tmp_path: Path, database_url: str) -> Iterator[Turnkeeper]:
    settings = Settings(
        data_dir=tmp_path, database_url=database_url, sweep_every_s=0, live_limits=False
    )
    provider = OneProvider(ScriptedProvider(alpha=says("Hello."), beta=says("Hello.")))
    with Turnkeeper.open(settings, chat_providers=provider) as keeper:
        for name in ("alpha", "beta"):
            keeper.configure.register_model(f"wall:{name}")
        keeper.configure.use_model(SERVER.id, "wall:alpha")
        keeper.configure.set_fallbacks(SERVER.id, ("wall:beta",))
        keeper.configure.add_key(SERVER, "wall", "sk-alpha-0123456789abcdef")
        keeper.configure.set_quota(SERVER.id, QuotaRule(enabled=True, daily_per_user=1))
        yield keeper


def the_way_to(discord: DiscordDouble) -> dict[str, str]:
    """How a process of its own finds it."""
    return {"DISCORD_TOKEN": discord.token, "TURNKEEPER_DISCORD_URL": discord.url}


@pytest.mark.parametrize(
    ("point", "speaker"), [*((point, "bot") for point in POINTS), ("after post 2", "ann")]
)
def test_nothing_stays_of_a_turn_that_was_killed(
    point: str,
    speaker: str,
    keeper: Turnkeeper,
    discord: DiscordDouble,
    tmp_path: Path,
    database: Engine,
    database_url: str,
) -> None:
    channel = discord.add_channel()
    asked = discord.say(channel, "Tell me something.")
    arguments = (tmp_path, database_url, channel, asked, point, speaker)
    run = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        env=environment(the_way_to(discord)),
        timeout=60,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL
    let_it_be_dead(database)

    reports = swept_by_two(SWEEP, tmp_path, database_url, more=the_way_to(discord))

    lost = [one for report in reports for one in report["lost"]]
    assert len(lost) == 1
    assert [
        one.content for one in discord.visible(channel) if one.content and not one.components
    ] == ["Tell me something."]
    assert discord.webhooks(channel) == ()
    again = keeper.run(a_request(trigger_id="another", user_id="ann"), MemorySink())
    assert again.status is TurnStatus.COMPLETED
