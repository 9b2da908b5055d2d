"""Ten thousand turns and a hundred thousand events: no page reads them all."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from contracts.reports import booked
from past_turns import answered, ended, failed, ran, started
from sqlalchemy import Engine, text
from stores_in_postgres import one_database

from turnkeeper.application.ports.reports import Asked, Place
from turnkeeper.domain.events import SWEPT_SEQ, Event, TurnSwept
from turnkeeper.domain.reports import SWEPT, error_kinds, rates, summary
from turnkeeper.infrastructure.journal_codec import event_to_json
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.pipeline import Statement, run
from turnkeeper.infrastructure.postgres.reports import (
    CALM,
    KEY_TROUBLES,
    ONE,
    TROUBLED,
    PostgresReports,
    page_of,
)

pytestmark = pytest.mark.postgres

TURNS = 10_000
NOW = datetime.now(UTC)
A_DAY_AGO = NOW - timedelta(days=1)
A_WEEK_AGO = NOW - timedelta(days=7)

# One turn a minute; each twentieth is rescued, each hundredth fails, each thousandth is swept.
FILL = """
INSERT INTO turn_events (server, turn_id, seq, at_s, kind, data, written_at)
SELECT 'server:' || n % 40, 'turn-' || lpad(n::text, 6, '0'), event.seq, event.seq, event.kind,
    event.data, now() - (10000 - n) * interval '1 minute'
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
            connection.execute(text(FILL), {"events": json.dumps(rows)})
            connection.execute(text("ANALYZE turn_events"))
        yield engine


def plan_of(engine: Engine, statement: Statement) -> str:
    (rows,) = run(engine, Statement(f"EXPLAIN {statement.sql}", statement.values))
    return "\n".join(row["QUERY PLAN"] for row in rows)


PAGES = {
    "the first": Asked(),
    "one far back": Asked(
        before=Place(over_at=NOW - timedelta(minutes=9000), turn_id="turn-001000")
    ),
    "by status": Asked(status="error"),
    "swept": Asked(status=SWEPT),
    "rescued": Asked(rescued=True),
    "of a server": Asked(server="server:7"),
    "of a server by status": Asked(server="server:7", status="completed"),
    "rescued of a server": Asked(server="server:7", rescued=True),
}


INDEXES = {
    "by status": "ix_turn_events_over_status",
    "swept": "ix_turn_events_over_status",
    "rescued": "ix_turn_events_failed",
    "of a server": "ix_turn_events_over_server",
    "of a server by status": "ix_turn_events_over_server",
    "rescued of a server": "ix_turn_events_over_server",
}
"""What finds the turns of a page; the others are found by their end alone."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_without_a_sequential_scan(engine: Engine, name: str) -> None:
    plan = plan_of(engine, page_of(PAGES[name]))

    assert re.search(rf"\b{INDEXES.get(name, 'ix_turn_events_over')}\b", plan), plan
    assert "Seq Scan" not in plan, plan


@pytest.mark.parametrize(
    "sql", [CALM, TROUBLED, KEY_TROUBLES], ids=["calm", "troubled", "key troubles"]
)
@pytest.mark.parametrize("since", [A_DAY_AGO, A_WEEK_AGO], ids=["a day", "a week"])
def test_rates_and_keys_are_read_without_a_sequential_scan(
    engine: Engine, sql: str, since: datetime
) -> None:
    plan = plan_of(engine, Statement(sql, {"since": since, "limit": 2001}))

    assert "Index" in plan
    assert "Seq Scan" not in plan, plan


def test_one_turn_is_read_without_a_sequential_scan(engine: Engine) -> None:
    plan = plan_of(engine, Statement(ONE, {"turn_id": "turn-001000"}))

    assert "Seq Scan" not in plan, plan


def test_all_pages_together_list_each_turn_once(engine: Engine) -> None:
    reports, place, seen = PostgresReports(engine), None, []
    while True:
        page = reports.page(Asked(before=place, limit=500))
        seen += [turn.turn_id for turn in page.turns]
        place = page.next
        if place is None:
            break

    assert seen == [f"turn-{number:06}" for number in range(TURNS, 0, -1)]


def test_the_rescued_and_the_lost_are_found_among_the_others(engine: Engine) -> None:
    reports = PostgresReports(engine)

    rescued = reports.page(Asked(rescued=True, limit=1000)).turns
    errors = reports.page(Asked(status="error", limit=1000)).turns
    swept = reports.page(Asked(status=SWEPT, limit=1000)).turns

    assert (len(rescued), len(errors), len(swept)) == (400, 90, 10)
    assert {summary(turn.entries).was_rescued for turn in rescued} == {True}


def test_the_rates_of_a_week_are_complete(engine: Engine) -> None:
    past = PostgresReports(engine).past(A_WEEK_AGO)

    assert past.calm == (("model-1", 9500),)
    assert len(past.troubled) == 500
    assert [(rate.model, rate.rescued, rate.lost) for rate in rates(past)] == [
        ("model-0", 400, 100),
        ("model-1", 0, 0),
    ]
    assert [(one.kind, one.count) for one in error_kinds(past)] == [("rate_limit", 500)]
