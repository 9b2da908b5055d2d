"""Brings the schema of a database to what this version of turnkeeper needs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, text

from turnkeeper.domain.errors import StoreError
from turnkeeper.infrastructure.postgres.connection import BoundedConnection
from turnkeeper.infrastructure.postgres.errors import store_errors

Told = Callable[[int, int], None]

SCRIPTS = Path(__file__).with_name("migrations")
VERSIONS = SCRIPTS / "versions"
# Any number that nobody else uses for an advisory lock in the same database.
LOCK = int.from_bytes(b"turnkeep", "big")
LOCKING: tuple[tuple[str, dict[str, object]], ...] = (
    ("SELECT set_config('statement_timeout', '0', false)", {}),
    ("SELECT set_config('lock_timeout', '5min', false)", {}),
    ("SELECT pg_advisory_lock(:key)", {"key": LOCK}),
)


def migrate(
    engine: Engine, *, versions: Path = VERSIONS, told: Told = lambda done, total: None
) -> tuple[str, ...]:
    """Apply what is missing, each migration in a transaction, and return the applied revisions.

    When several processes do it at once, one of them does it, and the others wait.

    Args:
        told: Called after each with how many are applied, and how many there are to apply.

    Raises:
        StoreUnavailable: The database cannot be reached, or another process takes too long.
        StoreError: A migration failed, or the database is newer than this version.
    """
    applied: list[str] = []

    def note(*, step: Any, **_: Any) -> None:
        applied.append(step.up_revision_id)
        told(len(applied), total)

    with _held(engine) as connection, _alembic_errors(connection):
        configuration = _configuration(versions)
        total = len(_missing(connection, configuration))
        connection.commit()  # what is open here, Alembic would leave open
        configuration.attributes.update(connection=connection, on_version_apply=note)
        command.upgrade(configuration, "heads")
    return tuple(applied)


def current(engine: Engine) -> str | None:
    """Return the revision that the database is at; None before the first.

    Raises:
        StoreUnavailable: The database cannot be reached.
    """
    with store_errors(), engine.connect() as connection:
        return _revision(connection)


def pending(engine: Engine, *, versions: Path = VERSIONS) -> tuple[str, ...]:
    """Return the revisions that `migrate` would apply, in that order.

    Raises:
        StoreUnavailable: The database cannot be reached.
        StoreError: The database is newer than this version.
    """
    with store_errors(), engine.connect() as connection, _alembic_errors(connection):
        return _missing(connection, _configuration(versions))


def _missing(connection: Connection, configuration: Config) -> tuple[str, ...]:
    scripts = ScriptDirectory.from_config(configuration)
    missing = scripts.iterate_revisions("heads", _revision(connection) or "base")
    return tuple(script.revision for script in missing)[::-1]


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _configuration(versions: Path) -> Config:
    configuration = Config()
    # Alembic reads its settings as templates, in which a % is written twice.
    settings = {"script_location": SCRIPTS, "version_locations": versions}
    for name, value in settings.items():
        configuration.set_main_option(name, str(value).replace("%", "%%"))
    # One path each, which may hold any character but a line break.
    configuration.set_main_option("path_separator", "newline")
    return configuration


@contextmanager
def _held(engine: Engine) -> Iterator[Connection]:
    """A connection of its own that holds the lock of the migrations; it waits for the lock."""
    with store_errors(), engine.connect() as pooled:
        driver = pooled.connection.driver_connection
        assert isinstance(driver, BoundedConnection)
        driver.answer_timeout_s = None
        connection = pooled.execution_options(isolation_level="READ COMMITTED")
        try:
            for statement, values in LOCKING:
                connection.execute(text(statement), values)
            connection.commit()
            yield connection
        finally:
            # The lock and the settings end with the connection, which the pool replaces.
            connection.invalidate()


@contextmanager
def _alembic_errors(connection: Connection) -> Iterator[None]:
    try:
        yield
    except (CommandError, RevisionError) as error:
        raise StoreError(
            f"the schema of {connection.engine.url.database} cannot be brought up to date: {error};"
            " a newer version of turnkeeper may have migrated it"
        ) from error
