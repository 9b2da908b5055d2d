"""The stores of running turns in Postgres, as their contracts want them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from contracts.keys import Keys
from contracts.stores import DAY_S, Stores
from forgetful_vault import ForgetfulVault
from sqlalchemy import Date, DateTime, Engine, Table, func, make_url, select, text, update
from sqlalchemy.dialects.postgresql import insert

from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.postgres import turn_tables
from turnkeeper.infrastructure.postgres.engine import connected, create_engine_for
from turnkeeper.infrastructure.postgres.journal import PostgresJournal
from turnkeeper.infrastructure.postgres.key_ring import PostgresKeyRing
from turnkeeper.infrastructure.postgres.key_vault import PostgresKeyVault
from turnkeeper.infrastructure.postgres.ledger import PostgresLedger
from turnkeeper.infrastructure.postgres.metadata import metadata
from turnkeeper.infrastructure.postgres.migrate import migrate
from turnkeeper.infrastructure.postgres.notices import PostgresNotices
from turnkeeper.infrastructure.postgres.old_turns import PostgresOldTurns
from turnkeeper.infrastructure.postgres.orphans import PostgresOrphans
from turnkeeper.infrastructure.postgres.reports import PostgresReports
from turnkeeper.infrastructure.postgres.settings_editor import PostgresSettingsEditor
from turnkeeper.infrastructure.postgres.settings_store import PostgresSettingsStore
from turnkeeper.infrastructure.postgres.signals import PostgresSignals
from turnkeeper.infrastructure.postgres.standings import PostgresStandings
from turnkeeper.infrastructure.postgres.tables import key_state, owner_settings
from turnkeeper.infrastructure.postgres.turn_history import PostgresTurnHistory
from turnkeeper.infrastructure.postgres.turn_store import PostgresTurnStore
from turnkeeper.infrastructure.postgres.user_traces import PostgresUserTraces
from turnkeeper.infrastructure.threads import ThreadRunner

TABLES = (*(one for one in vars(turn_tables).values() if isinstance(one, Table)), key_state)


@contextmanager
def one_database(server_url: str) -> Iterator[Engine]:
    """A migrated database for many tests, which `stores_in_postgres` empties for each."""
    name = f"stores_{uuid4().hex}"
    server = create_engine_for(server_url, pool_size=1)
    with connected(server) as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0"))
    url = make_url(server_url).set(database=name).render_as_string(hide_password=False)
    engine = create_engine_for(url, pool_size=16)
    migrate(engine)
    yield engine
    engine.dispose()
    with connected(server) as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


@contextmanager
def stores_in_postgres(engine: Engine) -> Iterator[Stores]:
    """The stores of an empty database."""
    with connected(engine) as connection:
        names = ", ".join(table.name for table in metadata.tables.values())
        connection.execute(text(f"TRUNCATE {names}"))
    runner, vault = ThreadRunner(), ForgetfulVault()
    signals = PostgresSignals(engine, runner=runner, poll_s=0.1)
    passing = partial(pass_time, engine)
    yield Stores(
        turns=PostgresTurnStore(engine),
        standings=PostgresStandings(engine),
        ledger=PostgresLedger(engine),
        journal=PostgresJournal(engine),
        signals=signals,
        keys=Keys(
            ring=PostgresKeyRing(engine, vault=vault),
            saved=PostgresKeyVault(engine, vault=vault),
            vault=vault,
            pass_time=passing,
        ),
        orphans=PostgresOrphans(engine),
        old=PostgresOldTurns(engine),
        history=PostgresTurnHistory(engine),
        traces=PostgresUserTraces(engine),
        notices=PostgresNotices(engine),
        settings=PostgresSettingsStore(engine),
        editor=PostgresSettingsEditor(engine),
        reports=PostgresReports(engine),
        pass_time=passing,
        now=partial(now, engine),
        set_version=partial(set_version, engine),
    )
    signals.close()
    runner.close()


def pass_time(engine: Engine, seconds: float) -> None:
    """Move what was stamped back, since the database's clock cannot be moved; days whole."""
    for table in TABLES:
        moved = {
            column.name: column - _passed(column.type, seconds)
            for column in table.columns
            if isinstance(column.type, DateTime | Date)
        }
        if moved:
            with connected(engine) as connection:
                connection.execute(update(table).values(moved))


def _passed(kind: object, seconds: float) -> object:
    return int(seconds // DAY_S) if isinstance(kind, Date) else timedelta(seconds=seconds)


def now(engine: Engine) -> datetime:
    with connected(engine) as connection:
        read: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return read


def set_version(engine: Engine, owner: Owner, version: int) -> None:
    with connected(engine) as connection:
        connection.execute(insert(owner_settings).values(owner=str(owner), version=version))
