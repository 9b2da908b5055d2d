"""A point in time after which something is no longer waited for."""

from math import inf, isnan

from turnkeeper.domain.frozen import frozen


@frozen(kw_only=False)
class Deadline:
    """An instant of the monotonic clock, passed down unchanged to whoever waits.

    Attributes:
        at_s: Monotonic seconds, as `Clock.monotonic` counts them; infinite for never.
    """

    at_s: float

    def __post_init__(self) -> None:
        if isnan(self.at_s):
            raise ValueError("at_s is not a number, must be seconds of the monotonic clock")

    def remaining_s(self, now_s: float) -> float:
        """Return the seconds left, 0 once it has passed."""
        return max(0.0, self.at_s - now_s)

    def passed(self, now_s: float) -> bool:
        """Whether nothing is left; true at the very instant."""
        return now_s >= self.at_s

    def earlier(self, other: "Deadline") -> "Deadline":
        """Return the one that comes first."""
        return other if other.at_s < self.at_s else self


NEVER = Deadline(inf)
