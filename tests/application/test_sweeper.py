from collections.abc import Iterator
from threading import Event, Semaphore

import pytest
from contracts.orphans import DEAD_S
from contracts.stores import Stores
from fakes import FrozenClock
from stores_in_memory import stores_in_memory

from turnkeeper.application.feed_spool import FeedSpool
from turnkeeper.application.heartbeat import ALIVE_S
from turnkeeper.application.ports.orphans import Orphans
from turnkeeper.application.ports.runner import Cancelled
from turnkeeper.application.ports.spool import NoSpool
from turnkeeper.application.sweep_orphans import SweepOrphans
from turnkeeper.application.sweep_report import LostTurn
from turnkeeper.application.sweeper import SURE_S, Sweeper
from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.infrastructure.no_channel import NoChannel
from turnkeeper.infrastructure.threads import ThreadRunner

LONG_S = 30.0


class SteppedClock(FrozenClock):
    """A clock whose waits end when a test lets them, or when they are stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = Semaphore(0)
        self.waits: list[float] = []
        self._steps = Event()

    def wait(self, event: Event, timeout_s: float) -> bool:
        self.waits.append(timeout_s)
        self.waiting.release()
        while not (event.is_set() or self._steps.wait(0.01)):
            pass
        self._steps.clear()
        return event.is_set()

    def step(self) -> None:
        assert self.waiting.acquire(timeout=LONG_S)
        self._steps.set()


class Bench:
    def __init__(self, every_s: float = 300.0) -> None:
        self.stores: Stores = stores_in_memory()
        self.clock = SteppedClock()
        self.runner = ThreadRunner()
        self.lost: list[str] = []
        self.sweeper = self.sweeper_of(self.stores.orphans, every_s)

    def sweeper_of(self, orphans: Orphans, every_s: float) -> Sweeper:
        def hear(lost: LostTurn) -> None:
            self.lost.append(lost.turn_id)

        feed = FeedSpool(
            spool=NoSpool(),
            orphans=orphans,
            ledger=self.stores.ledger,
            turns=self.stores.turns,
        )
        sweep = SweepOrphans(
            orphans=orphans,
            journal=self.stores.journal,
            reader=NoChannel(),
            by="me",
            on_lost_turn=hear,
        )
        return Sweeper(
            feed=feed, sweep=sweep, runner=self.runner, clock=self.clock, every_s=every_s
        )

    def die(self, turn_id: str) -> None:
        self.stores.start(turn_id, channel_id=turn_id)
        self.stores.pass_time(DEAD_S + 1)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.runner.close()


def test_it_sweeps_at_once_and_again_after_a_while(bench: Bench) -> None:
    bench.die("t1")
    bench.sweeper.start()
    bench.clock.step()
    assert bench.clock.waiting.acquire(timeout=LONG_S)
    at_once = list(bench.lost)
    bench.die("t2")
    bench.clock.waiting.release()
    bench.clock.step()
    bench.clock.step()
    assert bench.clock.waiting.acquire(timeout=LONG_S)

    assert (at_once, bench.lost) == (["t1"], ["t1", "t2"])
    assert bench.clock.waits == [SURE_S, 300.0, SURE_S, 300.0]


def test_a_turn_that_lives_is_heard_of_first_when_the_store_is_back(bench: Bench) -> None:
    bench.die("dead")
    bench.stores.start("alive", channel_id="alive")
    bench.stores.pass_time(DEAD_S + 1)
    bench.sweeper.start()
    assert bench.clock.waiting.acquire(timeout=LONG_S)
    bench.stores.turns.extend(("alive",), alive_s=ALIVE_S)
    bench.clock.waiting.release()
    bench.clock.step()
    assert bench.clock.waiting.acquire(timeout=LONG_S)

    assert bench.lost == ["dead"]


@pytest.mark.parametrize(("dead", "waits"), [((), []), (("t1",), [SURE_S])], ids=["none", "one"])
def test_who_asks_for_a_sweep_may_wait_for_those_that_live(
    dead: tuple[str, ...], waits: list[float], bench: Bench
) -> None:
    for turn_id in dead:
        bench.die(turn_id)
    bench.clock.waiting.release()
    if dead:
        bench.clock.step()

    report = bench.sweeper(at_once=False)

    assert tuple(lost.turn_id for lost in report.lost) == dead
    assert bench.clock.waits == waits


def test_it_ends_with_its_runner(bench: Bench) -> None:
    bench.sweeper.start()
    assert bench.clock.waiting.acquire(timeout=LONG_S)

    bench.runner.close()

    assert bench.runner.running == 0


def test_it_may_be_told_not_to_sweep_by_itself(bench: Bench) -> None:
    bench.die("t1")
    sweeper = bench.sweeper_of(bench.stores.orphans, 0)

    sweeper.start()

    assert bench.runner.running == 0
    assert [lost.turn_id for lost in sweeper().lost] == ["t1"]


def failing_once(bench: Bench, error: Exception) -> None:
    """Let a sweep fail with the error, and then another one run to its end."""

    class Failing(type(bench.stores.orphans)):  # type: ignore[misc]
        fails = True

        def __init__(self) -> None:
            self.__dict__.update(vars(bench.stores.orphans))

        def are_due(self, **more: float) -> bool:
            if self.fails:
                raise error
            return bool(super().are_due(**more))

    failing = Failing()
    bench.die("t1")
    bench.sweeper_of(failing, 300.0).start()
    assert bench.clock.waiting.acquire(timeout=LONG_S)
    failing.fails = False
    bench.clock.waiting.release()
    bench.clock.step()
    bench.clock.step()
    assert bench.clock.waiting.acquire(timeout=LONG_S)


@pytest.mark.parametrize("error", [StoreUnavailable("away"), ZeroDivisionError("oops")])
def test_a_sweep_that_fails_is_not_the_last(
    bench: Bench, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    failing_once(bench, error)

    assert bench.lost == ["t1"]
    assert str(error) in caplog.text


def test_a_sweep_that_is_stopped_has_not_failed(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    failing_once(bench, Cancelled("the work was asked to stop"))

    assert caplog.text == ""
