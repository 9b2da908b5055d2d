import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Engine, inspect

from turnkeeper.infrastructure.postgres import discord_tables, tables, turn_tables
from turnkeeper.infrastructure.postgres.engine import connected, transaction
from turnkeeper.infrastructure.postgres.metadata import metadata
from turnkeeper.infrastructure.postgres.migrations.versions import (
    m0002_turns,
    m0006_sweep,
    m0009_orders_of_keys,
)

pytestmark = pytest.mark.postgres


def test_the_migrations_make_the_tables_as_they_are_declared(database: Engine) -> None:
    declared = (tables.provider_keys, turn_tables.turns, discord_tables.discord_webhooks)
    assert {table.name for table in declared} <= set(metadata.tables)
    with connected(database) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_the_turns_can_be_dropped_and_made_again(database: Engine) -> None:
    with transaction(database) as connection:
        context = MigrationContext.configure(connection)
        with Operations.context(context):
            m0006_sweep.downgrade()
            m0002_turns.downgrade()
            left = set(inspect(connection).get_table_names())
            m0002_turns.upgrade()
            m0006_sweep.upgrade()

    assert left.isdisjoint(m0002_turns.TABLES)
    with connected(database) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_the_orders_of_keys_can_be_dropped_and_made_again(database: Engine) -> None:
    with transaction(database) as connection:
        context = MigrationContext.configure(connection)
        with Operations.context(context):
            m0009_orders_of_keys.downgrade()
            left = {index["name"] for index in inspect(connection).get_indexes("key_state")}
            m0009_orders_of_keys.upgrade()

    assert left.isdisjoint(m0009_orders_of_keys.INDEXES)
    with connected(database) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@pytest.mark.parametrize("name", m0002_turns.TABLES)
def test_each_table_can_be_split_by_its_owner(name: str) -> None:
    first = next(iter(metadata.tables[name].primary_key.columns))

    assert first.name in {"server", "owner"}
