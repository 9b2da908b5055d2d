from collections.abc import Iterator

import pytest
from contracts.reports import ReportsContract
from contracts.stores import Stores
from sqlalchemy import Engine
from stores_in_postgres import one_database, stores_in_postgres

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


@pytest.fixture
def stores(engine: Engine) -> Iterator[Stores]:
    with stores_in_postgres(engine) as stores:
        yield stores


class TestPostgresReports(ReportsContract):
    @pytest.fixture
    def stores(self, stores: Stores) -> Stores:
        return stores
