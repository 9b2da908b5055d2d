"""How long a provider asks to wait, in whichever of its many ways it says so.

Source: RFC 9110 section 10.2.3; the error documentation of the providers.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from math import isfinite

from turnkeeper.domain.pattern import lazily

Headers = Iterable[tuple[str, str]]

LONGEST_WAIT_S = 40 * 86_400.0  # no plan resets later; more is a mistake, and would overflow dates

_NUMBER = lazily(r"\d{1,20}(?:\.\d{1,20})?")
_UNIT_S = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
}
_UNITS = "|".join(sorted(_UNIT_S, key=len, reverse=True))
_PART = rf"{_NUMBER.pattern} ?(?:{_UNITS})(?![a-z])"
_DURATION = lazily(rf"(?:{_PART} ?){{1,5}}")
_PARTS = lazily(rf"({_NUMBER.pattern}) ?([a-z]+)")
_SAID = lazily(
    r"\b(?:try again|retry|wait|available|resets?)(?: again)?(?: in| after)?:? "
    rf"(?P<duration>{_DURATION.pattern})"
)
_RESET_AT = lazily(
    r"\bresets? at (?P<date>\d{4}-\d\d-\d\d)[ t](?P<time>\d\d:\d\d:\d\d)(?P<zone>z|[+-]\d\d:?\d\d)?"
)
_UNNAMED_ZONE = "+08:00"  # Beijing: what Z.ai means where it names none
_EPOCH_MS_FROM = 1e11
_EPOCH_S_FROM = 1e9


def duration_s(text: str) -> float | None:
    """Read a duration such as ``6m0s``, ``7.66s`` or ``500ms``; None if it is none."""
    text = text.strip().lower()
    if _DURATION.fullmatch(text) is None:
        return None
    return _bounded(sum(float(size) * _UNIT_S[unit] for size, unit in _PARTS.findall(text)))


def retry_after_s(value: str, *, now: datetime) -> float | None:
    """Read a Retry-After header: seconds or a date; 0 for a date that has passed."""
    value = value.strip()
    if _NUMBER.fullmatch(value):
        return _bounded(float(value))
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return duration_s(value)
    return _until(date if date.tzinfo else date.replace(tzinfo=UTC), now)


def reset_s(value: str, *, now: datetime) -> float | None:
    """Read a reset: a duration, seconds, an instant in epoch (milli)seconds or RFC 3339."""
    value = value.strip()
    if not _NUMBER.fullmatch(value):
        return duration_s(value) if value[-1:].isalpha() and value[-1:] != "Z" else _rfc(value, now)
    number = float(value)
    if number >= _EPOCH_MS_FROM:
        return _bounded(number / 1000 - now.timestamp())
    return _bounded(number - now.timestamp() if number >= _EPOCH_S_FROM else number)


def hinted_s(
    headers: Headers = (),
    message: str = "",
    details: Mapping[str, str] | None = None,
    *,
    now: datetime,
) -> float | None:
    """Return the wait that an answer asks for, or None if it asks for none.

    What is precise comes first: milliseconds, Retry-After, the body's own field, the message's
    words, and last the time at which a limit that is used up is reset.

    Args:
        headers: Names in lower case.
        details: From the body: ``retry_delay`` as a duration or seconds, and headers of an
            upstream under their names.
    """
    given, details = dict(headers), details or {}
    hint = _milliseconds(given["retry-after-ms"]) if "retry-after-ms" in given else None
    if hint is None and "retry-after" in given:
        hint = retry_after_s(given["retry-after"], now=now)
    if hint is None and "retry_delay" in details:
        hint = retry_after_s(details["retry_delay"], now=now)
    if hint is None:
        hint = _said_s(message, now)
    if hint is None:
        hint = _used_up_s(given, now)
    return _used_up_s(details, now) if hint is None else hint


def midnight_pacific_s(now: datetime) -> float:
    """Return the seconds until the next midnight in California, when Gemini's day quotas reset."""
    zone = _pacific(now)
    today = now.astimezone(zone).date()
    midnight = datetime(today.year, today.month, today.day, tzinfo=zone) + timedelta(days=1)
    # The clock may be changed in between.
    midnight = midnight.replace(tzinfo=_pacific(midnight))
    return (midnight - now).total_seconds()


def _milliseconds(value: str) -> float | None:
    """Read Retry-After-Ms; 0 is sent where nothing is known."""
    if not _NUMBER.fullmatch(value.strip()) or float(value) == 0:
        return None
    return _bounded(float(value) / 1000)


def _said_s(message: str, now: datetime) -> float | None:
    message = message.lower()
    if said := _SAID.search(message):
        return duration_s(said["duration"])
    if not (at := _RESET_AT.search(message)):
        return None
    instant = f"{at['date']}T{at['time']}{(at['zone'] or _UNNAMED_ZONE).upper()}"
    return _rfc(instant, now)


def _used_up_s(given: Mapping[str, str], now: datetime) -> float | None:
    """The longest reset among the limits that are not known to have something left."""
    resets = [
        reset_s(value, now=now)
        for name, value in given.items()
        if "ratelimit" in name and "reset" in name
        if _is_used_up(given.get(name.replace("reset", "remaining"), "0"))
    ]
    return max((reset for reset in resets if reset is not None), default=None)


def _is_used_up(remaining: str) -> bool:
    return _NUMBER.fullmatch(remaining.strip()) is None or float(remaining) == 0


def _rfc(value: str, now: datetime) -> float | None:
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return None
    return _until(instant if instant.tzinfo else instant.replace(tzinfo=UTC), now)


def _until(instant: datetime, now: datetime) -> float | None:
    return _bounded((instant - now).total_seconds())


def _bounded(seconds: float) -> float | None:
    return min(max(0.0, seconds), LONGEST_WAIT_S) if isfinite(seconds) else None


def _pacific(instant: datetime) -> timezone:
    """The offset by rule: the zone database is a file, and not everywhere."""
    winter = timezone(timedelta(hours=-8))
    year = instant.astimezone(winter).year
    starts = datetime(year, 3, _sunday(year, 3, nth=2), 2, tzinfo=winter)
    ends = datetime(year, 11, _sunday(year, 11, nth=1), 1, tzinfo=winter)
    return timezone(timedelta(hours=-7)) if starts <= instant < ends else winter


def _sunday(year: int, month: int, *, nth: int) -> int:
    first = datetime(year, month, 1, tzinfo=UTC).isoweekday() % 7
    return 1 + (7 - first) % 7 + 7 * (nth - 1)
