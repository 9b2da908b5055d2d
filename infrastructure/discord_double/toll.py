"""What each call costs: its buckets, and the headers that tell of them."""

import hashlib
from datetime import timedelta

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.buckets import Buckets, Standing
from turnkeeper.infrastructure.discord_double.call import Call, Route
from turnkeeper.infrastructure.discord_double.fault import RateLimited
from turnkeeper.infrastructure.discord_double.limits import (
    DELETE,
    DELETE_OLD,
    DELETE_YOUNG,
    OLD_S,
    YOUNG_S,
    Limits,
)
from turnkeeper.infrastructure.discord_double.routes import OF_INTERACTIONS
from turnkeeper.infrastructure.discord_double.snowflakes import made_at
from turnkeeper.infrastructure.discord_double.state import State
from turnkeeper.infrastructure.wall.answer import NO_PAIRS, Pairs

HIDDEN = frozenset(("execute_webhook", "edit_webhook_message"))
INVALID = ("invalid",)
CLAIMED_RESET_S = 1.5  # of a bucket that is not the one that was hit


@frozen
class Charge:
    """What a call has cost.

    Attributes:
        headers: Of its bucket; none if it has no bucket.
        limited: The 429 it meets; None if it may go on.
    """

    headers: Pairs = NO_PAIRS
    limited: RateLimited | None = None


class Toll:
    """Charges calls, and counts refusals; used under the lock of the state."""

    def __init__(self, state: State, limits: Limits) -> None:
        self._state = state
        self._limits = limits
        self._buckets = Buckets()

    def charge(self, route: Route, call: Call) -> Charge:
        """Charge one call."""
        if route.name not in OF_INTERACTIONS:
            overall = self._buckets.spend(("overall", route.auth), self._limits.overall, self._now)
            if overall.over:
                return Charge(limited=_limited(overall, scope_is_global=True))
        name = bucket_of(self._state, call)
        window = self._limits.buckets.get(name)
        if window is None:
            return Charge(limited=self._hidden(call))
        major = tuple(call.params[one] for one in route.major)
        own = self._buckets.spend((name, *major), window, self._now)
        limited = _limited(own) if own.over else self._hidden(call)
        return Charge(headers=self._headers(name, own), limited=limited)

    def claimed(self, limit: RateLimited, call: Call) -> Pairs:
        """The headers of a 429 that no bucket of ours has caused."""
        if limit.remaining is None:
            return NO_PAIRS
        standing = Standing(
            calls=5,
            remaining=limit.remaining,
            reset_after_s=CLAIMED_RESET_S if limit.remaining else limit.retry_after_s,
            over=True,
        )
        return self._headers(bucket_of(self._state, call), standing)

    def count_invalid(self) -> None:
        """Count one of the refusals that lead to a ban."""
        self._buckets.spend(INVALID, self._limits.invalid, self._now)

    @property
    def invalid(self) -> int:
        """How many refusals count at present."""
        return self._buckets.used(INVALID, self._limits.invalid, self._now)

    @property
    def is_banned(self) -> bool:
        """Whether there were too many."""
        return self.invalid >= self._limits.invalid.calls

    @property
    def _now(self) -> float:
        return self._state.clock.monotonic()

    def _hidden(self, call: Call) -> RateLimited | None:
        webhook = self._state.webhooks.get(call.params.get("webhook_id", ""))
        if webhook is None or call.route not in HIDDEN:
            return None
        key = ("hidden", webhook.channel_id)
        standing = self._buckets.spend(key, self._limits.hidden, self._now)
        return _limited(standing) if standing.over else None

    def _headers(self, name: str, standing: Standing) -> Pairs:
        reset = self._state.clock.now() + timedelta(seconds=standing.reset_after_s)
        return (
            ("X-RateLimit-Limit", str(standing.calls)),
            ("X-RateLimit-Remaining", str(standing.remaining)),
            ("X-RateLimit-Reset", f"{reset.timestamp():.3f}"),
            ("X-RateLimit-Reset-After", f"{standing.reset_after_s:.3f}"),
            ("X-RateLimit-Bucket", hashlib.sha256(name.encode()).hexdigest()[:32]),
        )


def bucket_of(state: State, call: Call) -> str:
    """The bucket of a call: its route, and for deletes the age of what is deleted."""
    if call.route != "delete_message":
        return call.route
    message = state.messages.get(call.params["message_id"])
    if message is None:
        return DELETE_YOUNG
    age_s = (state.clock.now() - made_at(message.id)).total_seconds()
    if age_s < YOUNG_S:
        return DELETE_YOUNG
    return DELETE if age_s <= OLD_S else DELETE_OLD


def _limited(standing: Standing, *, scope_is_global: bool = False) -> RateLimited:
    return RateLimited(
        retry_after_s=standing.reset_after_s,
        scope="global" if scope_is_global else "user",
        remaining=standing.remaining,
    )
