"""Pipelines on a real database."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from contracts.keys import at_once
from sqlalchemy import Engine
from wire import traced

from turnkeeper.domain.errors import StoreError, StoreUnavailable
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.postgres.pipeline import Statement, run, squeezed

pytestmark = pytest.mark.postgres

NUMBER = "SELECT %(number)s::int AS number"
SYNC = Statement("SELECT current_setting('synchronous_commit') AS sync")


def a_number(number: int) -> Statement:
    return Statement(NUMBER, {"number": number})


@pytest.fixture
def steps(database: Engine) -> Engine:
    """An engine on a database with a table of steps, of which there are none."""
    run(database, Statement("CREATE TABLE steps (name text PRIMARY KEY, taken int DEFAULT 0)"))
    return database


def step(name: str) -> Statement:
    return Statement("INSERT INTO steps (name) VALUES (%(name)s)", {"name": name})


def names(engine: Engine) -> list[str]:
    (rows,) = run(engine, Statement("SELECT name FROM steps ORDER BY name"))
    return [row["name"] for row in rows]


def test_the_rows_of_each_statement_come_back(steps: Engine) -> None:
    answers = run(steps, a_number(1), step("one"), a_number(2))

    assert answers == ([{"number": 1}], [], [{"number": 2}])


def test_many_statements_are_one_round_trip(steps: Engine) -> None:
    run(steps, a_number(0))

    with traced(steps) as wire:
        run(steps, *map(a_number, range(20)))

    assert (wire.round_trips, wire.statements) == (1, 20)


def test_the_call_that_has_its_statement_planned_counts_as_one_round_trip(steps: Engine) -> None:
    waits = []
    for _ in range(12):
        with traced(steps) as wire:
            run(steps, a_number(1))
        waits.append((wire.round_trips, wire.statements))

    assert waits == [(1, 1)] * 12


def test_one_statement_is_one_statement(steps: Engine) -> None:
    run(steps, a_number(0))

    with traced(steps) as wire:
        run(steps, step("one"))

    assert (wire.round_trips, wire.statements) == (1, 1)


def test_all_statements_are_of_one_transaction(steps: Engine) -> None:
    mine = Statement("SELECT now() AS at, pg_current_xact_id()::text AS transaction")

    before, *_, after = run(steps, mine, step("one"), Statement("SELECT pg_sleep(0.01)"), mine)

    assert before == after


def test_nobody_sees_a_part_of_it(steps: Engine) -> None:
    begun = threading.Event()

    def write() -> None:
        begun.set()
        run(steps, step("one"), Statement("SELECT pg_sleep(0.2)"), step("two"))

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write)
        begun.wait()
        seen = []
        while not writing.done():
            seen.append(tuple(names(steps)))
    assert set(seen) <= {(), ("one", "two")}
    assert names(steps) == ["one", "two"]


def test_an_error_undoes_all(steps: Engine) -> None:
    with pytest.raises(StoreError, match="UniqueViolation"):
        run(steps, step("one"), step("two"), step("one"), step("three"))

    assert names(steps) == []


def test_an_error_that_comes_late_undoes_all(steps: Engine) -> None:
    with pytest.raises(StoreError, match="DivisionByZero"):
        run(steps, step("one"), Statement("SELECT pg_sleep(0.1)"), Statement("SELECT 1 / 0"))

    assert names(steps) == []


def test_after_an_error_the_next_goes_through(database_url: str) -> None:
    engine = create_engine_for(database_url, pool_size=1)
    with pytest.raises(StoreError):
        run(engine, a_number(1), Statement("SELECT 1 / 0"))

    assert run(engine, a_number(1), a_number(2)) == ([{"number": 1}], [{"number": 2}])
    engine.dispose()


def test_a_commit_is_durable_unless_it_need_not_be(steps: Engine) -> None:
    asked = [
        run(steps, SYNC)[0],
        run(steps, SYNC, durable=False)[0],
        run(steps, SYNC, SYNC)[0],
    ]

    assert [rows[0]["sync"] for rows in asked] == ["on", "off", "on"]


def test_transactions_in_each_others_way_go_through_one_after_the_other(steps: Engine) -> None:
    run(steps, step("a"), step("b"))

    def take(number: int) -> None:
        first, second = ("a", "b") if number else ("b", "a")
        run(
            steps,
            Statement("SELECT set_config('deadlock_timeout', '20ms', TRUE)"),
            _take(first),
            Statement("SELECT pg_sleep(0.1)"),
            _take(second),
        )

    at_once(2, take)

    (rows,) = run(steps, Statement("SELECT taken FROM steps ORDER BY name"))
    assert [row["taken"] for row in rows] == [2, 2]


def _take(name: str) -> Statement:
    return Statement("UPDATE steps SET taken = taken + 1 WHERE name = %(name)s", {"name": name})


def test_a_database_that_is_away_says_so() -> None:
    engine = create_engine_for("postgresql://nobody@127.0.0.1:1/nothing", pool_size=1)

    with pytest.raises(StoreUnavailable):
        run(engine, a_number(1))
    engine.dispose()


def test_a_statement_is_squeezed_to_the_same_statement(steps: Engine) -> None:
    sql = squeezed(
        "SELECT %(number)s::int  AS",
        """
        number WHERE 1 <> 2 AND 'a  b' IN ('a b', 'c')
            AND now() > now() - interval '1 day'
        """,
    )

    assert sql == (
        "SELECT %(number)s::int AS number WHERE 1<>2 AND 'a b' IN('a b','c')"
        "AND now()>now()- interval '1 day'"
    )
    assert run(steps, Statement(sql, {"number": 7})) == ([{"number": 7}],)
