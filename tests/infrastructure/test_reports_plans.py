"""Ten thousand turns and a hundred thousand events: no page reads them all."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from contracts.reports import booked
from past_turns import answered, ended, failed, ran, started
from sqlalchemy import Engine, text
from stores_in_postgres import one_database

from turnkeeper.application.ports.turn_history import TurnQuery
from turnkeeper.domain.events import SWEPT_SEQ, Event, TurnSwept
from turnkeeper.domain.outcome import GIVEN_UP
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.reports import error_kinds, rates
from turnkeeper.infrastructure.journal_codec import event_to_json
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.pipeline import Statement, run
from turnkeeper.infrastructure.postgres.reports import (
    CALM,
    KEY_TROUBLES,
    ONE,
    TROUBLED,
    PostgresReports,
)
from turnkeeper.infrastructure.postgres.turn_history import KINDS, PostgresTurnHistory

pytestmark = pytest.mark.postgres

TURNS = 10_000
NOW = datetime.now(UTC)
A_DAY_AGO = NOW - timedelta(days=1)
A_WEEK_AGO = NOW - timedelta(days=7)
LONG_AGO = NOW - timedelta(days=99)

# One turn each ten minutes; each twentieth is rescued, each hundredth fails, each thousandth dies.
FILL_TURNS = """
INSERT INTO turns (server, turn_id, channel_id, user_id, epoch, status, opened_at, alive_until,
    ended_at, result, rescued)
SELECT 'server:' || n % 40, 'turn-' || lpad(n::text, 6, '0'), 'c' || n % 50, 'u' || n % 300, 1,
    CASE WHEN n % 1000 = 0 THEN 'given_up' WHEN n % 100 = 0 THEN 'error' ELSE 'completed' END,
    opened_at, opened_at, opened_at + interval '8 seconds', repeat('x', 500),
    n % 20 = 0 AND n % 100 <> 0
FROM generate_series(1, 10000) AS n
CROSS JOIN LATERAL (SELECT now() - (10000 - n) * interval '10 minutes' AS opened_at) AS began
"""
FILL_EVENTS = """
INSERT INTO turn_events (server, turn_id, seq, at_s, kind, data, written_at)
SELECT 'server:' || n % 40, 'turn-' || lpad(n::text, 6, '0'), event.seq, event.seq, event.kind,
    event.data, now() - (10000 - n) * interval '10 minutes'
FROM generate_series(1, 10000) AS n
CROSS JOIN json_to_recordset(CAST(:events AS json))
    AS event (seq int, kind text, data text, every int, besides int)
WHERE n % event.every = 0 AND (event.besides = 0 OR n % event.besides <> 0)
"""


def a_row(seq: int, event: Event, every: int = 1, besides: int = 0) -> dict[str, object]:
    kind, data = event_to_json(event)
    return {"seq": seq, "kind": kind, "data": data, "every": every, "besides": besides}


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[Engine]:
    rows = [
        a_row(0, started()),
        a_row(1, ran(0, 0)),
        a_row(2, failed(0, 0), every=20),
        a_row(3, booked(), every=20),
        a_row(4, ran(1, 1)),
        a_row(5, answered(1, 1)),
        a_row(6, booked(2, "success")),
        a_row(7, ended("error"), every=100, besides=1000),
        a_row(7, ended(), besides=100),
        a_row(SWEPT_SEQ + 1, TurnSwept(by="other", silent_s=40.0), every=1000),
    ]
    with one_database(postgres_url) as engine:
        with connected(engine) as connection:
            connection.execute(text(FILL_TURNS))
            connection.execute(text(FILL_EVENTS), {"events": json.dumps(rows)})
            connection.execute(text("ANALYZE turns"))
            connection.execute(text("ANALYZE turn_events"))
        yield engine


def ids(engine: Engine, query: TurnQuery) -> list[str]:
    """All turns of a query, page after page."""
    history, before, seen = PostgresTurnHistory(engine), None, []
    while page := history.page(query, before=before, limit=500):
        seen += [turn.turn_id for turn in page]
        before = page[-1].cursor
    return seen


def plan_since(engine: Engine, sql: str, since: datetime) -> str:
    return plan_of(engine, Statement(sql, {"since": since, "limit": 2001, "kinds": KINDS}))


def plan_of(engine: Engine, statement: Statement) -> str:
    (rows,) = run(engine, Statement(f"EXPLAIN {statement.sql}", statement.values))
    return "\n".join(row["QUERY PLAN"] for row in rows)


@pytest.mark.parametrize(
    "sql", [CALM, TROUBLED, KEY_TROUBLES], ids=["calm", "troubled", "key troubles"]
)
def test_rates_and_keys_of_a_day_are_read_without_a_sequential_scan(
    engine: Engine, sql: str
) -> None:
    plan = plan_since(engine, sql, A_DAY_AGO)

    assert "Index" in plan
    assert "Seq Scan" not in plan, plan


@pytest.mark.parametrize(
    "sql", [CALM, TROUBLED, KEY_TROUBLES], ids=["calm", "troubled", "key troubles"]
)
@pytest.mark.parametrize("since", [A_WEEK_AGO, LONG_AGO], ids=["a week", "all"])
def test_even_where_all_turns_are_asked_for_the_journal_is_read_by_its_indexes(
    engine: Engine, sql: str, since: datetime
) -> None:
    plan = plan_since(engine, sql, since)

    assert "Index" in plan
    assert "Seq Scan on turn_events" not in plan, plan


def test_one_turn_is_read_without_a_sequential_scan(engine: Engine) -> None:
    plan = plan_of(engine, Statement(ONE, {"turn_id": "turn-001000"}))

    assert "Seq Scan" not in plan, plan


def test_all_pages_together_list_each_turn_once(engine: Engine) -> None:
    assert ids(engine, TurnQuery()) == [f"turn-{number:06}" for number in range(TURNS, 0, -1)]


def test_the_rescued_and_the_lost_are_found_among_the_others(engine: Engine) -> None:
    queries = (
        TurnQuery(rescued_only=True),
        TurnQuery(status="error"),
        TurnQuery(status=GIVEN_UP),
        TurnQuery(server=Owner.server("7"), rescued_only=True),
    )

    assert [len(ids(engine, query)) for query in queries] == [400, 90, 10, 0]


def test_the_rates_are_complete(engine: Engine) -> None:
    past = PostgresReports(engine).past(LONG_AGO)

    assert past.calm == (("model-1", 9500),)
    assert len(past.troubled) == 500
    assert [(rate.model, rate.rescued, rate.lost) for rate in rates(past)] == [
        ("model-0", 400, 100),
        ("model-1", 0, 0),
    ]
    assert [(one.kind, one.count) for one in error_kinds(past)] == [("rate_limit", 500)]


def test_the_rates_of_a_day_leave_the_turns_before_out(engine: Engine) -> None:
    between_two = datetime.now(UTC) - timedelta(days=1, minutes=5)

    past = PostgresReports(engine).past(between_two)

    assert (past.calm, len(past.troubled)) == ((("model-1", 137),), 8)
