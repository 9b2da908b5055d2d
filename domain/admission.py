"""Whether the server lends a turn its models: message cooldown, then text quota."""

from datetime import date, datetime, timedelta
from enum import Enum

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.occasion import Occasion, QuotaSource


class CooldownType(Enum):
    """For whom a message cooldown counts."""

    OFF = "off"
    PER_USER = "per_user"
    PER_CHANNEL = "per_channel"
    SERVER = "server"
    STRICT = "strict"
    """The whole server, managers included."""


@frozen
class CooldownRule:
    """How long after one turn the next may start.

    Attributes:
        type: For whom it counts.
        length_s: 1 to 86,400 seconds.
    """

    type: CooldownType = CooldownType.OFF
    length_s: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.length_s <= 86_400:
            raise ValueError(f"a cooldown is 1 to 86400 seconds long, not {self.length_s}")


@frozen
class QuotaRule:
    """How many turns the server pays for; 0 is unlimited.

    Attributes:
        enabled: Whether it counts at all.
        daily_per_user: Turns a user and UTC day, 0 to 100.
        server_wide: Turns of the whole server a period, 0 to 99,999.
        period_days: Length of the server's period, 1 to 365.
    """

    enabled: bool = False
    daily_per_user: int = 0
    server_wide: int = 0
    period_days: int = 1

    def __post_init__(self) -> None:
        for name, low, high in (
            ("daily_per_user", 0, 100),
            ("server_wide", 0, 99_999),
            ("period_days", 1, 365),
        ):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {low} to {high}, not {getattr(self, name)}")

    @property
    def limits_anything(self) -> bool:
        """Whether any turn could be refused by it."""
        return self.enabled and (self.daily_per_user > 0 or self.server_wide > 0)


@frozen
class CooldownCheck:
    """The cooldown that one turn takes.

    Attributes:
        scope: Within the server: ``""``, ``user:ID`` or ``channel:ID``.
        length_s: How long it lasts.
        is_exempt: The turn may pass, and still sets it for the others.
    """

    scope: str
    length_s: int
    is_exempt: bool = False


@frozen
class QuotaCheck:
    """The quota unit that one turn reserves.

    Attributes:
        user_id: Whose daily limit counts.
        rule: The limits.
    """

    user_id: str
    rule: QuotaRule


@frozen
class AdmissionCheck:
    """All that one turn asks of the server's rules, in one transaction.

    Attributes:
        server_id: The server; in a direct message the user's id stands for it.
        trigger_key: What makes it idempotent: the same key takes the same admission.
        holder: The turn that holds the reservation.
        cooldown: None where the turn takes none.
        quota: None where it does not apply.
        expires_in_s: When an unsettled reservation comes back; longer than any turn.
    """

    server_id: str
    trigger_key: str
    holder: str
    cooldown: CooldownCheck | None
    quota: QuotaCheck | None
    expires_in_s: float = 1800.0


class RefusalKind(Enum):
    """Which rule refused."""

    COOLDOWN = "cooldown"
    USER_QUOTA = "user_quota"
    SERVER_QUOTA = "server_quota"
    MEMBER_KEYS = "member_keys"
    CHANNEL_BUSY = "channel_busy"
    UNREACHABLE = "unreachable"
    STORE = "store"


@frozen
class Reservation:
    """A unit of the server's quota, kept for a turn until it is committed or released."""

    server_id: str
    trigger_key: str
    holder: str


@frozen
class Granted:
    """The server lends its models; `reservation` is None where no quota applies."""

    reservation: Reservation | None = None


@frozen
class Refused:
    """The server does not.

    Attributes:
        kind: Which rule refused.
        until: When it would no longer refuse, or None if nobody knows.
        already_said: Whether the same trigger was told so before.
        cause: What went wrong, where the rule could not be asked; redacted.
    """

    kind: RefusalKind
    until: datetime | None = None
    already_said: bool = False
    cause: str = ""

    def next_in_s(self, now: datetime) -> float | None:
        """In how many seconds it would no longer refuse, or None."""
        return None if self.until is None else max(0.0, (self.until - now).total_seconds())


Admission = Granted | Refused


def cooldown_applies(occasion: Occasion) -> bool:
    """Whether a turn is subject to the message cooldown."""
    return not (occasion.is_stop_response or occasion.is_persona_job or occasion.is_self_message)


def quota_applies(occasion: Occasion) -> bool:
    """Whether a turn that the server pays for is subject to the text quota.

    Serves planning and the server route alike.
    """
    return occasion.quota_source is QuotaSource.USER and not (
        occasion.is_dm or occasion.is_stop_response or occasion.is_reminder
    )


def cooldown_check(
    rule: CooldownRule, occasion: Occasion, *, user_id: str, channel_id: str
) -> CooldownCheck | None:
    """The cooldown that a turn takes, or None."""
    if rule.type is CooldownType.OFF or not cooldown_applies(occasion):
        return None
    scopes = {
        CooldownType.PER_USER: f"user:{user_id}",
        CooldownType.PER_CHANNEL: f"channel:{channel_id}",
    }
    exempt = occasion.by_manager and rule.type is not CooldownType.STRICT
    return CooldownCheck(scope=scopes.get(rule.type, ""), length_s=rule.length_s, is_exempt=exempt)


def quota_check(rule: QuotaRule, occasion: Occasion, *, user_id: str) -> QuotaCheck | None:
    """The quota unit that a turn reserves, or None."""
    if not rule.limits_anything or not quota_applies(occasion):
        return None
    return QuotaCheck(user_id=user_id, rule=rule)


def next_utc_midnight(now: datetime) -> datetime:
    """When the daily limit starts again."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def utc_day(now: datetime) -> date:
    """The day that a daily limit counts for; `now` is in UTC."""
    return now.date()
