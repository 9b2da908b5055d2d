"""The rules of admission in memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from turnkeeper.domain.admission import (
    Admission,
    AdmissionCheck,
    CooldownCheck,
    Granted,
    QuotaCheck,
    RefusalKind,
    Refused,
    Reservation,
    next_utc_midnight,
    utc_day,
)
from turnkeeper.domain.finish import Commit, Nothing, Release, Settle
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.standing import Standing
from turnkeeper.infrastructure.memory.latest import Latest

UnitKey = tuple[str, str]
UNLIMITED = Granted()
"""What is granted where no rule asks for anything."""


@dataclass(slots=True)
class _Unit:
    """A reserved unit; it counts on the day and in the period that it was reserved in."""

    user_id: str
    day: date | None
    period_start: datetime | None
    expires_at: datetime
    holders: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Period:
    start: datetime
    used: int = 0


class Admissions:
    """Cooldowns and quotas of all servers. Whoever asks holds the store's lock."""

    def __init__(self) -> None:
        self._cooldowns: dict[tuple[str, str], tuple[datetime, str]] = {}
        self._units: dict[UnitKey, _Unit] = {}
        self._charged: Latest[UnitKey, _Unit] = Latest()
        self._days: Counter[tuple[str, str, date]] = Counter()
        self._periods: dict[str, _Period] = {}
        self._refused: Latest[UnitKey, datetime] = Latest()

    def ask(
        self, check: AdmissionCheck, now: datetime, *, instead_of: Sequence[str] = ()
    ) -> Admission:
        """Decide, and take what is granted; a refusal takes nothing.

        Args:
            check: What is asked.
            now: When.
            instead_of: Holders that are known to be dead; they lose this unit.
        """
        quota = check.quota if check.quota and check.quota.rule.limits_anything else None
        if quota is None and check.cooldown is None:  # as on most servers
            return UNLIMITED
        key = check.server_id, check.trigger_key or check.holder
        refusal = self._cooling(key, check.cooldown, now) or self._exceeding(key, quota, now)
        if refusal is not None:
            return self._remembered(key, refusal, now)
        if check.cooldown is not None:
            self._cool(key, check.cooldown, now)
        if quota is None:
            return Granted()
        self._reserve(key, check, quota, now)
        if key in self._units:
            self._units[key].holders.difference_update(instead_of)
        reservation = Reservation(server_id=key[0], trigger_key=key[1], holder=check.holder)
        return Granted(reservation=reservation)

    def settle(self, settle: Settle, *, turn_id: str) -> None:
        """Charge the unit, or let it go."""
        if not self._units:  # as on most servers
            return
        match settle:
            case Nothing():
                self.let_go(turn_id)
            case Commit(reservation=held):
                self._charge((held.server_id, held.trigger_key), held.holder)
            case Release(reservation=held):
                self.let_go(held.holder)

    def look(self, check: AdmissionCheck | None, now: datetime) -> Standing:
        """How cooldown and quota stand for a check; nothing is taken."""
        if check is None:
            return Standing(now=now)
        cooldown, quota = check.cooldown, check.quota
        scope = cooldown.scope if cooldown else None
        until, _ = self._cooldowns.get((check.server_id, scope or ""), (now, ""))
        cooling = until if scope is not None and until > now else None
        if quota is None or not quota.rule.limits_anything:
            return Standing(now=now, cooling_until=cooling)
        held = [
            unit
            for (server, _), unit in self._units.items()
            if server == check.server_id and unit.expires_at > now
        ]
        day, user_id = utc_day(now), quota.user_id
        by_user = sum(unit.day == day and unit.user_id == user_id for unit in held)
        standing = Standing(
            now=now,
            cooling_until=cooling,
            by_user=by_user + self._days[check.server_id, user_id, day],
        )
        period = self._periods.get(check.server_id)
        if not quota.rule.server_wide or period is None:
            return standing
        ends_at = period.start + timedelta(days=quota.rule.period_days)
        if ends_at <= now:
            return standing
        by_server = sum(unit.period_start == period.start for unit in held) + period.used
        return replace(standing, by_server=by_server, period_ends_at=ends_at)

    def let_go(self, holder: str) -> None:
        """Take a holder from all units; one that nobody holds goes back."""
        for key, unit in tuple(self._units.items()):
            if holder in unit.holders:
                unit.holders.discard(holder)
                if not unit.holders:
                    del self._units[key]

    def prune(self, before: datetime, limit: int) -> tuple[int, int]:
        """Forget units and refusals that are older; returns how many of each."""
        expired = [key for key, unit in self._units.items() if unit.expires_at < before]
        charged = [key for key, unit in self._charged.items() if unit.expires_at < before]
        refused = [key for key, refused_at in self._refused.items() if refused_at < before]
        for key in (units := [*expired, *charged][:limit]):
            self._units.pop(key, None)
            self._charged.pop(key, None)
        for key in refused[:limit]:
            del self._refused[key]
        return len(units), len(refused[:limit])

    def count_of(self, user_id: str) -> int:
        """How many cooldowns, units and days there are of a user."""
        cooldowns, units, days = self._of(user_id)
        return len(cooldowns) + len(units) + len(days)

    def forget_of(self, user_id: str) -> int:
        """Forget the cooldowns, units and days of a user; returns how many."""
        cooldowns, units, days = self._of(user_id)
        for place in cooldowns:
            del self._cooldowns[place]
        for unit in units:
            del self._charged[unit]
        for day in days:
            del self._days[day]
        return len(cooldowns) + len(units) + len(days)

    def _of(
        self, user_id: str
    ) -> tuple[list[tuple[str, str]], list[UnitKey], list[tuple[str, str, date]]]:
        """In a direct message the user stands for the server. A unit that is held is left."""
        return (
            [key for key in self._cooldowns if user_id == key[0] or f"user:{user_id}" == key[1]],
            [key for key, unit in self._charged.items() if unit.user_id == user_id],
            [key for key in self._days if key[1] == user_id],
        )

    # ── cooldown ────────────────────────────────────────────────────────────────────────────

    def _cooling(
        self, key: UnitKey, cooldown: CooldownCheck | None, now: datetime
    ) -> Refused | None:
        if cooldown is None or cooldown.is_exempt:
            return None
        until, trigger_key = self._cooldowns.get((key[0], cooldown.scope), (now, ""))
        if until <= now or trigger_key == key[1]:
            return None
        return Refused(kind=RefusalKind.COOLDOWN, until=until)

    def _cool(self, key: UnitKey, cooldown: CooldownCheck, now: datetime) -> None:
        place = key[0], cooldown.scope
        until, trigger_key = self._cooldowns.get(place, (now, ""))
        later = now + timedelta(seconds=cooldown.length_s)
        if until <= now:
            self._cooldowns[place] = later, key[1]
        elif cooldown.is_exempt:
            self._cooldowns[place] = max(until, later), trigger_key

    # ── quota ───────────────────────────────────────────────────────────────────────────────

    def _exceeding(self, key: UnitKey, quota: QuotaCheck | None, now: datetime) -> Refused | None:
        if quota is None or self._has_unit(key, now):
            return None
        rule, day = quota.rule, utc_day(now)
        others = [
            unit
            for (server, trigger_key), unit in self._units.items()
            if server == key[0] and trigger_key != key[1] and unit.expires_at > now
        ]
        by_user = sum(unit.day == day and unit.user_id == quota.user_id for unit in others)
        if 0 < rule.daily_per_user <= by_user + self._days[key[0], quota.user_id, day]:
            return Refused(kind=RefusalKind.USER_QUOTA, until=next_utc_midnight(now))
        period = self._period(key[0], quota, now)
        by_server = sum(unit.period_start == period.start for unit in others)
        if 0 < rule.server_wide <= by_server + period.used:
            until = period.start + timedelta(days=rule.period_days)
            return Refused(kind=RefusalKind.SERVER_QUOTA, until=until)
        return None

    def _has_unit(self, key: UnitKey, now: datetime) -> bool:
        unit = self._units.get(key)
        return key in self._charged or (unit is not None and unit.expires_at > now)

    def _period(self, server: str, quota: QuotaCheck, now: datetime) -> _Period:
        period = self._periods.get(server)
        if period is None or period.start + timedelta(days=quota.rule.period_days) <= now:
            period = self._periods[server] = _Period(start=now)
        return period

    def _reserve(
        self, key: UnitKey, check: AdmissionCheck, quota: QuotaCheck, now: datetime
    ) -> None:
        if key in self._charged:
            return
        rule, known = quota.rule, self._units.get(key)
        expires_at = now + timedelta(seconds=check.expires_in_s)
        if known is None or known.expires_at <= now:
            wide = self._period(key[0], quota, now).start if rule.server_wide else None
            self._units[key] = _Unit(
                user_id=quota.user_id,
                day=utc_day(now) if rule.daily_per_user else None,
                period_start=wide,
                expires_at=expires_at,
                holders=known.holders if known else set(),
            )
        unit = self._units[key]
        unit.holders.add(check.holder)
        unit.expires_at = max(unit.expires_at, expires_at)

    def _charge(self, key: UnitKey, holder: str) -> None:
        unit = self._units.get(key)
        if unit is None or holder not in unit.holders:
            return
        del self._units[key]
        self._charged[key] = unit
        if unit.day is not None:
            self._days[key[0], unit.user_id, unit.day] += 1
        period = self._periods.get(key[0])
        if period is not None and period.start == unit.period_start:
            period.used += 1

    def _remembered(self, key: UnitKey, refusal: Refused, now: datetime) -> Refused:
        said = key in self._refused
        if not said:
            self._refused[key] = now
        return Refused(kind=refusal.kind, until=refusal.until, already_said=said)
