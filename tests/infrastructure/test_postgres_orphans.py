import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from contracts.orphans import DEAD_S, OrphansContract
from contracts.stores import Stores, an_intent
from sqlalchemy import Engine
from stores_in_postgres import one_database, stores_in_postgres
from wire import traced

from turnkeeper.application.ports.orphans import Swept
from turnkeeper.infrastructure.postgres.orphans import CLAIM, DONE

pytestmark = pytest.mark.postgres

CLAIMER = """
import sys
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.postgres.orphans import PostgresOrphans

engine = create_engine_for(sys.argv[1], pool_size=1)
orphans = PostgresOrphans(engine)
print("ready", flush=True)
sys.stdin.readline()
while claimed := orphans.claim(sys.argv[2], limit=3):
    print(*(one.turn_id for one in claimed), flush=True)
engine.dispose()
"""


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


@pytest.fixture
def stores(engine: Engine) -> Iterator[Stores]:
    with stores_in_postgres(engine) as stores:
        yield stores


class TestPostgresOrphans(OrphansContract):
    @pytest.fixture
    def stores(self, stores: Stores) -> Stores:
        return stores


def test_processes_that_claim_at_once_get_each_turn_once(engine: Engine, stores: Stores) -> None:
    names = [f"t{number}" for number in range(30)]
    for name in names:
        stores.start(name, channel_id=name)
    stores.pass_time(DEAD_S + 1)
    url = engine.url.render_as_string(hide_password=False)
    claimers = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", CLAIMER, url, f"claimer {number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for claimer in claimers:
        assert claimer.stdout is not None
        assert claimer.stdout.readline() == "ready\n"
    for claimer in claimers:
        assert claimer.stdin is not None
        claimer.stdin.write("go\n")
        claimer.stdin.flush()

    claimed = [claimer.communicate(timeout=60)[0].split() for claimer in claimers]

    assert [claimer.returncode for claimer in claimers] == [0, 0]
    assert Counter(claimed[0] + claimed[1]) == dict.fromkeys(names, 1)


def test_a_claim_and_its_end_each_cost_one_round_trip(engine: Engine, stores: Stores) -> None:
    stores.start()
    stores.ledger.intend(an_intent())
    stores.pass_time(DEAD_S + 1)

    with traced(engine) as claiming:
        (orphan,) = stores.orphans.claim("me", limit=9)
    with traced(engine) as ending:
        stores.orphans.done(Swept(orphan=orphan, absent=("i1",)))

    assert (claiming.round_trips, ending.round_trips) == (1, 1)


def test_no_statement_is_too_long_to_be_kept_translated() -> None:
    assert [len(sql) <= 4096 for sql in (CLAIM, DONE)] == [True, True]
