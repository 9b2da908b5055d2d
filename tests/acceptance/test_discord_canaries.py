"""No token of a bot or a webhook leaves a turn in Discord, whatever fails there."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from canaries import (
    CANARIES,
    WRITTEN,
    Overheard,
    WatchedHouse,
    WatchedStreet,
    leaks,
    leaks_in,
    overhearing,
)
from discord_town import HastyClock
from sqlalchemy import Engine, text
from stores_in_postgres import one_database
from streets import WAYS

from turnkeeper.domain.turn import Persona, TurnRequest
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.fault import Fault as DiscordFault
from turnkeeper.infrastructure.discord_double.fault import Refusal, When
from turnkeeper.infrastructure.discord_double.faults import DELETES, FAULTS, POSTS
from turnkeeper.infrastructure.discord_double.limits import NONE
from turnkeeper.infrastructure.discord_double.problem import Problem
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.wall.behaviour import CutAfter
from turnkeeper.infrastructure.wall.fault import FROM_PRIMARY, PATIENT, STORY
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.crashtest.damage import DISK_IS_FULL

pytestmark = pytest.mark.postgres

MIRA = Persona(id="mira", name="Mira", is_alter=True)


@pytest.fixture(scope="module")
def overheard() -> Iterator[Overheard]:
    with overhearing() as heard:
        yield heard


@pytest.fixture(scope="module")
def store(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


@dataclass(frozen=True)
class Quay:
    """A house whose turns speak in a Discord, by a webhook that was used before."""

    discord: DiscordDouble
    house: WatchedHouse
    channel: str

    def request(self) -> TurnRequest:
        return TurnRequest(
            conversation=WRITTEN,
            server_id=self.house.server.id,
            channel_id=self.channel,
            user_id="ann",
            persona=MIRA,
        )

    def run_well(self) -> None:
        """A turn after which there is a webhook whose token is known."""
        self.house.script((FROM_PRIMARY,))
        self.house.keeper.run(self.request(), self.house.keeper.discord_sink())

    @property
    def canaries(self) -> dict[str, str]:
        (webhook,) = self.discord.webhooks(self.channel)
        return {
            **CANARIES,
            "the bot's token": self.discord.token,
            "a webhook's token": webhook.token,
        }


@pytest.fixture
def quay(overheard: Overheard, store: Engine, tmp_path: Path) -> Iterator[Quay]:
    clock = HastyClock()
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    url = store.url.render_as_string(hide_password=False)
    with (
        DiscordDouble(clock=clock, limits=NONE) as discord,
        Wall(dialects=(WAYS[0].dialect,)) as wall,
    ):
        street = WatchedStreet(
            WAYS[0], wall, http, tmp_path, url, clock,
            discord_token=discord.token, discord_url=discord.url,
        )  # fmt: skip
        house = WatchedHouse(street, PATIENT)
        yield Quay(discord, house, discord.add_channel())
        street.close()
    http.close()


QUOTES = "the tokens are quoted"
GONE = "cannot be reached"


def trouble(name: str, canaries: dict[str, str]) -> DiscordFault:
    """The fault of that name; of ours, one that repeats both tokens."""
    if name != QUOTES:
        return FAULTS[name]
    sent = (canaries["a webhook's token"], canaries["the bot's token"])
    problem = Problem(status=400, code=50035, message=" ".join(sent))
    always = When(routes=POSTS + DELETES, times=None)
    return DiscordFault(what=Refusal(problem=problem), when=always)


@pytest.mark.parametrize("name", [*FAULTS, QUOTES, GONE])
def test_no_token_and_nothing_that_was_written_leaves(
    quay: Quay, store: Engine, overheard: Overheard, name: str
) -> None:
    quay.run_well()
    canaries = quay.canaries
    if name == GONE:
        quay.discord.__exit__(None, None, None)
    else:
        quay.discord.break_with(trouble(name, canaries))
    quay.house.script((CutAfter(tokens=40, of=STORY),))

    left = list(quay.house.exits_of(quay.request(), quay.house.keeper.discord_sink()))

    assert leaks(left, canaries) == set()
    assert leaks(overheard.lines, canaries) == set()
    assert leaks_in(store, canaries) == set()
    assert overheard.lines, "nothing was overheard"


def test_no_token_leaves_where_a_new_webhook_cannot_be_kept(
    quay: Quay, store: Engine, overheard: Overheard
) -> None:
    trigger = "BEFORE INSERT OR UPDATE ON discord_webhooks EXECUTE FUNCTION disk_is_full()"
    overheard.lines.clear()
    with connected(store) as connection:
        connection.execute(text(DISK_IS_FULL))
        connection.execute(text(f"CREATE TRIGGER disk_is_full {trigger}"))
    quay.house.script((FROM_PRIMARY,))
    try:
        left = list(quay.house.exits_of(quay.request(), quay.house.keeper.discord_sink()))
    finally:
        with connected(store) as connection:
            connection.execute(text("DROP TRIGGER disk_is_full ON discord_webhooks"))
            kept = set(connection.scalars(text("SELECT channel_id FROM discord_webhooks")))

    assert quay.channel not in kept
    assert quay.discord.visible(quay.channel)
    assert leaks([*left, *overheard.lines], quay.canaries) == set()
    assert leaks_in(store, quay.canaries) == set()
