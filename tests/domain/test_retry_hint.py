from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.retry_hint import (
    LONGEST_WAIT_S,
    duration_s,
    hinted_s,
    midnight_pacific_s,
    reset_s,
    retry_after_s,
)

NOW = datetime(2026, 8, 19, 14, 35, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360.0),
        ("7.66s", 7.66),
        ("500ms", 0.5),
        ("9m38.016s", 578.016),
        ("1h2m3s", 3723.0),
        ("2 minutes", 120.0),
        ("1 hour 5 min", 3900.0),
        ("1d", 86_400.0),
        ("48S", 48.0),
        ("", None),
        ("soon", None),
        ("5 parsecs", None),
        ("12", None),
        ("-5s", None),
    ],
)
def test_a_duration_is_read_in_any_spelling(text: str, seconds: float | None) -> None:
    assert duration_s(text) == (pytest.approx(seconds) if seconds is not None else None)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        ("1.5", 1.5),
        ("0", 0.0),
        (" 30 ", 30.0),
        ("Wed, 19 Aug 2026 14:36:30 GMT", 90.0),
        ("Wed, 19 Aug 2026 14:36:30 -0000", 90.0),
        ("Wed, 19 Aug 2026 16:36:30 +0200", 90.0),
        ("Wed, 19 Aug 2026 14:00:00 GMT", 0.0),
        ("20s", 20.0),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("Wed, 19 Aug 99999 14:00:00 GMT", None),
        ("9" * 20, LONGEST_WAIT_S),
        ("9" * 4000, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_s(value, now=NOW) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7.66s", 7.66),
        ("6m0s", 360.0),
        ("12", 12.0),
        (str(int(NOW.timestamp() * 1000) + 5_000), 5.0),
        (str(int(NOW.timestamp()) + 5), 5.0),
        ("1777420800000", 0.0),
        ("2026-08-19T14:35:10Z", 10.0),
        ("2026-08-19T16:35:10+02:00", 10.0),
        ("garbage", None),
        ("", None),
    ],
)
def test_a_reset_is_a_duration_or_an_instant(value: str, seconds: float | None) -> None:
    assert reset_s(value, now=NOW) == seconds


def test_milliseconds_win_over_seconds() -> None:
    assert hinted_s([("retry-after", "1"), ("retry-after-ms", "644")], now=NOW) == 0.644


def test_zero_milliseconds_say_nothing() -> None:
    assert hinted_s([("retry-after-ms", "0"), ("retry-after", "1")], now=NOW) == 1.0


def test_a_header_that_is_garbage_leaves_the_word_to_the_next_hint() -> None:
    assert hinted_s([("retry-after", "soon")], "Please try again in 2s.", now=NOW) == 2.0


def test_retry_after_wins_over_the_message() -> None:
    assert hinted_s([("retry-after", "579")], "try again in 9m38.016s", now=NOW) == 579.0


def test_the_bodys_own_field_wins_over_the_message() -> None:
    assert hinted_s(
        message="Please retry in 48.939935699s.", details={"retry_delay": "48s"}, now=NOW
    ) == (48.0)


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 644ms.", 0.644),
        ("Please try again in 9m38.016s. Need more tokens?", 578.016),
        ("Please retry in 48.5s.", 48.5),
        ("Please retry after 6 seconds.", 6.0),
        ("Please wait 2 minutes and", 120.0),
        ("Your limit will reset at 2026-08-19 22:35:10", 10.0),
        ("Resets at 2026-08-19T14:35:10Z", 10.0),
        ("Please try again later.", None),
        ("", None),
    ],
)
def test_the_message_says_how_long_in_words(message: str, seconds: float | None) -> None:
    hint = hinted_s(message=message, now=NOW)

    assert hint == (pytest.approx(seconds) if seconds is not None else None)


def test_only_a_limit_that_is_used_up_says_when_it_is_reset() -> None:
    headers = [
        ("x-ratelimit-remaining-requests", "812"),
        ("x-ratelimit-reset-requests", "2m59.56s"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "7.66s"),
    ]

    assert hinted_s(headers, now=NOW) == 7.66


def test_of_two_limits_that_are_used_up_the_later_reset_counts() -> None:
    headers = [
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "2026-08-19T14:35:10Z"),
        ("anthropic-ratelimit-tokens-remaining", "0"),
        ("anthropic-ratelimit-tokens-reset", "2026-08-19T14:36:00Z"),
    ]

    assert hinted_s(headers, now=NOW) == 60.0


def test_the_headers_of_an_upstream_count_too() -> None:
    reset = str(int(NOW.timestamp() * 1000) + 90_000)
    details = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}

    assert hinted_s(details=details, now=NOW) == 90.0


def test_nothing_said_is_no_hint() -> None:
    assert hinted_s([("content-type", "text/html")], now=NOW) is None


@given(st.text(max_size=40) | st.from_regex(r"[0-9:., +TZ-]{1,30}"))
def test_any_text_is_a_bounded_wait_or_none(text: str) -> None:
    for hint in (
        retry_after_s(text, now=NOW),
        reset_s(text, now=NOW),
        hinted_s([("retry-after-ms", text)], text, {"retry_delay": text}, now=NOW),
    ):
        assert hint is None or 0 <= hint <= LONGEST_WAIT_S


PACIFIC = ZoneInfo("America/Los_Angeles")


@given(st.datetimes(datetime(2008, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_gemini_days_end_at_midnight_in_california(now: datetime) -> None:
    tomorrow = now.astimezone(PACIFIC).date() + timedelta(days=1)
    midnight = datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=PACIFIC)

    assert midnight_pacific_s(now) == (midnight.astimezone(UTC) - now).total_seconds()
