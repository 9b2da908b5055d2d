"""Snowflakes: ids that carry the instant at which they were made."""

from datetime import UTC, datetime, timedelta

from turnkeeper.application.ports.clock import Clock

EPOCH_MS = 1_420_070_400_000
SHIFT = 22


class Snowflakes:
    """Ids in growing order, by the clock; used under the lock of the state that owns it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def next(self) -> str:
        """An id of now, higher than all before."""
        self._last = max(self._last + 1, _lowest_at(self._clock.now()))
        return str(self._last)

    def earlier(self, age_s: float) -> str:
        """An id that was made so long ago; unlike `next` it may be lower than others."""
        self._last += 1
        sequence = self._last % (1 << SHIFT)
        return str(_lowest_at(self._clock.now() - timedelta(seconds=age_s)) + sequence)


def made_at(snowflake: str) -> datetime:
    """When an id was made, to the millisecond."""
    return datetime.fromtimestamp(((int(snowflake) >> SHIFT) + EPOCH_MS) / 1000, UTC)


def _lowest_at(instant: datetime) -> int:
    return (round(instant.timestamp() * 1000) - EPOCH_MS) << SHIFT
