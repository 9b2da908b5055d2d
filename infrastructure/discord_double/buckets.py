"""Counting calls in windows."""

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.limits import Window

Key = tuple[str, ...]


@frozen
class Standing:
    """How a bucket stands after a call.

    Attributes:
        over: Whether this call was one too many.
    """

    calls: int
    remaining: int
    reset_after_s: float
    over: bool


class Buckets:
    """Windows that begin with their first call; used under the lock of the state."""

    def __init__(self) -> None:
        self._used: dict[Key, tuple[float, int]] = {}

    def spend(self, key: Key, window: Window, now_s: float) -> Standing:
        """Count a call; one too many is not counted."""
        began_s, used = self._window(key, window, now_s)
        over = used >= window.calls
        used += not over
        self._used[key] = (began_s, used)
        return Standing(
            calls=window.calls,
            remaining=window.calls - used,
            reset_after_s=began_s + window.per_s - now_s,
            over=over,
        )

    def used(self, key: Key, window: Window, now_s: float) -> int:
        """How many calls were counted in the window that is open now."""
        return self._window(key, window, now_s)[1]

    def _window(self, key: Key, window: Window, now_s: float) -> tuple[float, int]:
        began_s, used = self._used.get(key, (now_s, 0))
        return (now_s, 0) if now_s - began_s >= window.per_s else (began_s, used)
