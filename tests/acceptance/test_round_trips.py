"""What a turn asks of the database: each is one wait on the wire."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import a_request
from fakes import OneProvider, Script, ScriptedProvider, fails, says
from sqlalchemy import Engine
from wire import traced

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres
SERVER = Owner.server("guild")
LONG = "A paragraph that is long enough to be posted. " * 30 + "\n\n"


@pytest.fixture
def opened(tmp_path: Path, database: Engine, database_url: str) -> Iterator[list[Turnkeeper]]:
    kept: list[Turnkeeper] = []
    yield kept
    for keeper in kept:
        keeper.close(5.0)


def a_keeper(
    opened: list[Turnkeeper], tmp_path: Path, database: Engine, *scripts: Script, keys: int = 1
) -> Turnkeeper:
    provider = ScriptedProvider(alpha=list(scripts), beta=says("Hello."))
    settings = Settings(
        data_dir=tmp_path,
        database_url=database.url.render_as_string(hide_password=False),
        live_limits=False,
    )
    keeper = Turnkeeper.open(settings, chat_providers=OneProvider(provider), engine=database)
    opened.append(keeper)
    for model in ("wall:alpha", "wall:beta"):
        keeper.configure.register_model(model)
    keeper.configure.use_model("guild", "wall:alpha")
    keeper.configure.set_fallbacks("guild", ("wall:beta",))
    for number in range(keys):
        keeper.configure.add_key(SERVER, "wall", f"sk-alpha-0123456789abcdef-{number}")
    return keeper


def waits_of(keeper: Turnkeeper, database: Engine, sink: MemorySink | None = None) -> int:
    """The round trips of a turn whose settings have been read before."""
    sink = sink or MemorySink()
    with traced(database) as wire:
        result = keeper.run(a_request(user_id="ann"), sink)
    assert result.status is TurnStatus.COMPLETED
    return wire.round_trips


def test_a_happy_turn_opens_leases_writes_one_intent_and_closes(
    opened: list[Turnkeeper], tmp_path: Path, database: Engine
) -> None:
    keeper = a_keeper(opened, tmp_path, database, says("Hello."))
    keeper.run(a_request(user_id="ann"), MemorySink())

    assert waits_of(keeper, database) == 4


def test_each_further_message_is_one_write(
    opened: list[Turnkeeper], tmp_path: Path, database: Engine
) -> None:
    keeper = a_keeper(opened, tmp_path, database, says(LONG, LONG, LONG, LONG))
    for _ in range(3):  # a statement that is used often is prepared, once, and that is a wait too
        keeper.run(a_request(user_id="ann"), MemorySink())
    sink = MemorySink()

    waits = waits_of(keeper, database, sink)

    assert len(sink.channel.messages) > 1
    assert waits == 3 + len(sink.channel.messages)


def test_a_failed_key_costs_its_booking_and_the_next_lease(
    opened: list[Turnkeeper], tmp_path: Path, database: Engine
) -> None:
    hello, limited = says("Hello."), fails(FailureKind.RATE_LIMIT)
    keeper = a_keeper(opened, tmp_path, database, hello, limited, hello, keys=2)
    keeper.run(a_request(user_id="ann"), MemorySink())

    assert waits_of(keeper, database) == 6
