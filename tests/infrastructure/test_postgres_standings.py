from collections.abc import Iterator

import pytest
from contracts.standings import StandingsContract
from contracts.stores import Stores, an_opening, counting
from sqlalchemy import Engine
from stores_in_postgres import one_database, stores_in_postgres
from wire import traced

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


@pytest.fixture
def stores(engine: Engine) -> Iterator[Stores]:
    with stores_in_postgres(engine) as stores:
        yield stores


class TestPostgresStandings(StandingsContract):
    @pytest.fixture
    def stores(self, stores: Stores) -> Stores:
        return stores


def test_a_look_costs_one_round_trip(engine: Engine, stores: Stores) -> None:
    with traced(engine) as wire:
        stores.standings.look(an_opening(admission=counting("asked", daily=1, wide=1)))

    assert wire.round_trips == 1
