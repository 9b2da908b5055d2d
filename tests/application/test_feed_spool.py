from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import a_delivery
from contracts.ledger import POSTED
from contracts.stores import Stores, a_closing, an_intent, an_opening, counting, refused, reserved
from fakes import FrozenClock
from stores_in_memory import stores_in_memory

from turnkeeper.application.feed_spool import FeedSpool
from turnkeeper.application.ports.ledger import Fates
from turnkeeper.application.ports.turn_store import Booked, Closing, TurnStore
from turnkeeper.application.settle_turn import SettleTurn
from turnkeeper.domain.admission import RefusalKind
from turnkeeper.domain.errors import StoreError, StoreUnavailable
from turnkeeper.domain.finish import Commit
from turnkeeper.domain.rotation import BookSuccess
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore
from turnkeeper.infrastructure.spool import FileSpool

FATES = Fates(posted=(("i1", a_delivery("m1")),))


class Away(MemoryTurnStore):
    """The store's door while it is away, or refuses; with the true one behind it."""

    def __init__(self, error: StoreError, behind: TurnStore | None = None) -> None:
        self.error: StoreError | None = error
        self._behind = behind

    def close(self, closing: Closing) -> None:
        if self.error is not None:
            raise self.error
        assert self._behind is not None
        self._behind.close(closing)


@pytest.fixture
def stores() -> Stores:
    return stores_in_memory()


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[FileSpool]:
    made = FileSpool(tmp_path, clock=FrozenClock())
    yield made
    made.close()


def feed_of(stores: Stores, spool: FileSpool) -> FeedSpool:
    return FeedSpool(spool=spool, orphans=stores.orphans, ledger=stores.ledger, turns=stores.turns)


def left(stores: Stores) -> list[tuple[str, str, str | None]]:
    return [
        (intent.intent_id, state.value, message)
        for intent, state, message in stores.ledger.left_by("t1")
    ]


def test_what_this_process_kept_reaches_the_ledger(stores: Stores, spool: FileSpool) -> None:
    stores.start()
    spool.keep_intent(an_intent("i1"), Fates())
    spool.keep_intent(an_intent("i2"), FATES)

    assert feed_of(stores, spool).flush() is None

    assert left(stores) == [("i1", POSTED.value, "m1"), ("i2", "intended", None)]
    assert spool.late() == ()


def test_what_a_dead_process_kept_reaches_the_store(
    stores: Stores, spool: FileSpool, tmp_path: Path
) -> None:
    (key,) = stores.keys.add("one")
    opened = stores.start(admission=counting("trigger", "t1", daily=1))
    booked = Booked(lease=stores.keys.lend(), booking=BookSuccess())
    spool.keep_intent(an_intent("i1"), Fates())
    spool.keep_end(
        a_closing(
            fates=FATES,
            bookings=(booked,),
            settle=Commit(reservation=reserved(opened.admission)),
        )
    )
    spool.close()

    feed_of(stores, FileSpool(tmp_path, clock=FrozenClock()))()

    assert left(stores) == [("i1", POSTED.value, "m1")]
    health = stores.keys.health(key)
    assert (health.usage_count, health.in_flight) == (1, 0)
    again = stores.turns.admit(counting("another", daily=1))
    assert refused(again) is RefusalKind.USER_QUOTA
    assert list(tmp_path.iterdir()) == []


def test_what_the_store_does_not_take_is_fed_later(
    stores: Stores, spool: FileSpool, tmp_path: Path
) -> None:
    stores.start()
    spool.keep_end(a_closing())
    spool.close()
    next_spool = FileSpool(tmp_path, clock=FrozenClock())
    away = FeedSpool(
        spool=next_spool,
        orphans=stores.orphans,
        ledger=stores.ledger,
        turns=Away(StoreUnavailable("away")),
    )

    assert away.flush() == "away"
    assert feed_of(stores, next_spool).flush() is None

    assert list(tmp_path.iterdir()) == []
    assert type(stores.turns.open(an_opening("t1"))).__name__ == "AlreadyEnded"


def test_what_the_store_refuses_holds_nothing_up(
    stores: Stores, spool: FileSpool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stores.start()
    spool.keep_end(a_closing())
    spool.close()
    refusing = FeedSpool(
        spool=FileSpool(tmp_path, clock=FrozenClock()),
        orphans=stores.orphans,
        ledger=stores.ledger,
        turns=Away(StoreError("no such column")),
    )

    assert refusing.flush() is None

    assert list(tmp_path.iterdir()) == []
    assert "the end of turn t1: no such column" in caplog.text


def test_an_end_that_waits_is_on_disk_and_gone_once_it_is_written(
    stores: Stores, spool: FileSpool, tmp_path: Path
) -> None:
    door = Away(StoreUnavailable("away"), stores.turns)
    settle = SettleTurn(turns=door, journal=stores.journal, spool=spool)
    stores.start()

    assert settle(a_closing()) == "away"

    (file,) = tmp_path.iterdir()
    assert file.stat().st_size > 0
    door.error = None
    assert settle.flush() is None
    assert file.stat().st_size == 0
