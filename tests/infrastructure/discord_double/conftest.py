"""A double without limits whose clock stands still, and a client of it."""

from collections.abc import Iterator

import pytest
from discord_caller import Caller, calling
from fakes import FrozenClock

from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import NONE


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def discord(clock: FrozenClock) -> Iterator[DiscordDouble]:
    with DiscordDouble(clock=clock, limits=NONE) as double:
        yield double


@pytest.fixture
def call(discord: DiscordDouble) -> Iterator[Caller]:
    with calling(discord) as caller:
        yield caller


@pytest.fixture
def channel(discord: DiscordDouble) -> str:
    return discord.add_channel()
