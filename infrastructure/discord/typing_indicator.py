"""Shows that an answer is coming."""

from contextlib import suppress
from threading import Lock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Cancelled, Runner, Stop
from turnkeeper.domain.errors import Closed, SinkError
from turnkeeper.infrastructure.discord import calls
from turnkeeper.infrastructure.discord.client import DiscordClient

EVERY_S = 8.0
WITHIN_S = 5.0


class TypingIndicator:
    """Shows it beside the turn, which never waits for it and does not care whether it works.

    Args:
        is_wanted: False to never show it.
    """

    def __init__(
        self,
        client: DiscordClient,
        runner: Runner,
        *,
        clock: Clock,
        channel_id: str,
        is_wanted: bool = True,
    ) -> None:
        self._client = client
        self._runner = runner
        self._clock = clock
        self._channel_id = channel_id
        self._lock = Lock()  # guards the two below
        self._next_at_s = 0.0
        self._is_over = not is_wanted

    def show(self) -> None:
        """Show it for some seconds more, unless that was said just now."""
        now_s = self._clock.monotonic()
        with self._lock:
            if self._is_over or now_s < self._next_at_s:
                return
            self._next_at_s = now_s + EVERY_S
        with suppress(Closed, RuntimeError):  # no thread is left for a courtesy
            self._runner.start(self._show, "typing")

    def end(self) -> None:
        """Show it no more."""
        with self._lock:
            self._is_over = True

    def _show(self, stop: Stop) -> None:
        with suppress(SinkError, Cancelled):
            if not self._is_over:
                deadline = self._client.within(WITHIN_S)
                self._client.make(calls.show_typing(self._channel_id), deadline=deadline, stop=stop)
