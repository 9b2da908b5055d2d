import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
from builders import SERVER, a_delivery
from contracts.admission import AdmissionContract
from contracts.journal import an_entry
from contracts.stores import (
    Stores,
    a_closing,
    an_intent,
    an_opening,
    cooling,
    counting,
    refused,
    reserved,
)
from contracts.turn_crowds import TurnCrowdsContract
from contracts.turn_store import TurnStoreContract
from sqlalchemy import Engine, text
from stores_in_postgres import one_database, stores_in_postgres
from wire import traced

from turnkeeper.application.ports.ledger import Fates
from turnkeeper.application.ports.turn_store import Booked
from turnkeeper.domain.admission import AdmissionCheck, CooldownCheck, RefusalKind
from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.domain.finish import Commit
from turnkeeper.domain.plan import RestScope
from turnkeeper.domain.rotation import BookSuccess
from turnkeeper.infrastructure.postgres.admissions import ASK, gates, values_of
from turnkeeper.infrastructure.postgres.closing import END
from turnkeeper.infrastructure.postgres.engine import connected, create_engine_for
from turnkeeper.infrastructure.postgres.ledger import INTEND, PostgresLedger, intending
from turnkeeper.infrastructure.postgres.opening import DECIDE, DECIDE_BY_RULES, opening_of
from turnkeeper.infrastructure.postgres.pipeline import Statement
from turnkeeper.infrastructure.postgres.turn_store import PostgresTurnStore

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


class InPostgres:
    @pytest.fixture
    def stores(self, stores: Stores) -> Stores:
        return stores


@pytest.fixture
def stores(engine: Engine) -> Iterator[Stores]:
    with stores_in_postgres(engine) as stores:
        yield stores


class TestPostgresTurnStore(InPostgres, TurnStoreContract):
    pass


class TestPostgresAdmission(InPostgres, AdmissionContract):
    pass


class TestPostgresTurnCrowds(InPostgres, TurnCrowdsContract):
    pass


def count(engine: Engine, sql: str) -> int:
    with connected(engine) as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {sql}")).scalar_one())


# ── what it costs ───────────────────────────────────────────────────────────────────────────


def a_strict_check(name: str) -> AdmissionCheck:
    return counting(name, daily=50, wide=50, cooldown=CooldownCheck(scope=name, length_s=5))


def test_a_turn_is_opened_in_one_round_trip(engine: Engine, stores: Stores) -> None:
    opening = an_opening("t1", turn_key="key", admission=a_strict_check("a"), owners=(SERVER,))

    with traced(engine) as wire:
        stores.turns.open(opening)

    assert wire.round_trips == 1


def test_a_turn_is_refused_in_one_round_trip(engine: Engine, stores: Stores) -> None:
    stores.turns.admit(cooling("a", "b"))

    with traced(engine) as wire:
        stores.turns.open(an_opening("t1", admission=a_strict_check("b")))

    assert wire.round_trips == 1


def test_a_turn_is_admitted_in_one_round_trip(engine: Engine, stores: Stores) -> None:
    with traced(engine) as wire:
        stores.turns.admit(a_strict_check("a"))

    assert wire.round_trips == 1


def test_a_turn_is_closed_in_one_round_trip(engine: Engine, stores: Stores) -> None:
    stores.keys.add("one")
    booked = Booked(lease=stores.keys.lend(), booking=BookSuccess())
    held = reserved(stores.start("a", admission=a_strict_check("a")).admission)
    stores.ledger.intend(an_intent("i1", "a"))

    with traced(engine) as wire:
        stores.close(
            "a",
            settle=Commit(reservation=held),
            fates=Fates(posted=(("i1", a_delivery("m1")),)),
            bookings=(booked,),
            entries=(an_entry(0, "a"),),
        )

    assert wire.round_trips == 1


def test_all_turns_of_a_process_are_kept_alive_by_one_statement(
    engine: Engine, stores: Stores
) -> None:
    names = tuple(f"t{number}" for number in range(20))
    for name in names:
        stores.start(name, channel_id=name)

    with traced(engine) as wire:
        stores.turns.extend(names, alive_s=30)

    assert (wire.round_trips, wire.statements) == (1, 1)


def test_no_statement_is_too_long_to_be_kept_translated() -> None:
    texts = (DECIDE, DECIDE_BY_RULES, ASK, INTEND, END)

    assert [len(sql) <= 4096 for sql in texts] == [True] * len(texts)


def test_the_statements_of_a_turn_are_planned_once(engine: Engine, stores: Stores) -> None:
    url = engine.url.render_as_string(hide_password=False)
    alone = create_engine_for(url, pool_size=1)
    turns, ledger = PostgresTurnStore(alone), PostgresLedger(alone)
    for number in range(15):
        name = f"t{number}"
        turns.open(an_opening(name, turn_key=name, admission=a_strict_check(name)))
        ledger.intend(an_intent(name, name), entries=(an_entry(0, name),))
        turns.close(a_closing(name, fates=Fates(posted=((name, a_delivery(name)),))))

    # The server plans the first five uses of a statement each for itself.
    prepared = count(alone, "pg_prepared_statements WHERE generic_plans + custom_plans > 5")
    assert prepared >= 8
    assert count(alone, "pg_prepared_statements WHERE custom_plans > 5") == 0
    alone.dispose()


# ── what it leaves ──────────────────────────────────────────────────────────────────────────


def test_a_refused_turn_leaves_no_trace_but_that_it_was_told(
    engine: Engine, stores: Stores
) -> None:
    stores.turns.admit(cooling("a", "b"))

    stores.open("t1", turn_key="key", admission=a_strict_check("b"))

    assert count(engine, "turns") == 0
    assert count(engine, "channel_leases WHERE until > now()") == 0
    assert count(engine, "quota_units WHERE state <> 'released'") == 0
    assert count(engine, "admission_refusals") == 1


def test_a_store_that_is_away_says_so(engine: Engine) -> None:
    nowhere = create_engine_for("postgresql://nobody@127.0.0.1:1/nothing", pool_size=1)
    turns, scope = PostgresTurnStore(nowhere), RestScope(owner=SERVER, place="wall", model="m")

    for ask in (
        lambda: turns.open(an_opening()),
        lambda: turns.admit(cooling("a")),
        lambda: turns.close(a_closing()),
        lambda: turns.rest(scope, for_s=1),
        lambda: turns.extend(("t1",), alive_s=1),
        lambda: turns.mark_unreachable(SERVER, "channel", for_s=1),
    ):
        with pytest.raises(StoreUnavailable):
            ask()
    nowhere.dispose()


# ── one after the other ─────────────────────────────────────────────────────────────────────


@contextmanager
def slowly(engine: Engine, *statements: Statement) -> Iterator[None]:
    """A transaction whose last statement is carried out only once somebody waits for the others."""
    *first, last = statements
    pooled = engine.raw_connection()
    driver = pooled.driver_connection
    assert driver is not None
    with driver.transaction():
        for statement in first:
            driver.execute(statement.sql, statement.values)
        yield
        waiting = (
            count(engine, "pg_stat_activity WHERE wait_event_type = 'Lock'") for _ in range(5000)
        )
        assert any(waiting), "nobody waits"
        driver.execute(last.sql, last.values)
    pooled.close()


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (cooling("one"), cooling("other"), RefusalKind.COOLDOWN),
        (counting("one", daily=1), counting("other", daily=1), RefusalKind.USER_QUOTA),
        (counting("one", wide=1), counting("other", wide=1), RefusalKind.SERVER_QUOTA),
    ],
    ids=["cooldown", "day", "period"],
)
def test_who_asks_while_another_is_granted_waits_for_it(
    one: AdmissionCheck,
    other: AdmissionCheck,
    kind: RefusalKind,
    engine: Engine,
    stores: Stores,
) -> None:
    stores.turns.admit(replace(one, trigger_key="before", expires_in_s=1))
    stores.pass_time(5)
    values = values_of(one)

    with ThreadPoolExecutor() as pool:
        with slowly(engine, *gates(values), Statement(ASK, values)):
            asked = pool.submit(stores.turns.admit, other)

        assert refused(asked.result(10)) is kind


def test_who_opens_while_another_does_waits_for_its_channel(engine: Engine, stores: Stores) -> None:
    stores.start("before")
    stores.close("before")

    with ThreadPoolExecutor() as pool:
        with slowly(engine, *opening_of(an_opening("t1"))):
            asked = pool.submit(stores.open, "t2")

        assert refused(asked.result(10).admission) is RefusalKind.CHANNEL_BUSY


def test_who_shares_a_unit_that_is_just_granted_shares_it(engine: Engine, stores: Stores) -> None:
    stores.give_back(reserved(stores.turns.admit(counting("a", "t0", daily=1))))
    values = values_of(counting("a", "t1", daily=1))

    with ThreadPoolExecutor() as pool:
        with slowly(engine, *gates(values), Statement(ASK, values)):
            asked = pool.submit(stores.turns.admit, counting("a", "t2", daily=1))
        reserved(asked.result(10))

    assert count(engine, "quota_units WHERE holders = '{t1,t2}'") == 1


def test_who_gives_a_turn_up_finds_the_intent_that_was_just_written(
    engine: Engine, stores: Stores
) -> None:
    stores.start("t1", turn_key="key")
    stores.pass_time(31)
    intent = intending(an_intent("i1"))

    with ThreadPoolExecutor() as pool:
        with slowly(engine, intent, Statement("SELECT 1")):
            heir = pool.submit(stores.open, "t2", turn_key="key")
        heir.result(10)

    assert [intent.intent_id for intent, _, _ in stores.ledger.left_by("t1")] == ["i1"]


# ── several processes ───────────────────────────────────────────────────────────────────────

CROWD = """
import sys
from contracts.keys import at_once
from contracts.stores import cooling, counting, refused
from turnkeeper.domain.admission import Granted
from turnkeeper.domain.finish import Release
from contracts.stores import a_closing
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.postgres.turn_store import PostgresTurnStore

url, me = sys.argv[1:]
engine = create_engine_for(url, pool_size=16)
turns = PostgresTurnStore(engine)


def quota(number):
    name = f"{me}-{number}"
    return turns.admit(counting(name, daily=10, wide=10))


def give_back(admission):
    if isinstance(admission, Granted):
        settle = Release(reservation=admission.reservation)
        turns.close(a_closing(admission.reservation.holder, settle=settle))


print("ready", flush=True)
sys.stdin.readline()
granted = at_once(16, quota)
print(sum(isinstance(one, Granted) for one in granted), flush=True)
sys.stdin.readline()
at_once(16, lambda number: give_back(granted[number]))
print("given back", flush=True)
sys.stdin.readline()
passed = at_once(16, lambda number: refused(turns.admit(cooling(f"{me}-{number}"))))
print(passed.count(None), flush=True)
engine.dispose()
"""


class Crowd:
    """Processes that each do the next thing when all have done the one before."""

    def __init__(self, engine: Engine, processes: int) -> None:
        url = engine.url.render_as_string(hide_password=False)
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-W", "error", "-c", CROWD, url, f"p{number}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            for number in range(processes)
        ]

    def said(self) -> list[str]:
        return [process.stdout.readline().strip() for process in self._processes if process.stdout]

    def go_on(self) -> list[str]:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return self.said()

    def ends(self) -> list[int]:
        codes = []
        for process in self._processes:
            process.communicate(timeout=30)
            codes.append(process.returncode)
        return codes


def test_processes_never_disagree(engine: Engine, stores: Stores) -> None:
    crowd = Crowd(engine, 4)
    assert crowd.said() == ["ready"] * 4

    assert sum(map(int, crowd.go_on())) == 10
    assert count(engine, "quota_units WHERE state = 'reserved'") == 10
    assert crowd.go_on() == ["given back"] * 4
    assert count(engine, "quota_units WHERE state = 'reserved'") == 0
    assert sum(map(int, crowd.go_on())) == 1
    assert crowd.ends() == [0] * 4
