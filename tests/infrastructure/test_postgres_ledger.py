from collections.abc import Iterator

import pytest
from contracts.ledger import LedgerContract
from contracts.stores import Stores
from sqlalchemy import Engine
from stores_in_postgres import one_database, stores_in_postgres

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


class TestPostgresLedger(LedgerContract):
    @pytest.fixture
    def stores(self, engine: Engine) -> Iterator[Stores]:
        with stores_in_postgres(engine) as stores:
            yield stores
