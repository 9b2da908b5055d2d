"""Notices in memory and in Postgres."""

from collections.abc import Iterator
from functools import partial

import pytest
from contracts.notices import DETAILS, PLACE, Kept, NoticesContract, place
from fakes import FrozenClock
from sqlalchemy import Engine
from stores_in_postgres import pass_time

from turnkeeper.domain.errors import StoreError, StoreUnavailable
from turnkeeper.domain.notice import Notice
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.postgres.notices import PostgresNotices
from turnkeeper.infrastructure.postgres.pipeline import Statement, run


class TestMemoryNotices(NoticesContract):
    @pytest.fixture
    def kept(self) -> Kept:
        clock = FrozenClock()
        return Kept(notices=MemoryNotices(clock), pass_time=clock.advance)


@pytest.mark.postgres
class TestPostgresNotices(NoticesContract):
    @pytest.fixture
    def kept(self, database: Engine) -> Kept:
        return Kept(notices=PostgresNotices(database), pass_time=partial(pass_time, database))


@pytest.fixture
def nowhere() -> Iterator[Engine]:
    engine = create_engine_for("postgresql://nobody@127.0.0.1:1/nothing", pool_size=1)
    yield engine
    engine.dispose()


def test_a_store_that_is_away_says_so(nowhere: Engine) -> None:
    notices = PostgresNotices(nowhere)

    for ask in (
        lambda: notices.save(PLACE, DETAILS),
        lambda: notices.find("1001"),
        lambda: notices.due(1),
        lambda: notices.forget(PLACE),
    ):
        with pytest.raises(StoreUnavailable):
            ask()


@pytest.mark.postgres
def test_what_cannot_be_read_is_said(database: Engine) -> None:
    notices = PostgresNotices(database)
    notices.save(PLACE, DETAILS)
    run(database, Statement("UPDATE notices SET details = '[]'"))

    with pytest.raises(StoreError, match="the notice 1001 cannot be read"):
        notices.find("1001")


@pytest.mark.postgres
def test_what_cannot_be_read_does_not_keep_others_from_being_due(database: Engine) -> None:
    notices = PostgresNotices(database)
    notices.save(place(1), DETAILS, alive_s=0.0)
    run(database, Statement("UPDATE notices SET details = 'nonsense'"))
    notices.save(place(2), DETAILS, alive_s=0.0)

    assert notices.due(10) == (Notice(place=place(2), details=DETAILS),)
