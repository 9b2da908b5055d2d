"""The pages of turns in Postgres, which never read a whole table."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from contracts.stores import Stores
from contracts.turn_history import TurnHistoryContract
from sqlalchemy import Engine, text
from stores_in_postgres import one_database, stores_in_postgres
from wire import traced

from turnkeeper.application.list_turns import MOST
from turnkeeper.application.ports.turn_history import TurnCursor, TurnQuery
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.migrations.versions.m0007_history import MARK_RESCUED
from turnkeeper.infrastructure.postgres.pipeline import Statement
from turnkeeper.infrastructure.postgres.turn_history import paging, reading

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


@pytest.fixture
def stores(engine: Engine) -> Iterator[Stores]:
    with stores_in_postgres(engine) as stores:
        yield stores


class TestPostgresTurnHistory(TurnHistoryContract):
    @pytest.fixture
    def stores(self, stores: Stores) -> Stores:
        return stores


def test_a_page_costs_two_round_trips(engine: Engine, stores: Stores) -> None:
    stores.start("t1")

    with traced(engine) as wire:
        stores.history.page(TurnQuery(), before=None, limit=9)

    assert wire.round_trips == 2


# ── ten thousand turns ──────────────────────────────────────────────────────────────────────

TURNS = """
INSERT INTO turns (server, turn_id, channel_id, user_id, epoch, status, opened_at, alive_until,
    ended_at, result, rescued)
SELECT 'server:' || n % 7, 't' || n, 'c' || n % 50, 'u' || n % 300, 1,
    CASE WHEN n % 11 = 0 THEN 'error' WHEN n % 997 = 0 THEN 'timeout' ELSE 'completed' END,
    now() - n * interval '1 minute', now(), now(), repeat('x', 500), n % 20 = 1
FROM generate_series(1, 10000) AS n
"""
EVENTS = """
INSERT INTO turn_events (server, turn_id, seq, at_s, kind, data)
SELECT 'server:' || n % 7, 't' || n, seq, seq,
    (ARRAY['turn_started', 'invocation_ended', 'turn_ended', 'cleaned_up'])[1 + seq % 4], '{}'
FROM generate_series(1, 10000) AS n, generate_series(0, 7) AS seq
"""
SETS_UP = (TURNS, EVENTS, "ANALYZE turns", "ANALYZE turn_events")
PLACE = TurnCursor(opened_us=1_790_000_000_000_000, turn_id="t5")
GUILD = Owner.server("3")


@pytest.fixture(scope="module")
def crowded(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        with connected(engine) as connection:
            for statement in SETS_UP:
                connection.execute(text(statement))
        yield engine


def nodes_of(engine: Engine, statement: Statement) -> set[tuple[str, str]]:
    """Pairs of what the planner does and the table that it does it to."""
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        explaining: psycopg.Cursor[Any] = driver.cursor()
        explaining.execute(f"EXPLAIN (FORMAT JSON) {statement.sql}", statement.values)
        rows = explaining.fetchall()
    (plan,) = json.loads(rows[0][0]) if isinstance(rows[0][0], str) else rows[0][0]
    return set(_nodes(plan["Plan"]))


def _nodes(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield plan["Node Type"], plan.get("Relation Name", "")
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


QUERIES = (
    TurnQuery(),
    TurnQuery(server=GUILD),
    TurnQuery(user_id="u7"),
    TurnQuery(status="completed"),
    TurnQuery(status="error"),
    TurnQuery(status="timeout"),
    TurnQuery(status="running"),
    TurnQuery(status="given_up"),
    TurnQuery(rescued_only=True),
    TurnQuery(server=GUILD, status="error"),
    TurnQuery(server=GUILD, status="completed", rescued_only=True),
    TurnQuery(server=GUILD, user_id="u7", status="timeout", rescued_only=True),
    TurnQuery(server=Owner.server("nobody"), user_id="nobody"),
)


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("before", [None, PLACE], ids=["first", "later"])
def test_no_page_reads_a_whole_table(
    query: TurnQuery, before: TurnCursor | None, crowded: Engine
) -> None:
    nodes = nodes_of(crowded, paging(query, before, MOST + 1))

    assert [node for node in nodes if node[0] == "Seq Scan"] == []
    assert {table for _, table in nodes if table} <= {"turns", ""}


def test_the_entries_of_the_largest_page_are_found_by_their_index(crowded: Engine) -> None:
    nodes = nodes_of(crowded, reading(f"t{number}" for number in range(MOST + 1)))

    assert [node for node in nodes if node[0] == "Seq Scan"] == []


def test_a_scan_would_be_seen(crowded: Engine) -> None:
    nodes = nodes_of(crowded, Statement("SELECT * FROM turns WHERE channel_id = 'c7'"))

    assert ("Seq Scan", "turns") in nodes


# ── turns from before ───────────────────────────────────────────────────────────────────────


def test_turns_from_before_are_marked_by_their_results(engine: Engine, stores: Stores) -> None:
    contract = TurnHistoryContract()
    contract.test_a_rescued_turn_is_one_that_was_answered_after_a_failure(stores)
    with connected(engine) as connection:
        connection.execute(text("UPDATE turns SET rescued = false"))
        connection.execute(text(MARK_RESCUED.replace(":", r"\:")))

    assert contract.ids(stores, rescued_only=True) == ["t2"]
