"""Instants as people and programs read them."""

from datetime import UTC, datetime


def until(instant: datetime | None, now: datetime) -> str:
    """Until when, and how long that is: ``12:34:56 UTC (in 42 s)``; empty for None."""
    if instant is None:
        return ""
    left_s = max(0.0, (instant - now).total_seconds())
    there = instant.astimezone(UTC)
    day = "" if there.date() == now.astimezone(UTC).date() else f"{there:%Y-%m-%d} "
    return f"{day}{there:%H:%M:%S} UTC (in {spell(left_s)})"


def spell(seconds: float) -> str:
    """A time as people say it, in its largest unit."""
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length_s:
            return f"{seconds / length_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def iso(instant: datetime | None) -> str | None:
    """The instant in UTC, for programs."""
    return None if instant is None else instant.astimezone(UTC).isoformat()
