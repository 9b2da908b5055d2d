"""The clock of the machine."""

import time
from datetime import UTC, datetime
from functools import partial
from threading import TIMEOUT_MAX, Event

from turnkeeper.application.ports.clock import Clock


class SystemClock(Clock):
    """The machine's monotonic clock and its time of day."""

    # A turn reads them some forty times.
    monotonic = staticmethod(time.monotonic)
    now = staticmethod(partial(datetime.now, UTC))

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)

    def wait(self, event: Event, timeout_s: float) -> bool:
        return event.wait(min(max(0.0, timeout_s), TIMEOUT_MAX))
