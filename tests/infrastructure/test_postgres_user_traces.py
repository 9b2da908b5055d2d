from collections.abc import Iterator

import pytest
from contracts.stores import Stores
from contracts.user_traces import UserTracesContract
from sqlalchemy import Engine, inspect, text
from stores_in_postgres import one_database, stores_in_postgres

from turnkeeper.infrastructure.postgres.engine import connected

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


@pytest.fixture
def stores(engine: Engine) -> Iterator[Stores]:
    with stores_in_postgres(engine) as stores:
        yield stores


class TestPostgresUserTraces(UserTracesContract):
    @pytest.fixture
    def stores(self, stores: Stores) -> Stores:
        return stores


def test_no_row_names_a_user_who_was_forgotten_but_the_version(
    engine: Engine, stores: Stores
) -> None:
    contract, name = UserTracesContract(), "ann-who-is-to-be-forgotten"
    contract.settle_in(stores, name)
    before = naming(engine, name)

    contract.forget(stores, name)

    assert before >= {"turns", "turn_events", "delivery_intents", "notices", "provider_keys"}
    assert before >= {"key_state", "saved_providers", "endpoints", "quota_days", "quota_units"}
    assert naming(engine, name) == {"owner_settings"}
    with connected(engine) as connection:
        rows = connection.execute(text("SELECT * FROM owner_settings")).mappings().all()
    (row,) = [one for one in rows if one["owner"] == f"user:{name}"]
    assert (row["chain"], row["primary_ref"], row["server_fallback"]) == ([], None, True)


def naming(engine: Engine, name: str) -> set[str]:
    """The tables of which a row holds the name."""
    with connected(engine) as connection:
        return {
            table
            for table in inspect(connection).get_table_names()
            if connection.execute(
                text(f"SELECT count(*) FROM {table} t WHERE strpos(t::text, :name) > 0"),
                {"name": name},
            ).scalar_one()
        }
