"""Sweeps at the start of a process and from time to time, beside its turns."""

import logging
from collections.abc import Callable
from threading import Event

from turnkeeper.application.feed_spool import FeedSpool
from turnkeeper.application.heartbeat import EVERY_S
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Cancelled, Runner, Stop
from turnkeeper.application.sweep_orphans import SweepOrphans, nobody_told
from turnkeeper.application.sweep_report import SweepReport
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.redact import redact

OnReport = Callable[[SweepReport], None]

SURE_S = EVERY_S + 2.0
"""Within which every process that lives says so for its turns, now that the store is there."""

log = logging.getLogger("turnkeeper")


def nobody(report: SweepReport) -> None:
    """Who is told where nobody counts sweeps."""


def _unstopped() -> None:
    """What is checked where nothing stops a sweep."""


class Sweeper:
    """One work beside the turns, which sweeps until it is stopped.

    A turn that gave no sign of life for long may only have had nobody to give it to, while the
    store was away. So before it sweeps, it gives all that live the time to say so.

    Args:
        every_s: How long it waits between sweeps; 0 does not sweep by itself.
        on_report: Told what each sweep did.
    """

    def __init__(
        self,
        *,
        feed: FeedSpool,
        sweep: SweepOrphans,
        runner: Runner,
        clock: Clock,
        every_s: float,
        on_report: OnReport = nobody,
    ) -> None:
        self._feed = feed
        self._sweep = sweep
        self._runner = runner
        self._clock = clock
        self._every_s = every_s
        self._on_report = on_report

    def start(self) -> None:
        """Sweep now, on a thread of its own, and then from time to time."""
        if self._every_s > 0:
            self._runner.start(self._sweep_on, "sweeper")

    def __call__(
        self, told: Callable[[int], None] = nobody_told, *, at_once: bool = True
    ) -> SweepReport:
        """Feed the store what this machine kept for it, and sweep once.

        Args:
            told: Called after each turn with how many are swept by then.
            at_once: Or all that live first get `SURE_S` seconds to say so, if a turn seems dead.

        Raises:
            StoreError: The store is away.
        """
        self._feed()
        if not at_once:
            self._let_the_living_say_so(Event())
        return self._swept(told=told)

    def _let_the_living_say_so(self, stopped: Event) -> bool:
        """Wait for them, where a turn seems dead; True if it was stopped meanwhile."""
        return self._sweep.is_due() and self._clock.wait(stopped, SURE_S)

    def _swept(
        self,
        check: Callable[[], None] = _unstopped,
        told: Callable[[int], None] = nobody_told,
    ) -> SweepReport:
        report = self._sweep(check, told)
        self._on_report(report)
        return report

    def _sweep_on(self, stop: Stop) -> None:
        stopped = Event()
        forget = stop.on_stop(stopped.set)
        try:
            while not stop.is_set:
                self._try(stop, stopped)
                self._clock.wait(stopped, self._every_s)
        finally:
            forget()

    def _try(self, stop: Stop, stopped: Event) -> None:
        try:
            self._feed()
            if self._let_the_living_say_so(stopped):
                return
            _tell(self._swept(stop.check))
        except Cancelled:  # what is left is swept by others, or the next time
            return
        except StoreError as error:
            log.warning("dead turns are not swept: %s", redact(str(error)))
        except Exception:
            log.exception("a sweep failed")


def _tell(report: SweepReport) -> None:
    if report != SweepReport():
        log.info(
            "swept %d lost turns: %d messages taken back, %d stuck",
            len(report.lost),
            len(report.taken_back),
            len(report.stuck),
        )
