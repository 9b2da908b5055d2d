"""The database goes away in the middle of a turn, and then the turn's process dies too."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes import OneProvider, ScriptedProvider, says
from file_channel import FileChannelReader, shown
from keepers import SERVER
from sqlalchemy import text

from turnkeeper.domain.events import TurnEnded
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres
LONG_S = 60.0

RUN = """
import os, signal, sys, time
from pathlib import Path
from builders import a_request
from fakes import OneProvider, ScriptedProvider
from file_channel import FileSink
from turnkeeper.domain.stream import Finished, FinishReason, TextDelta
from turnkeeper.interfaces import Settings, Turnkeeper

data, url, channel, point = sys.argv[1:]
channel = Path(channel)

def reached(name):
    if name == point:
        os.kill(os.getpid(), signal.SIGKILL)

def script(call, stop):
    for number in (1, 2):
        yield TextDelta(f"Paragraph {number} is long enough to be posted. " * 30 + "\\n\\n")
    (channel / "posted").touch()
    while not (channel / "away").exists():
        time.sleep(0.01)
    yield TextDelta("The end.")
    yield Finished(reason=FinishReason.STOP)

sink = FileSink(channel, at_finalize=lambda: reached("before its end"))
keeper = Turnkeeper.open(
    Settings(data_dir=Path(data), database_url=url, sweep_every_s=0, live_limits=False),
    chat_providers=OneProvider(ScriptedProvider(alpha=script)),
)
keeper.run(a_request(trigger_id="trigger", user_id="ann"), sink, turn_id="t1")
reached("after its end")
"""


class House:
    """A database server that is switched off and on, and a channel."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.channel = folder / "channel"
        self.channel.mkdir()
        self.server = EmbeddedPostgres(folder / "postgres")
        self.url = self.server.start()
        with self.opened() as keeper:
            keeper.configure.register_model("wall:alpha")
            keeper.configure.use_model(SERVER.id, "wall:alpha")
            keeper.configure.add_key(SERVER, "wall", "sk-alpha-0123456789abcdef")

    def opened(self) -> Turnkeeper:
        settings = Settings(
            data_dir=self.folder, database_url=self.url, sweep_every_s=0, live_limits=False
        )
        return Turnkeeper.open(
            settings,
            chat_providers=OneProvider(ScriptedProvider(alpha=says("Hello."))),
            channel_reader=FileChannelReader(self.channel),
        )

    def both_die(self, point: str) -> None:
        """The database goes away once something is posted, and the process dies at the point."""
        here = Path(__file__).parent.parent
        path = f"{here.parent / 'src'}{os.pathsep}{here}"
        arguments = [str(self.folder), self.url, str(self.channel), point]
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, *arguments], env={**os.environ, "PYTHONPATH": path}
        )
        _until((self.channel / "posted").exists)
        self.server.stop()
        (self.channel / "away").touch()
        assert process.wait(LONG_S) == -signal.SIGKILL

    def back_after_a_while(self) -> Turnkeeper:
        self.server.start()
        keeper = self.opened()
        with connected(keeper._container.engine()) as connection:
            connection.execute(
                text("UPDATE turns SET alive_until = alive_until - interval '2 minutes'")
            )
        return keeper

    @property
    def spooled(self) -> int:
        return len(list((self.folder / "spool").glob("*")))


def _until(holds: Callable[[], bool]) -> None:
    """Return once it holds; the limit is for a test that fails."""
    deadline_s = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.fixture
def house(passable_folder: Path) -> Iterator[House]:
    made = House(passable_folder)
    yield made
    made.server.stop()


def test_what_was_posted_without_the_store_is_taken_back_too(house: House) -> None:
    house.both_die("before its end")
    left = shown(house.channel)
    spooled = house.spooled

    with house.back_after_a_while() as keeper:
        report = keeper.sweep()

    assert left[-1] == "The end."
    assert (len(report.taken_back), shown(house.channel)) == (len(left), [])
    assert ([one.turn_id for one in report.lost], spooled, house.spooled) == (["t1"], 1, 0)


def test_a_turn_that_ended_without_the_store_has_ended(house: House) -> None:
    house.both_die("after its end")
    left = shown(house.channel)
    spooled = house.spooled

    with house.back_after_a_while() as keeper:
        report = keeper.sweep()
        (saved,) = keeper.configure.saved_keys(SERVER)
        kinds = [type(entry.event) for entry in keeper.events("t1")]

    assert (report.lost, report.taken_back, shown(house.channel)) == ((), (), left)
    assert (saved.key.health.usage_count, saved.key.health.in_flight) == (1, 0)
    assert (TurnEnded in kinds, spooled, house.spooled) == (True, 1, 0)
