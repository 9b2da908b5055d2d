"""Threads: the only place that makes them."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from turnkeeper.application.ports.runner import (
    Cancelled,
    Look,
    OwnWork,
    Runner,
    StillRunning,
    Stop,
    Work,
)
from turnkeeper.domain.errors import Closed
from turnkeeper.infrastructure.lookout import Lookout

T = TypeVar("T")


class ThreadStop(Stop):
    """A stop that any thread, and a signal handler, may set.

    It needs no lock: whoever sets it marks first and then takes the wakes one by one, whoever
    registers stores first and then looks at the mark, so that one of the two runs each wake.
    """

    is_set = False  # no property, as it is looked at with each word that comes

    def __init__(self) -> None:
        self._wakes: dict[object, Callable[[], None]] = {}

    def set(self) -> None:
        """Ask the work to stop and wake what blocks it; a second time does nothing."""
        self.is_set = True
        while self._wakes:
            with suppress(KeyError):  # another thread took the last one
                _wake(self._wakes.popitem()[1])

    def check(self) -> None:
        if self.is_set:
            raise Cancelled("the work was asked to stop")

    def on_stop(self, wake: Callable[[], None]) -> Callable[[], None]:
        ticket = object()
        self._wakes[ticket] = wake
        if self.is_set:
            self.set()
        return partial(self._forget, ticket)

    def _forget(self, ticket: object) -> None:
        self._wakes.pop(ticket, None)


def _wake(wake: Callable[[], None]) -> None:
    with suppress(Exception):  # one bad wake must not keep the others asleep
        wake()


class ThreadWork(Work[T]):
    """Work in a thread of a `ThreadRunner`."""

    _value: T

    def __init__(self, work: Callable[[Stop], T], name: str) -> None:
        self.name = name
        self.stop = ThreadStop()
        context = copy_context()
        self._todo: Callable[[], T] | None = lambda: context.run(work, self.stop)
        self._error: BaseException | None = None
        self._done = False
        self._end = threading.Lock()  # held until the work has ended
        self._end.acquire()

    @property
    def done(self) -> bool:
        return self._done

    def result(self, timeout_s: float | None) -> T:
        if not self._ends_within(timeout_s):
            raise StillRunning(f"{self.name} is still running after {timeout_s} s")
        if self._error is not None:
            raise self._error
        return self._value

    def abandon(self, settle_s: float) -> bool:
        if not self._done:
            self.stop.set()
        return self._ends_within(settle_s)

    def run(self) -> None:
        """Do the work and keep what comes of it, to be shown once `settle` is called."""
        assert self._todo is not None
        try:
            self._value = self._todo()
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asks for the result
            self._error = error
        self._todo = None  # what the work held on to is not kept as long as its result

    def settle(self) -> None:
        """Let everybody see that it has ended."""
        self._done = True
        self._end.release()

    def _ends_within(self, timeout_s: float | None) -> bool:
        if self._done or timeout_s == 0:
            return self._done
        limit_s = -1 if timeout_s is None else min(max(timeout_s, 0), threading.TIMEOUT_MAX)
        if not self._end.acquire(timeout=limit_s):
            return False
        self._end.release()
        return True


class LookedAfter(OwnWork[T]):
    """Work that its caller does itself, while a lookout looks after it."""

    _value: T
    _error: Exception | None = None
    done = False

    def __init__(
        self,
        work: Callable[[Stop], T],
        look: Look,
        lookout: "Lookout[LookedAfter[Any]]",
        first_look_s: float,
    ) -> None:
        self.stop = ThreadStop()
        self._work = work
        self._look = look
        self._lookout = lookout
        self._first_look_s = first_look_s

    def run(self) -> None:
        lookout = self._lookout
        try:
            lookout.begin(self, self._looked, first_look_s=self._first_look_s)
            self._value = self._work(self.stop)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asks for the result
            self._error = error
        finally:
            self.done = True
            lookout.end(self)

    def result(self, timeout_s: float | None) -> T:
        if not self.done:
            raise StillRunning("the work is done by the one who asks for it")
        if self._error is not None:
            raise self._error
        return self._value

    def abandon(self, settle_s: float) -> bool:
        if not self.done:
            self.stop.set()
        return self.done

    def _looked(self) -> float:
        return self._look(self.stop.set)


_AnyWork = ThreadWork[Any]
_Seat = SimpleQueue[_AnyWork | None]  # where a thread waits for its next work; None ends it


class ThreadRunner(Runner):
    """Runs each work in a daemon thread of its own and lets idle threads take the next work.

    Args:
        idle_limit_s: How long a thread without work is kept.
        settle_s: How long `close` waits for the work that it asked to stop.
    """

    def __init__(self, *, idle_limit_s: float = 60.0, settle_s: float = 5.0) -> None:
        self._idle_limit_s = idle_limit_s
        self._settle_s = settle_s
        self._lock = threading.Lock()  # guards the three below
        self._idle: list[_Seat] = []
        self._works: set[_AnyWork] = set()
        self._closed = False
        self._lookout: Lookout[LookedAfter[Any]] = Lookout(_start_thread, idle_limit_s=idle_limit_s)

    @property
    def running(self) -> int:
        return len(self._works) + len(self._lookout.tickets)

    def start(self, work: Callable[[Stop], T], name: str) -> ThreadWork[T]:
        started = ThreadWork(work, name)
        with self._lock:
            if self._closed:
                raise Closed(f"{name} was not started: the runner was closed")
            self._works.add(started)
            seat = self._idle.pop() if self._idle else None
        if seat is None:
            self._open_seat(started)
        else:
            seat.put(started)
        return started

    def here(self, work: Callable[[Stop], T], look: Look, *, first_look_s: float) -> LookedAfter[T]:
        if self._closed:
            raise Closed("work was not begun: the runner was closed")
        self._lookout.open()
        return LookedAfter(work, look, self._lookout, first_look_s)

    def close(self) -> None:
        self._lookout.close()
        with self._lock:
            self._closed = True
            works, seats, self._idle = list(self._works), self._idle, []
        for seat in seats:
            seat.put(None)
        for work in works:
            work.stop.set()
        for own in self._lookout.tickets:
            own.stop.set()
        until_s = time.monotonic() + self._settle_s
        for work in works:
            work.abandon(max(0.0, until_s - time.monotonic()))

    def _open_seat(self, work: ThreadWork[T]) -> None:
        seat = _Seat()
        seat.put(work)
        try:
            _start_thread(lambda: self._serve(seat), "idle")
        except RuntimeError:  # the machine has no thread left
            self._works.discard(work)
            raise

    def _serve(self, seat: _Seat) -> None:
        thread = threading.current_thread()
        while (work := self._next_work(seat)) is not None:
            thread.name = f"turnkeeper-{work.name}"
            work.run()
            thread.name = "turnkeeper-idle"
            self._leave(seat, work)
            del work  # an idle thread keeps nothing alive

    def _leave(self, seat: _Seat, work: _AnyWork) -> None:
        with self._lock:
            self._works.discard(work)
            if self._closed:
                seat.put(None)
            else:
                self._idle.append(seat)
        # Only now, so that whoever waited for this work finds its thread free for the next one.
        work.settle()

    def _next_work(self, seat: _Seat) -> _AnyWork | None:
        try:
            return seat.get(timeout=self._idle_limit_s)
        except Empty:
            with self._lock:
                if seat in self._idle:
                    self._idle.remove(seat)
                    return None
        return seat.get()  # it was taken at the last moment, so work is coming


def _start_thread(work: Callable[[], None], name: str = "lookout") -> None:
    threading.Thread(target=work, name=f"turnkeeper-{name}", daemon=True).start()
