from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import product

import pytest

from turnkeeper.domain.admission import (
    CooldownCheck,
    CooldownRule,
    CooldownType,
    QuotaCheck,
    QuotaRule,
    cooldown_applies,
    cooldown_check,
    next_utc_midnight,
    quota_applies,
    quota_check,
    utc_day,
)
from turnkeeper.domain.occasion import Occasion, QuotaSource

MEMBER = Occasion()
MANAGER = Occasion(by_manager=True)
COUNTED = QuotaRule(enabled=True, daily_per_user=3)


def cooldown(type: CooldownType, occasion: Occasion = MEMBER) -> CooldownCheck | None:
    rule = CooldownRule(type=type, length_s=7)
    return cooldown_check(rule, occasion, user_id="ann", channel_id="general")


def with_limit(name: str, value: int) -> QuotaRule:
    return replace(COUNTED, **{name: value})  # type: ignore[arg-type]


# ── to whom the rules apply ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("occasion", "cools", "counts"),
    [
        (MEMBER, True, True),
        (MANAGER, True, True),
        (Occasion(quota_source=QuotaSource.SYSTEM), True, False),
        (Occasion(is_dm=True), True, False),
        (Occasion(is_stop_response=True), False, False),
        (Occasion(is_persona_job=True), False, True),
        (Occasion(is_self_message=True), False, True),
        (Occasion(is_reminder=True), True, False),
    ],
    ids=["member", "manager", "system", "dm", "stop response", "persona", "itself", "reminder"],
)
def test_each_circumstance_decides_on_cooldown_and_quota(
    occasion: Occasion, cools: bool, counts: bool
) -> None:
    assert (cooldown_applies(occasion), quota_applies(occasion)) == (cools, counts)


@pytest.mark.parametrize("name", ["is_stop_response", "is_persona_job", "is_self_message"])
@pytest.mark.parametrize("other", ["is_dm", "is_reminder", "by_manager"])
def test_who_is_spared_the_cooldown_is_spared_it_in_any_circumstance(name: str, other: str) -> None:
    occasion = replace(MEMBER, **{name: True, other: True})  # type: ignore[arg-type]

    assert [cooldown(type, occasion) for type in CooldownType] == [None] * len(CooldownType)


# ── cooldown ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("type", "scope"),
    [
        (CooldownType.PER_USER, "user:ann"),
        (CooldownType.PER_CHANNEL, "channel:general"),
        (CooldownType.SERVER, ""),
        (CooldownType.STRICT, ""),
    ],
)
def test_a_cooldown_counts_for_its_scope(type: CooldownType, scope: str) -> None:
    assert cooldown(type) == CooldownCheck(scope=scope, length_s=7, is_exempt=False)


def test_a_cooldown_that_is_off_is_not_taken() -> None:
    assert cooldown(CooldownType.OFF) is None


@pytest.mark.parametrize("type", [type for type in CooldownType if type is not CooldownType.OFF])
def test_managers_are_exempt_unless_it_is_strict(type: CooldownType) -> None:
    check = cooldown(type, MANAGER)

    assert check is not None
    assert check.is_exempt == (type is not CooldownType.STRICT)


@pytest.mark.parametrize("length_s", [1, 86_400])
def test_a_cooldown_lasts_a_second_to_a_day(length_s: int) -> None:
    assert CooldownRule(length_s=length_s).length_s == length_s


@pytest.mark.parametrize("length_s", [-1, 0, 86_401])
def test_a_cooldown_of_another_length_is_refused(length_s: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 86400 seconds long, not {length_s}"):
        CooldownRule(length_s=length_s)


# ── quota ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("enabled", "daily", "wide"), list(product([False, True], [0, 1], [0, 1])))
def test_a_quota_limits_only_where_it_is_enabled_and_not_zero(
    enabled: bool, daily: int, wide: int
) -> None:
    rule = QuotaRule(enabled=enabled, daily_per_user=daily, server_wide=wide)

    check = quota_check(rule, MEMBER, user_id="ann")

    limits = enabled and (daily > 0 or wide > 0)
    assert check == (QuotaCheck(user_id="ann", rule=rule) if limits else None)


def test_a_quota_that_does_not_apply_reserves_nothing() -> None:
    assert quota_check(COUNTED, Occasion(is_dm=True), user_id="ann") is None


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("daily_per_user", 0, 100), ("server_wide", 0, 99_999), ("period_days", 1, 365)],
)
def test_each_limit_has_its_bounds(name: str, low: int, high: int) -> None:
    for value in (low, high):
        assert getattr(with_limit(name, value), name) == value
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match=f"{name} is {low} to {high}, not {value}"):
            with_limit(name, value)


# ── days ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("now", "midnight"),
    [
        (datetime(2026, 2, 28, 0, 0, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
        (datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
    ],
    ids=["at midnight", "just before"],
)
def test_a_day_ends_at_the_next_midnight(now: datetime, midnight: datetime) -> None:
    assert next_utc_midnight(now) == midnight


def test_a_limit_counts_for_the_utc_day() -> None:
    assert utc_day(datetime(2026, 11, 30, 23, 59, tzinfo=UTC)) == date(2026, 11, 30)
