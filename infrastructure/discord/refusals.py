"""The budget of calls that Discord refuses before it blocks an address."""

from collections import deque
from threading import Lock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.infrastructure.discord.errors import BadBotToken, Halted

WINDOW_S = 600.0
MOST = 5_000
"""Half of what Discord takes, as other processes may share the address."""


class RefusalBudget:
    """Counts what Discord refused of late, and stops all calls well before Discord would.

    Args:
        most: How many refusals within ten minutes are too many.

    Attributes:
        bad_token: How Discord refused the bot's token; once known it stays.
    """

    def __init__(self, clock: Clock, *, most: int = MOST) -> None:
        self._clock = clock
        self._most = most
        self.bad_token: BadBotToken | None = None
        self._lock = Lock()  # guards the instants
        self._at_s: deque[float] = deque()

    def note(self) -> None:
        """Count a refusal."""
        with self._lock:
            self._at_s.append(self._clock.monotonic())

    def check(self) -> None:
        """Return if a call may be risked.

        Raises:
            Halted: Too many were refused of late.
        """
        now_s = self._clock.monotonic()
        with self._lock:
            while self._at_s and now_s - self._at_s[0] >= WINDOW_S:
                self._at_s.popleft()
            if len(self._at_s) < self._most:
                return
            left_s = WINDOW_S - (now_s - self._at_s[0])
        raise Halted(
            f"Discord refused {self._most} calls within ten minutes and blocks this address at"
            f" twice as many, so nothing is sent for {left_s:.0f} s: look for the permission that"
            " is missing, or for a wrong token"
        )
