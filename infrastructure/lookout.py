"""One thread that looks after all work which its callers do themselves."""

import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from threading import Event, Lock
from typing import Generic, TypeVar

LOOK_S = 0.5
"""The longest between two looks, so that whoever begins need not wake the thread for one."""

LookNow = Callable[[], float]
T = TypeVar("T")


class Lookout(Generic[T]):
    """Calls what it is given, each when it asks for it. Safe to use from several threads.

    Args:
        start_thread: Runs what it is given in a new thread.
        idle_limit_s: How long the thread is kept where there is nothing to look after.
    """

    def __init__(
        self, start_thread: Callable[[Callable[[], None]], None], *, idle_limit_s: float
    ) -> None:
        self._start_thread = start_thread
        self._idle_limit_s = idle_limit_s
        self._lock = Lock()  # guards whether a thread looks, and that it sees all that is there
        self._is_looking = False
        self._is_closed = False
        self._looks: dict[T, LookNow] = {}
        self._next_at_s = inf
        self._nudge = Event()

    @property
    def tickets(self) -> tuple[T, ...]:
        """What is looked after now."""
        return tuple(self._looks.copy())

    def open(self) -> None:
        """Have a thread that looks.

        Raises:
            RuntimeError: The machine has no thread left.
        """
        if not self._is_looking:
            self._begin_to_look()

    def _begin_to_look(self) -> None:
        with self._lock:
            if self._is_looking:
                return
            self._is_looking = True
        try:
            self._start_thread(self._work)
        except BaseException:
            self._is_looking = False
            raise

    def begin(self, ticket: T, look: LookNow, *, first_look_s: float) -> None:
        """Look after something until `end`; `look` says in how many seconds to look again.

        Raises:
            RuntimeError: The machine has no thread left.
        """
        self._looks[ticket] = look
        self.open()
        if first_look_s < LOOK_S and time.monotonic() + first_look_s < self._next_at_s:
            self._nudge.set()

    def end(self, ticket: T) -> None:
        """Look after it no longer; one look may be under way."""
        self._looks.pop(ticket, None)

    def close(self) -> None:
        """Let the thread go once nothing is left to look after."""
        with self._lock:
            self._is_closed = True
        self._nudge.set()

    def _work(self) -> None:
        idle_since_s = time.monotonic()
        while True:
            self._nudge.clear()
            self._next_at_s = inf  # whoever begins now may have come too late for this look
            wait_s = self._look()
            now_s = time.monotonic()
            if self._looks:
                idle_since_s = now_s
            elif self._ends(now_s - idle_since_s):
                return
            self._next_at_s = now_s + wait_s
            self._nudge.wait(wait_s)

    def _look(self) -> float:
        """Look at everything; in how many seconds next."""
        wait_s = LOOK_S
        for look in self._looks.copy().values():
            with suppress(Exception):  # one bad look must not keep it from the others
                wait_s = min(wait_s, look())
        return max(0.0, wait_s)

    def _ends(self, idle_s: float) -> bool:
        if idle_s < self._idle_limit_s and not self._is_closed:
            return False
        with self._lock:
            # Whoever begins stores first and then looks at this, so one of the two is seen.
            self._is_looking = False
            self._is_looking = bool(self._looks)
            return not self._is_looking
