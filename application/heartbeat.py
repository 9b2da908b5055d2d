"""Keeps the running turns alive, and writes what a store that was away has missed."""

from collections.abc import Callable, Sequence
from threading import Event, Lock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Runner, Stop
from turnkeeper.application.ports.turn_store import TurnStore
from turnkeeper.application.running_turns import RunningTurns
from turnkeeper.application.settle_turn import SettleTurn
from turnkeeper.domain.answers import Signal

Flush = Callable[[], str | None]
"""Writes what waits; returns why it has to go on waiting, or None."""

EVERY_S = 10.0
ALIVE_S = 30.0


class Heartbeat:
    """One work beside the turns; it ends by itself when there is nothing left to do.

    Args:
        also: What else is written from time to time.
    """

    def __init__(
        self,
        *,
        running: RunningTurns,
        turns: TurnStore,
        settle: SettleTurn,
        runner: Runner,
        clock: Clock,
        also: Sequence[Flush] = (),
    ) -> None:
        self._running = running
        self._turns = turns
        self._runner = runner
        self._clock = clock
        self._flushes = (settle.flush, settle.flush_late, *also)
        self._lock = Lock()  # guards whether it beats, so that no turn is left without
        self._beats = False
        self._flushing = Lock()  # so that what one flush has taken up is not missed by another

    def ensure(self) -> None:
        """Beat from now on; called once a turn has entered."""
        with self._lock:
            if self._beats:
                return
            self._runner.start(self._beat_on, "heartbeat")
            self._beats = True

    def beat(self) -> bool:
        """Do what is due now; False where something has to be tried again."""
        opened = self._running.opened
        extended = _tried(lambda: self._extend(opened)) if opened else None
        return self.flush() and extended is None

    def flush(self) -> bool:
        """Write what could not be written before, or was not due; False where it still waits."""
        with self._flushing:
            causes = [_tried(flush) for flush in self._flushes]
        return not any(causes)

    def _extend(self, opened: tuple[str, ...]) -> None:
        for turn_id in self._turns.extend(opened, alive_s=ALIVE_S):
            self._running.signal(turn_id, Signal.SUPERSEDED)

    def _beat_on(self, stop: Stop) -> None:
        stopped = Event()
        forget = stop.on_stop(stopped.set)
        try:
            while not self._clock.wait(stopped, EVERY_S):
                all_done = self.beat()
                if all_done and self._may_end():
                    return
        finally:
            forget()

    def _may_end(self) -> bool:
        with self._lock:
            if self._running.ids:
                return False
            self._beats = False
            return True


def _tried(effect: Callable[[], str | None]) -> str | None:
    """Why it could not be done, or None."""
    try:
        return effect()
    except Exception as error:  # noqa: BLE001 - a beat that fails must not be the last one
        return str(error) or type(error).__name__
