"""Stops and follow-ups, from any thread and any process."""

from collections.abc import Callable
from typing import Protocol

from turnkeeper.domain.answers import Signal


class Signals(Protocol):
    """Carries signals to running turns. Safe to use from several threads and processes.

    A signal is for one turn: one for an older turn never reaches a newer one. A stop outranks a
    follow-up; the first stop counts.

    Raises:
        StoreUnavailable: From `send` and `pending`.
    """

    def send(self, turn_id: str, signal: Signal, *, sender: str = "system") -> bool:
        """Signal a turn; False if no such turn is running."""
        ...

    def pending(self, turn_id: str) -> Signal | None:
        """What was sent to the turn, not consumed by reading."""
        ...

    def watch(self, turn_id: str, heard: Callable[[Signal], None]) -> Callable[[], None]:
        """Call `heard`, once, when something is sent; returns what ends the watch.

        `heard` runs on another thread and must not block.
        """
        ...

    def running_in(self, server_id: str, channel_id: str) -> tuple[str, ...]:
        """The turns that run in a channel, oldest first."""
        ...
