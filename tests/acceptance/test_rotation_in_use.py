"""The master secret is rotated while turns run, and the rotating process is killed twice."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
from builders import a_request
from keepers import SERVER, ask_the_wall
from sqlalchemy import Engine, func, select

from turnkeeper.application.audit_secrets import audit_secrets
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.master_secrets import MasterSecrets
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.postgres.engine import connected, transaction
from turnkeeper.infrastructure.postgres.key_vault import PostgresKeyVault
from turnkeeper.infrastructure.postgres.resealer import PostgresResealer
from turnkeeper.infrastructure.postgres.tables import provider_keys
from turnkeeper.infrastructure.vault import AesGcmVault
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres

OLD, NEW = "an-old-master-secret-" * 2, "a-new-master-secret-" * 2
BOTH = ((1, Secret(OLD)), (2, Secret(NEW)))
THREADS = 16
USERS = 300
ENOUGH_S = 60.0


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as made:
        made.script([Answer(text="Hello.")], model="alpha")
        yield made


@pytest.fixture
def keeper(tmp_path: Path, database: Engine, database_url: str, wall: Wall) -> Iterator[Turnkeeper]:
    """One whose server has keys, as hundreds of users have, all sealed with the old secret."""
    old = PostgresKeyVault(database, vault=vault_of(current=1))
    for number in range(USERS):
        old.add(Owner.user(f"{number:04}"), "wall", Secret(f"key-of-{number:04}"))
    made = Turnkeeper.open(
        Settings(
            data_dir=tmp_path,
            database_url=database_url,
            master_secrets=MasterSecrets(current=1, by_version=BOTH),
            serialize_channels=False,
        )
    )
    ask_the_wall(made, wall.base_url, key="sk-0")
    for number in range(1, 4):
        made.configure.add_key(SERVER, "custom:1", f"sk-{number}")
    yield made
    made.close(5.0)


def vault_of(*, current: int) -> AesGcmVault:
    return AesGcmVault(MasterSecrets(current=current, by_version=BOTH))


class Rotation:
    """`turnkeeper secrets rotate`, in a process of its own."""

    def __init__(self, folder: Path, url: str) -> None:
        environment = {
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "PATH": os.defpath,
            "TURNKEEPER_DATABASE_URL": url,
            "TURNKEEPER_SECRET_V1": OLD,
            "TURNKEEPER_SECRET_V2": NEW,
        }
        command = "from turnkeeper.interfaces.cli import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", command, "--data-dir", str(folder), "secrets", "rotate"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill(self) -> int:
        self.process.kill()
        self.process.communicate(timeout=ENOUGH_S)
        return self.process.returncode

    def output(self) -> str:
        said, complaints = self.process.communicate(timeout=ENOUGH_S)
        assert self.process.returncode == 0, complaints
        return said


@contextmanager
def held_up_at(database: Engine, user: int) -> Iterator[None]:
    """No rotation gets past this user's key meanwhile; whoever lends keys is not held up."""
    owner = str(Owner.user(f"{user:04}"))
    locking = select(provider_keys.c.id).where(provider_keys.c.owner == owner).with_for_update()
    with transaction(database) as connection:
        connection.execute(locking)
        yield


def renewed(database: Engine) -> int:
    counting = select(func.count()).where(provider_keys.c.key_version == 2)
    with connected(database) as connection:
        return int(connection.execute(counting).scalar_one())


def await_renewed(database: Engine, count: int, rotation: Rotation) -> None:
    while renewed(database) < count:
        assert rotation.process.poll() is None, rotation.output()
        Event().wait(0.02)


def running(keeper: Turnkeeper, pool: ThreadPoolExecutor, over: Event) -> list[Future[int]]:
    """Threads that run turns until it is over, and count them; one that fails says so."""

    def run(number: int) -> int:
        turns = 0
        while not over.is_set():
            request = a_request(channel_id=f"channel-{number}", user_id=None)
            result = keeper.run(request, MemorySink())
            assert result.status is TurnStatus.COMPLETED, result.failures[-1].failure.message
            turns += 1
        return turns

    return [pool.submit(run, number) for number in range(THREADS)]


def test_every_key_opens_after_two_kills_and_no_turn_failed(
    keeper: Turnkeeper, database: Engine, database_url: str, tmp_path: Path
) -> None:
    over = Event()
    with ThreadPoolExecutor(THREADS) as pool:
        works = running(keeper, pool, over)
        try:
            for user in (100, 200):
                with held_up_at(database, user):
                    rotation = Rotation(tmp_path, database_url)
                    await_renewed(database, user, rotation)
                    assert rotation.kill() == -signal.SIGKILL
            said = Rotation(tmp_path, database_url).output()
        finally:
            over.set()
        turns = [work.result(ENOUGH_S) for work in works]

    found = audit_secrets(PostgresResealer(database, vault=vault_of(current=2)))
    assert min(turns) > 0
    assert (found.shut, found.removable) == ((), (1,))
    assert "TURNKEEPER_SECRET_V1 may be removed" in said


def test_the_new_secret_alone_is_enough_afterwards(
    keeper: Turnkeeper, database: Engine, database_url: str, tmp_path: Path
) -> None:
    Rotation(tmp_path, database_url).output()

    alone = AesGcmVault(MasterSecrets(current=2, by_version=BOTH[1:]))

    saved = PostgresKeyVault(database, vault=alone).keys()
    assert len(saved) == USERS + 4
    assert all(one.opens for one in saved)
