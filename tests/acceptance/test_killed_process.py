"""A process is killed in the middle of a turn; what it held comes back by itself, once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import a_request
from keepers import SERVER, ask_the_wall
from sqlalchemy import Engine, text

from turnkeeper.domain.admission import QuotaRule, RefusalKind
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Stall
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres

RUN = """
import sys
from pathlib import Path
from turnkeeper.interfaces import Conversation, MemorySink, Settings, Turnkeeper, TurnRequest

keeper = Turnkeeper.open(Settings(data_dir=Path(sys.argv[1]), database_url=sys.argv[2]))
request = TurnRequest(
    conversation=Conversation.of("Hello"), server_id="guild", channel_id="first", user_id="ann"
)
keeper.run(request, MemorySink())
"""


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as made:
        yield made


@pytest.fixture
def keeper(tmp_path: Path, database_url: str, wall: Wall) -> Iterator[Turnkeeper]:
    made = Turnkeeper.open(Settings(data_dir=tmp_path, database_url=database_url))
    ask_the_wall(made, wall.base_url, key="sk-alpha-0123456789abcdef")
    made.configure.set_quota(SERVER.id, QuotaRule(enabled=True, daily_per_user=1))
    yield made
    made.close(5.0)


def killed_in_mid_turn(wall: Wall, folder: Path, url: str) -> None:
    wall.script([Stall(after_tokens=1, for_s=60.0), Answer(text="Hello.")], model="alpha")
    process = subprocess.Popen([sys.executable, "-c", RUN, str(folder), url])
    wall.await_seen(1, timeout_s=30.0)
    process.kill()
    process.wait(30)


def let_pass(database: Engine, hours: int) -> None:
    with connected(database) as connection:
        connection.execute(
            text("UPDATE quota_units SET expires_at = expires_at - make_interval(hours => :n)"),
            {"n": hours},
        )


def test_the_unit_that_it_had_reserved_comes_back_by_expiry_once(
    keeper: Turnkeeper, wall: Wall, tmp_path: Path, database: Engine, database_url: str
) -> None:
    killed_in_mid_turn(wall, tmp_path, database_url)

    def ask() -> object:
        request = a_request(channel_id="second", user_id="ann")
        result = keeper.run(request, MemorySink())
        return result.refusal.kind if result.refusal else result.status

    held = ask()
    let_pass(database, hours=1)

    assert held is RefusalKind.USER_QUOTA
    assert [ask(), ask()] == [TurnStatus.COMPLETED, RefusalKind.USER_QUOTA]


def test_its_key_is_lent_to_others(
    keeper: Turnkeeper, wall: Wall, tmp_path: Path, database_url: str
) -> None:
    killed_in_mid_turn(wall, tmp_path, database_url)

    result = keeper.run(a_request(channel_id="second", user_id="bob"), MemorySink())

    assert result.status is TurnStatus.COMPLETED
