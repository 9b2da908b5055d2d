"""How long one call may wait."""

from threading import Event

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Cancelled, Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.infrastructure.discord.errors import WaitTooLong


class Patience:
    """What bounds each wait of one call: a deadline, and a stop where there is one."""

    def __init__(self, clock: Clock, *, deadline: Deadline, stop: Stop | None) -> None:
        self._clock = clock
        self._deadline = deadline
        self._stop = stop

    @property
    def left_s(self) -> float:
        """The seconds that are left, possibly infinite."""
        return self._deadline.remaining_s(self._clock.monotonic())

    def rest(self, seconds: float, waiting_for: str) -> None:
        """Let so many seconds pass; not one of them if they do not fit.

        Raises:
            WaitTooLong: They do not fit.
            Cancelled: It was asked to stop.
        """
        left_s = self.left_s
        if seconds > left_s:
            raise WaitTooLong(
                f"waiting for {waiting_for} takes {seconds:.3g} s more, and {left_s:.3g} s are left"
            )
        self._wait(Event(), seconds, waiting_for)

    def wait_for(self, event: Event, waiting_for: str) -> None:
        """Return once the event is set.

        Raises:
            WaitTooLong: It was not set in time.
            Cancelled: It was asked to stop.
        """
        if event.is_set():
            return
        if not self._wait(event, self.left_s, waiting_for):
            raise WaitTooLong(f"waiting for {waiting_for} took longer than the deadline allows")

    def _wait(self, event: Event, seconds: float, waiting_for: str) -> bool:
        if self._stop is None:
            return self._clock.wait(event, seconds)
        forget = self._stop.on_stop(event.set)
        try:
            is_set = self._clock.wait(event, seconds)
        finally:
            forget()
        if self._stop.is_set:
            raise Cancelled(f"stopped while waiting for {waiting_for}")
        return is_set
