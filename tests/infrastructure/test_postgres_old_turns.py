from collections.abc import Iterator

import pytest
from contracts.journal import an_entry
from contracts.old_turns import OldTurnsContract
from contracts.stores import DAY_S, Stores
from sqlalchemy import Engine
from stores_in_postgres import one_database, stores_in_postgres
from wire import traced

from turnkeeper.application.ports.old_turns import Pruned

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


@pytest.fixture
def stores(engine: Engine) -> Iterator[Stores]:
    with stores_in_postgres(engine) as stores:
        yield stores


class TestPostgresOldTurns(OldTurnsContract):
    @pytest.fixture
    def stores(self, stores: Stores) -> Stores:
        return stores


def test_a_journal_whose_turn_never_began_is_forgotten(stores: Stores) -> None:
    stores.journal.record((an_entry(0), an_entry(1)))
    stores.pass_time(11 * DAY_S)

    assert stores.old.prune(older_than_s=DAY_S, limit=9) == Pruned(journals=1, events=2)


def test_a_batch_costs_one_round_trip(engine: Engine, stores: Stores) -> None:
    with traced(engine) as wire:
        stores.old.prune(older_than_s=DAY_S, limit=9)

    assert wire.round_trips == 1
