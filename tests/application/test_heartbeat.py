from collections.abc import Iterator, Sequence
from datetime import datetime
from threading import Event, Semaphore

import pytest
from builders import NOON, SERVER
from fakes import FrozenClock

from turnkeeper.application.heartbeat import ALIVE_S, EVERY_S, Heartbeat
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.turn_store import Closing, Opening
from turnkeeper.application.recorder import Recorder
from turnkeeper.application.running_turns import RunningTurn, RunningTurns
from turnkeeper.application.settle_turn import SettleTurn
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.domain.events import CleanedUp, Entry, TurnStarted
from turnkeeper.domain.finish import Nothing
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Route
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.ledger import MemoryLedger
from turnkeeper.infrastructure.memory.register import Register
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.vault import AesGcmVault

HERE = ("guild", "channel")
LONG_S = 30.0


class SteppedClock(FrozenClock):
    """A clock whose waits end when a test lets them, one at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = Semaphore(0)
        self.waiting = Semaphore(0)

    def wait(self, event: Event, timeout_s: float) -> bool:
        self.waiting.release()
        assert self._steps.acquire(timeout=LONG_S)
        self.advance(timeout_s)
        return event.is_set()

    def step(self) -> None:
        assert self.waiting.acquire(timeout=LONG_S)
        self._steps.release()


class AwayStore(MemoryTurnStore):
    """A store that is away while it is told so."""

    away = False

    def extend(self, turn_ids: tuple[str, ...], *, alive_s: float) -> frozenset[str]:
        self._check()
        return super().extend(turn_ids, alive_s=alive_s)

    def close(self, closing: Closing) -> None:
        self._check()
        super().close(closing)

    def _check(self) -> None:
        if self.away:
            raise StoreUnavailable("away")


class AwayJournal(MemoryJournal):
    """A journal that is away while it is told so."""

    away = False

    def record(self, entries: Sequence[Entry]) -> None:
        if self.away:
            raise StoreUnavailable("away")
        super().record(entries)


class Bench:
    """A heart and what it beats for."""

    def __init__(self, vault: AesGcmVault, clock: Clock) -> None:
        self.runner = ThreadRunner(settle_s=0.0)
        self.register = Register(clock)
        self.journal = AwayJournal()
        ledger = MemoryLedger(self.register, journal=self.journal)
        keys = MemoryKeyRing(vault=vault, clock=clock)
        self.turns = AwayStore(self.register, ledger=ledger, keys=keys)
        self.running = RunningTurns(max_turns=9, queue_s=0)
        self.settle = SettleTurn(turns=self.turns, journal=self.journal)
        self.heart = Heartbeat(
            running=self.running,
            turns=self.turns,
            settle=self.settle,
            runner=self.runner,
            clock=clock,
        )

    def open(self, turn: RunningTurn) -> None:
        self.turns.open(
            Opening(
                turn_id=turn.turn_id,
                turn_key="",
                server=SERVER,
                channel_id=turn.turn_id,
                user_id=None,
                admission=None,
            )
        )
        started = TurnStarted(route=Route.SERVER, attempts=(), server_route="", audience="person")
        turn.recorder = Recorder(turn.turn_id, FrozenClock())
        turn.recorder.note(started)

    def alive_until(self, turn_id: str) -> datetime:
        turn = self.register.get(turn_id)
        assert turn is not None
        return turn.alive_until

    def closing(self, turn_id: str) -> Closing:
        return Closing(
            turn_id=turn_id,
            epoch=1,
            server=SERVER,
            channel_id=turn_id,
            settle=Nothing(),
            result=TurnResult(status=TurnStatus.COMPLETED, turn_id=turn_id),
        )


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def bench(vault: AesGcmVault, clock: SteppedClock) -> Iterator[Bench]:
    made = Bench(vault, clock)
    yield made
    for _ in range(9):  # whatever still waits is let go
        clock._steps.release()
    made.runner.close()


def test_a_beat_extends_the_turns_that_run(bench: Bench, clock: SteppedClock) -> None:
    with bench.running.entered("one", HERE) as one:
        bench.open(one)
        clock.advance(20)

        assert bench.heart.beat()

    assert (bench.alive_until("one") - NOON).total_seconds() == 20 + ALIVE_S


def test_a_turn_that_was_given_up_is_told_so(bench: Bench) -> None:
    with bench.running.entered("one", HERE) as one, bench.running.entered("two", HERE) as two:
        bench.open(one)
        bench.open(two)
        known = bench.register.get("one")
        assert known is not None
        bench.register.give_up(known)

        bench.heart.beat()

        assert (one.mailbox.signal, two.mailbox.signal) == (Signal.SUPERSEDED, None)


def test_a_turn_that_waits_for_its_channel_is_not_taken_for_given_up(bench: Bench) -> None:
    with bench.running.entered("one", HERE) as one:
        bench.heart.beat()

        assert one.mailbox.signal is None


def test_what_could_not_be_written_is_written_by_a_later_beat(bench: Bench) -> None:
    with bench.running.entered("one", HERE) as one:
        bench.open(one)
        bench.turns.away = True
        assert bench.settle(bench.closing("one")) == "away"
        assert not bench.heart.beat()

        bench.turns.away = False
        assert bench.heart.beat()

    known = bench.register.get("one")
    assert known is not None
    assert known.result is not None


def test_late_entries_are_written_by_the_next_beat(bench: Bench) -> None:
    entry = Entry(turn_id="one", seq=0, at_s=1.0, event=CleanedUp())
    bench.settle.later((entry,))

    bench.heart.beat()

    assert bench.journal.entries("one") == (entry,)


def test_late_entries_wait_while_the_store_is_away(bench: Bench) -> None:
    entries = [Entry(turn_id=name, seq=0, at_s=1.0, event=CleanedUp()) for name in ("one", "two")]
    for entry in entries:
        bench.settle.later((entry,))
    bench.journal.away = True
    assert not bench.heart.beat()

    bench.journal.away = False
    bench.heart.beat()

    assert [*bench.journal.entries("one"), *bench.journal.entries("two")] == entries


def test_it_beats_while_turns_run_and_ends_by_itself(bench: Bench, clock: SteppedClock) -> None:
    with bench.running.entered("one", HERE) as one:
        bench.open(one)
        bench.heart.ensure()
        bench.heart.ensure()
        clock.step()
        clock.step()
        assert clock.waiting.acquire(timeout=LONG_S)  # it has beaten twice and waits again
        assert bench.runner.running == 1
        assert (bench.alive_until("one") - NOON).total_seconds() == 2 * EVERY_S + ALIVE_S
    clock.waiting.release()
    clock.step()

    _until_idle(bench)
    assert bench.runner.running == 0


def test_it_beats_again_for_a_turn_that_comes_later(bench: Bench, clock: SteppedClock) -> None:
    bench.heart.ensure()
    clock.step()
    _until_idle(bench)

    with bench.running.entered("one", HERE):
        bench.heart.ensure()

        assert bench.runner.running == 1


def _until_idle(bench: Bench) -> None:
    """Return once no work runs; the test's own time limit is the limit."""
    while bench.runner.running:
        Event().wait(0.001)
