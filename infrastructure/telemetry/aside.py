"""Small works that nobody waits for, done one after the other beside the turns."""

import logging
from collections import deque
from collections.abc import Callable
from threading import Lock

from turnkeeper.application.ports.runner import Runner, StillRunning, Stop, Work
from turnkeeper.domain.errors import Closed

MAX_WAITING = 10_000
FLUSH_S = 5.0

log = logging.getLogger("turnkeeper")


class Aside:
    """Takes a work up at once and does it later; what is too much is dropped and counted.

    Safe to use from several threads. It holds a thread only while there is something to do.

    Args:
        max_waiting: How many works wait at most.
    """

    def __init__(self, runner: Runner, *, max_waiting: int = MAX_WAITING) -> None:
        self._runner = runner
        self._max_waiting = max_waiting
        self._lock = Lock()  # guards the three below
        self._waiting: deque[Callable[[], None]] = deque()
        self._working: Work[None] | None = None
        self._dropped = 0
        self._has_complained = False

    @property
    def dropped(self) -> int:
        """How many works were never done."""
        return self._dropped

    def put(self, work: Callable[[], None]) -> None:
        """Do it soon, after what was put before; never raises and never blocks."""
        with self._lock:
            if len(self._waiting) >= self._max_waiting:
                self._dropped += 1
                return
            self._waiting.append(work)
            if self._working is None:
                self._start()

    def flush(self, timeout_s: float = FLUSH_S) -> bool:
        """Wait until all is done that was put; False if it takes longer than that."""
        with self._lock:
            working = self._working
        if working is None:
            return True
        try:
            working.result(timeout_s)
        except StillRunning:
            return False
        return True

    def _start(self) -> None:
        try:
            self._working = self._runner.start(self._work_off, "telemetry")
        except Closed:
            self._dropped += len(self._waiting)
            self._waiting.clear()

    def _work_off(self, stop: Stop) -> None:
        while (work := self._next(stop)) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the next one may well work
                self._complain(error)

    def _next(self, stop: Stop) -> Callable[[], None] | None:
        with self._lock:
            if stop.is_set:
                self._dropped += len(self._waiting)
                self._waiting.clear()
            if not self._waiting:
                self._working = None
                return None
            return self._waiting.popleft()

    def _complain(self, error: Exception) -> None:
        """Say it once: what fails for one turn fails for all."""
        with self._lock:
            self._dropped += 1
            was_said, self._has_complained = self._has_complained, True
        if not was_said:
            log.warning("telemetry is not written: %s", type(error).__name__)
