"""Where signals from outside wait for one turn."""

from collections.abc import Callable
from functools import partial
from threading import Event, Lock

from turnkeeper.domain.answers import Signal

_RANK = {
    Signal.SUPERSEDED: 0,
    Signal.STOP_REQUESTED: 1,
    Signal.SYSTEM_STOP_REQUESTED: 1,
    Signal.FOLLOW_UP_REQUESTED: 2,
    Signal.DEADLINE_PASSED: 3,
}


class Mailbox:
    """Keeps the weightiest signal of a turn. Safe to use from several threads.

    Attributes:
        signal: What has come, or None.
    """

    def __init__(self) -> None:
        self._lock = Lock()  # guards all below
        self.signal: Signal | None = None
        self._wakes: list[Callable[[], None]] = []
        self._arrived: Event | None = None  # made only for a turn that waits, as it is slow

    @property
    def arrived(self) -> Event:
        """Set from the first signal on."""
        with self._lock:
            if self._arrived is None:
                self._arrived = Event()
                if self.signal is not None:
                    self._arrived.set()
            return self._arrived

    def put(self, signal: Signal) -> None:
        """Deliver a signal; one that weighs less than what is there changes nothing."""
        with self._lock:
            if self.signal is not None and _RANK[self.signal] <= _RANK[signal]:
                return
            self.signal = signal
            wakes = tuple(self._wakes)
            if self._arrived is not None:
                self._arrived.set()
        for wake in wakes:
            wake()

    def on_arrival(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` when a signal comes, at once if one is there; returns what ends that."""
        with self._lock:
            self._wakes.append(wake)
            there = self.signal is not None
        if there:
            wake()
        return partial(self._forget, wake)

    def _forget(self, wake: Callable[[], None]) -> None:
        with self._lock:
            if wake in self._wakes:
                self._wakes.remove(wake)
