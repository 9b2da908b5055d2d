"""The port to threads: work that runs beside its caller, and what stops it."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Cancelled(Exception):
    """The work was asked to stop."""


class StillRunning(Exception):
    """The work has not ended within the time that its caller was willing to wait."""


class Stop(Protocol):
    """Asks one piece of work to end. Safe to use from several threads; once set, it stays set."""

    @property
    def is_set(self) -> bool:
        """Whether the work was asked to stop."""
        ...

    def check(self) -> None:
        """Return if the work may go on.

        Raises:
            Cancelled: It was asked to stop.
        """
        ...

    def on_stop(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Register what wakes a blocked call of the work, and return what unregisters it.

        `wake` runs at most once, in the thread that stops the work, or at once and in this thread
        if it is stopped already. It must not block; what it raises is dropped. It may still be
        running when the unregistering returns. Unregistering twice does nothing.
        """
        ...


class Work(Protocol[T_co]):
    """Work that was started. Safe to use from several threads."""

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        ...

    def result(self, timeout_s: float | None) -> T_co:
        """Wait for the end and return what the work returned, each time it is asked.

        Args:
            timeout_s: The longest wait; 0 does not wait, None waits for ever.

        Raises:
            StillRunning: It has not ended by then; it goes on.
            BaseException: Whatever the work raised.
        """
        ...

    def abandon(self, settle_s: float) -> bool:
        """Ask the work to stop and say whether it has ended, after waiting at most `settle_s`.

        With 0 it does not wait. If true, `result(0)` is the real outcome. A work that has ended is
        left as it is. What does not end runs on, unheeded, and never holds up other work.
        """
        ...


class OwnWork(Work[T_co], Protocol):
    """Work that its caller does itself, while a thread of the runner looks after it."""

    def run(self) -> None:
        """Do it, once and here; `result` then says what it came to.

        Raises:
            BaseException: What the work raised and is no `Exception`, such as an interrupt.
        """
        ...


Look = Callable[[Callable[[], None]], float]
"""Looks at work from another thread: stops it, by what it is given, if it has to, and says in how
many seconds to look again. It must not block, and may still be running when the work has ended."""


class Runner(Protocol):
    """Runs work beside its caller. Safe to use from several threads.

    Work never waits for other work: as many run as are started.
    """

    @property
    def running(self) -> int:
        """How many works have been started and not ended."""
        ...

    def start(self, work: Callable[[Stop], T], name: str) -> Work[T]:
        """Run `work` at once, in the caller's context variables, and return its handle.

        Args:
            work: Called with what asks it to stop.
            name: Words for the thread's name, for people who look at a stuck process.

        Raises:
            Closed: The runner was closed.
        """
        ...

    def here(self, work: Callable[[Stop], T], look: Look, *, first_look_s: float) -> OwnWork[T]:
        """Return work that the caller does itself, by `run`. It ends soon after its stop is set.

        Args:
            work: Called with what asks it to stop.
            look: Called while the work runs, now and then.
            first_look_s: When it is called first; it may be sooner.

        Raises:
            Closed: The runner was closed.
            RuntimeError: The machine has no thread left for whoever looks.
        """
        ...

    def close(self) -> None:
        """Ask all work to stop and take no more; a second close does nothing."""
        ...
