"""Fixtures for all tests: a real Postgres, a vault, the recordings; and the Hypothesis profiles."""

import os
import shutil
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import psycopg
import pytest
from folders import make_passable_folder
from sqlalchemy import Engine, make_url

from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.master_secrets import MasterSecrets
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.postgres.migrate import migrate
from turnkeeper.infrastructure.vault import AesGcmVault

pytest.register_assert_rewrite("contracts")

hypothesis.settings.register_profile("ci", derandomize=True, max_examples=500, deadline=None)
hypothesis.settings.register_profile("soak", max_examples=20_000, deadline=None)
hypothesis.settings.load_profile("soak" if os.environ.get("TURNKEEPER_SOAK") == "1" else "ci")

TEMPLATE = "template_migrated"
# Test data need not outlive the machine.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@pytest.fixture
def passable_folder() -> Iterator[Path]:
    """An empty folder for a database server of this test's own."""
    folder = make_passable_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of the one server of this session, which has a migrated template database."""
    folder = make_passable_folder()
    server = EmbeddedPostgres(folder, settings=FAST)
    # Who ends the run by SIGTERM is to leave no server behind either.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        url = server.start()
        _run(url, f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
        engine = create_engine_for(_on(url, TEMPLATE), pool_size=1)
        migrate(engine)
        engine.dispose()
        yield url
    finally:
        signal.signal(signal.SIGTERM, before)
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture
def database_url(postgres_url: str) -> Iterator[str]:
    """The URL of a fresh, migrated database of this test's own."""
    name = f"test_{uuid.uuid4().hex}"
    _run(postgres_url, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    yield _on(postgres_url, name)
    _run(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(database_url: str) -> Iterator[Engine]:
    """An engine on a fresh, migrated database; at the end no connection is checked out."""
    engine = create_engine_for(database_url, pool_size=16, application_name="turnkeeper-tests")
    yield engine
    checked_out = engine.pool.checkedout()  # type: ignore[attr-defined]
    engine.dispose()
    assert checked_out == 0


@pytest.fixture(scope="session")
def vault() -> AesGcmVault:
    """A vault with one master secret; its key is derived once for the session."""
    return AesGcmVault(MasterSecrets(current=1, by_version=((1, Secret("only for tests " * 3)),)))


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of the recorded provider exchanges, which TURNKEEPER_RECORDINGS names."""
    name = os.environ.get("TURNKEEPER_RECORDINGS")
    if not name:
        pytest.skip("TURNKEEPER_RECORDINGS is not set, so there are no recordings to read")
    if not Path(name).is_dir():
        pytest.skip(f"TURNKEEPER_RECORDINGS is {name}, and there is no such folder")
    return Path(name)


def _on(url: str, database: str) -> str:
    return make_url(url).set(database=database).render_as_string(hide_password=False)


def _run(url: str, statement: str) -> None:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(statement.encode())
