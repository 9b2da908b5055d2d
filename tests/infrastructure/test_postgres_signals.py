import os
import subprocess
import sys
from collections.abc import Iterator
from queue import SimpleQueue

import pytest
from contracts.signals import SignalsContract
from contracts.stores import Stores
from sqlalchemy import Engine
from stores_in_postgres import one_database, stores_in_postgres

from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import Closed, StoreUnavailable
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.postgres.pipeline import Statement, run
from turnkeeper.infrastructure.postgres.signals import PostgresSignals
from turnkeeper.infrastructure.threads import ThreadRunner

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


class TestPostgresSignals(SignalsContract):
    @pytest.fixture
    def stores(self, stores: Stores) -> Stores:
        return stores


@pytest.fixture
def stores(engine: Engine) -> Iterator[Stores]:
    with stores_in_postgres(engine) as stores:
        yield stores


@pytest.fixture
def runner() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


NEVER_S = 3600.0
OFTEN_S = 0.02
LISTENERS = """
FROM pg_stat_activity
WHERE starts_with(query, 'LISTEN') OR starts_with(query, 'SELECT turn_id, signal')
"""


def listeners(engine: Engine) -> int:
    (rows,) = run(engine, Statement(f"SELECT count(*) AS number {LISTENERS}"))
    return int(rows[0]["number"])


def test_a_notification_does_not_wait_for_the_poll(
    engine: Engine, stores: Stores, runner: ThreadRunner
) -> None:
    heard = SimpleQueue[Signal]()
    signals = PostgresSignals(engine, runner=runner, poll_s=NEVER_S)
    stores.start()
    signals.watch("t1", heard.put)
    while not listeners(engine):
        pass

    stores.signals.send("t1", Signal.STOP_REQUESTED)

    assert heard.get(timeout=10) is Signal.STOP_REQUESTED
    signals.close()


def test_the_poll_hears_what_was_not_notified(
    engine: Engine, stores: Stores, runner: ThreadRunner
) -> None:
    heard = SimpleQueue[Signal]()
    signals = PostgresSignals(engine, runner=runner, poll_s=OFTEN_S)
    stores.start()
    signals.watch("t1", heard.put)

    run(engine, Statement(SEND_QUIETLY))

    assert heard.get(timeout=10) is Signal.FOLLOW_UP_REQUESTED
    signals.close()


SEND_QUIETLY = """
INSERT INTO turn_signals (server, turn_id, signal, sender)
VALUES ('server:guild', 't1', 'follow_up_requested', 'ann')
"""


def test_a_listener_whose_connection_is_lost_makes_another(
    engine: Engine, stores: Stores, runner: ThreadRunner
) -> None:
    heard = SimpleQueue[Signal]()
    signals = PostgresSignals(engine, runner=runner, poll_s=OFTEN_S)
    stores.start()
    signals.watch("t1", heard.put)
    while not listeners(engine):
        pass

    run(engine, Statement(f"SELECT pg_terminate_backend(pid) {LISTENERS}"))
    stores.signals.send("t1", Signal.STOP_REQUESTED)

    assert heard.get(timeout=10) is Signal.STOP_REQUESTED
    signals.close()


def test_a_listener_whose_looks_fail_goes_on_looking(
    engine: Engine, stores: Stores, runner: ThreadRunner
) -> None:
    heard = SimpleQueue[Signal]()
    signals = PostgresSignals(engine, runner=runner, poll_s=OFTEN_S)
    stores.start()
    stores.signals.send("t1", Signal.STOP_REQUESTED)
    run(engine, Statement("ALTER TABLE turn_signals RENAME TO mislaid"))
    signals.watch("t1", heard.put)
    while not listeners(engine):
        pass

    run(engine, Statement("ALTER TABLE mislaid RENAME TO turn_signals"))

    assert heard.get(timeout=10) is Signal.STOP_REQUESTED
    signals.close()


def test_who_never_watches_has_no_listener(engine: Engine, stores: Stores) -> None:
    runner = ThreadRunner()
    signals = PostgresSignals(engine, runner=runner)
    stores.start()

    signals.send("t1", Signal.STOP_REQUESTED)

    assert (signals.pending("t1"), runner.running) == (Signal.STOP_REQUESTED, 0)
    signals.close()
    runner.close()


def test_one_listener_serves_all_watches(engine: Engine, runner: ThreadRunner) -> None:
    signals = PostgresSignals(engine, runner=runner)

    for number in range(8):
        signals.watch(f"t{number}", lambda signal: None)

    assert runner.running == 1
    signals.close()


def test_a_closed_listener_is_gone_with_its_connection(
    engine: Engine, stores: Stores, runner: ThreadRunner
) -> None:
    signals = PostgresSignals(engine, runner=runner, poll_s=NEVER_S)
    signals.watch("t1", lambda signal: None)
    while not listeners(engine):
        pass

    signals.close()
    signals.close()

    assert runner.running == 0
    while listeners(engine):
        pass


def test_a_runner_that_was_closed_listens_no_more(engine: Engine) -> None:
    runner = ThreadRunner()
    runner.close()
    signals = PostgresSignals(engine, runner=runner)

    with pytest.raises(Closed):
        signals.watch("t1", lambda signal: None)


SENDER = """
import sys
from turnkeeper.domain.answers import Signal
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.postgres.signals import PostgresSignals
from turnkeeper.infrastructure.threads import ThreadRunner

engine = create_engine_for(sys.argv[1], pool_size=1)
signals = PostgresSignals(engine, runner=ThreadRunner())
print(signals.send("t1", Signal.STOP_REQUESTED, sender="another process"))
signals.close()
engine.dispose()
"""


def test_a_signal_comes_from_another_process(engine: Engine, stores: Stores) -> None:
    heard = SimpleQueue[Signal]()
    stores.start()
    stores.signals.watch("t1", heard.put)
    url = engine.url.render_as_string(hide_password=False)

    sent = subprocess.run(
        [sys.executable, "-W", "error", "-c", SENDER, url],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert (sent.stdout, sent.stderr) == ("True\n", "")
    assert heard.get(timeout=10) is Signal.STOP_REQUESTED


def test_a_store_that_is_away_says_so(runner: ThreadRunner) -> None:
    nowhere = create_engine_for("postgresql://nobody@127.0.0.1:1/nothing", pool_size=1)
    signals = PostgresSignals(nowhere, runner=runner)

    for ask in (
        lambda: signals.send("t1", Signal.STOP_REQUESTED),
        lambda: signals.pending("t1"),
        lambda: signals.running_in("guild", "channel"),
    ):
        with pytest.raises(StoreUnavailable):
            ask()
    signals.close()
    nowhere.dispose()
