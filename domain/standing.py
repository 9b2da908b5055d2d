"""What a turn would find if it began now. Looking takes nothing and changes nothing."""

from datetime import datetime

from turnkeeper.domain.admission import (
    Admission,
    AdmissionCheck,
    Granted,
    RefusalKind,
    Refused,
    next_utc_midnight,
)
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.plan import RestScope


@frozen
class Standing:
    """How things stand for one user in one channel, by the store's clock.

    Attributes:
        now: When it was looked.
        away_until: The channel is known as unreachable until then, or None.
        busy_until: Another turn holds the channel until then, if it does not end before, or None.
        cooling_until: The message cooldown lasts until then, or None.
        by_user: Units that the user has used or holds today.
        by_server: Units that all have used or hold in the server's period.
        period_ends_at: When that period ends; None before it has begun.
        resting: Pairs of a model that rests, and until when.
    """

    now: datetime
    away_until: datetime | None = None
    busy_until: datetime | None = None
    cooling_until: datetime | None = None
    by_user: int = 0
    by_server: int = 0
    period_ends_at: datetime | None = None
    resting: tuple[tuple[RestScope, datetime], ...] = ()

    def rests_until(self, scope: RestScope) -> datetime | None:
        """Until when a model rests; None if it does not."""
        return dict(self.resting).get(scope)

    @property
    def in_its_channel(self) -> "Standing":
        """The same for a turn that already speaks in the channel."""
        return replace(self, away_until=None, busy_until=None)

    def admits(self, check: AdmissionCheck | None) -> Admission:
        """What an opening would say; a turn on personal credentials asks no check.

        No unit is reserved, so that what is granted has no reservation.
        """
        if self.away_until is not None:
            return Refused(kind=RefusalKind.UNREACHABLE, until=self.away_until)
        if self.busy_until is not None:
            return Refused(kind=RefusalKind.CHANNEL_BUSY, until=self.busy_until)
        if check is None:
            return Granted()
        return self._cooling(check) or self._exceeding(check) or Granted()

    def _cooling(self, check: AdmissionCheck) -> Refused | None:
        if check.cooldown is None or check.cooldown.is_exempt or self.cooling_until is None:
            return None
        return Refused(kind=RefusalKind.COOLDOWN, until=self.cooling_until)

    def _exceeding(self, check: AdmissionCheck) -> Refused | None:
        if check.quota is None or not check.quota.rule.limits_anything:
            return None
        rule = check.quota.rule
        if 0 < rule.daily_per_user <= self.by_user:
            return Refused(kind=RefusalKind.USER_QUOTA, until=next_utc_midnight(self.now))
        if 0 < rule.server_wide <= self.by_server:
            return Refused(kind=RefusalKind.SERVER_QUOTA, until=self.period_ends_at)
        return None
