"""Which of an owner's keys is used next, and what an outcome does to it."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, NewType

from turnkeeper.domain.failure import (
    REACTIONS,
    CooldownScope,
    Failure,
    FailureKind,
    KeyErrorClass,
    key_rest_s,
)
from turnkeeper.domain.frozen import frozen, maker, replace
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Secret

KeyId = NewType("KeyId", int)

PROBE_S = 15.0
IN_FLIGHT_S = 900.0
_IN_FLIGHT = timedelta(seconds=IN_FLIGHT_S)
ERROR_TEXT_LIMIT = 500
_NOT_THE_KEY = (CooldownScope.MODEL, CooldownScope.NOTHING)


@frozen
class Lease:
    """A key lent to one invocation; not exclusive.

    Attributes:
        owner: Whose key it is.
        provider: For which provider.
        key_id: Which key.
        secret: The key itself.
        leased_at: When, by the store's clock; a success clears only what was set before.
        is_main: Whether it is the owner's saved key rather than an additional one.
        is_probe: Whether this is the one claimed probe after a cooldown.
    """

    owner: Owner
    provider: str
    key_id: KeyId
    secret: Secret
    leased_at: datetime
    is_main: bool = False
    is_probe: bool = False


@frozen
class ModelRest:
    """A key that rests for one model only."""

    model: str
    until: datetime


@frozen
class KeyHealth:
    """What is known about a key from its use.

    Attributes:
        usage_count: Successes.
        in_flight: Leases that were not booked yet.
        last_leased_at: When it was last lent.
        error_count: Errors since the last success.
        rests_until: Not lent before; past and not cleared means one probe may try it.
        rest_set_at: When that was set.
        rest_model: The model that was limited; None if the rest concerns all models.
        probe_until: Somebody is probing until then.
        model_rests: Models it may not be used for, until when.
        disabled: Refused by the provider; comes back when it is edited.
        last_error: Class and redacted text of the last error.
    """

    usage_count: int = 0
    in_flight: int = 0
    last_leased_at: datetime | None = None
    error_count: int = 0
    rests_until: datetime | None = None
    rest_set_at: datetime | None = None
    rest_model: str | None = None
    probe_until: datetime | None = None
    model_rests: tuple[ModelRest, ...] = ()
    disabled: bool = False
    last_error: tuple[KeyErrorClass, str] | None = None

    def free_at(self, model: str, now: datetime) -> datetime | None:
        """When it may be lent for the model: now or later, or None while it is disabled."""
        if self.disabled:
            return None
        if self.rests_until is None and not self.model_rests:  # as with most keys
            return now
        instants = [rest.until for rest in self.model_rests if rest.model == model]
        if self.rests_until is not None:
            instants.append(self.rests_until)
            if self.probe_until is not None and not self._rests_for_another(model):
                instants.append(self.probe_until)
        return max([now, *instants])

    def is_half_open(self, model: str, now: datetime) -> bool:
        """Whether the model's rest is over and nothing has shown yet that it works again.

        Another model's rest leaves nothing to be shown once it is over.
        """
        is_over = self.rests_until is not None and self.rests_until <= now
        return is_over and not self._rests_for_another(model)

    def spares(self, model: str, now: datetime) -> bool:
        """Whether nothing but a rest of another model keeps it from this one."""
        if not self._rests_for_another(model):
            return False
        return replace(self, rests_until=None).free_at(model, now) == now

    def is_cleared_by(self, model: str, leased_at: datetime) -> bool:
        """Whether a success of that model, with a lease of then, ends its rest."""
        is_newer = self.rest_set_at is not None and self.rest_set_at > leased_at
        return not (is_newer or self._rests_for_another(model))

    def _rests_for_another(self, model: str) -> bool:
        return self.rest_model is not None and self.rest_model != model

    def load(self, now: datetime) -> int:
        """Leases under way; those of turns that must have ended are not counted."""
        stamp = self.last_leased_at
        if not self.in_flight or stamp is None or now - stamp > _IN_FLIGHT:
            return 0
        return self.in_flight


_new_key_health = maker(KeyHealth)


@frozen
class RotationKey:
    """One key of a pool.

    Attributes:
        id: Its id; ties are broken by it.
        is_main: Whether it stands for the owner's saved key.
        enabled: Whether it takes part in the rotation. The main key is still the last resort.
    """

    id: KeyId
    is_main: bool = False
    enabled: bool = True
    health: KeyHealth = KeyHealth()


@frozen
class Chosen:
    """The key to lend."""

    key: RotationKey
    is_probe: bool


_new_chosen = maker(Chosen)


@frozen
class NothingFree:
    """No key can be lent; the soonest comes back then, or never by itself (None)."""

    next_at: datetime | None


@frozen
class RotationPool:
    """The saved keys of one owner for one provider."""

    keys: tuple[RotationKey, ...] = ()

    def choose(
        self, *, model: str, without: frozenset[KeyId], now: datetime
    ) -> Chosen | NothingFree:
        """The next key: a due probe first, then the least loaded, least used, lowest id.

        Where none in rotation is free it is the main key, last of all while that rests for
        another model.
        """
        return next_key(self.keys, model=model, without=without, now=now)


def next_key(
    keys: Collection[RotationKey], *, model: str, without: frozenset[KeyId], now: datetime
) -> Chosen | NothingFree:
    """What `RotationPool.choose` chooses of these keys."""
    chosen = key_to_lend(keys, model=model, without=without, now=now)
    return NothingFree(next_at=next_at(keys, model, now)) if chosen is None else chosen


def key_to_lend(
    keys: Collection[RotationKey], *, model: str, without: frozenset[KeyId], now: datetime
) -> Chosen | None:
    """The key that is next; None where none can be lent."""
    free = [
        key
        for key in keys
        if key.id not in without
        and (key.enabled or key.is_main)
        and key.health.free_at(model, now) == now
    ]
    best = free or _spared(keys, model, without, now)
    if not best:
        return None
    key = best[0] if len(best) == 1 else _first_of(best, model, now)
    return _new_chosen(key=key, is_probe=key.health.is_half_open(model, now))


def _spared(
    keys: Iterable[RotationKey], model: str, without: frozenset[KeyId], now: datetime
) -> list[RotationKey]:
    mains = [key for key in keys if key.is_main and key.id not in without]
    return [key for key in mains if key.health.spares(model, now)]


def next_at(keys: Iterable[RotationKey], model: str, now: datetime) -> datetime | None:
    """When the soonest of these keys comes back, of which none can be lent now."""
    lendable = [key for key in keys if key.enabled or key.is_main]
    instants = [at for key in lendable if (at := key.health.free_at(model, now)) is not None]
    return min([at for at in instants if at > now], default=None)


def _first_of(keys: list[RotationKey], model: str, now: datetime) -> RotationKey:
    """One in rotation, if there is any, and of those the one that is due first."""

    def order(key: RotationKey) -> tuple[bool, bool, int, int, int]:
        health = key.health
        is_due = health.is_half_open(model, now)
        return (not key.enabled, not is_due, health.load(now), health.usage_count, key.id)

    return min(keys, key=order)


@frozen
class BookSuccess:
    """The key worked.

    Attributes:
        model: The name of the model that answered; another one's rest goes on.
    """

    model: str = ""


@frozen
class BookNeutral:
    """The outcome says nothing about the key."""


@frozen
class BookError:
    """The key, or the request with it, failed.

    Attributes:
        booked_as: The error class.
        text: Redacted, at most 500 characters.
        scope: What rests.
        rest_s: For how long, from the booking.
        model: The model's name, for a rest that concerns one model.
        spares_other_models: Whether the key's rest may be the model's own.
    """

    booked_as: KeyErrorClass
    text: str
    scope: CooldownScope = CooldownScope.NOTHING
    rest_s: float = 0.0
    model: str = ""
    spares_other_models: bool = False


Booking = BookSuccess | BookNeutral | BookError


def booking_of(failure: Failure, *, model: str, cools: bool) -> BookError:
    """What a failure books on the key that was used.

    Args:
        model: The attempt's model.
        cools: False where the same key is about to be tried again.
    """
    reaction = REACTIONS[failure.kind]
    rests = cools and reaction.rests not in _NOT_THE_KEY
    return BookError(
        booked_as=reaction.booked_as,
        text=failure.message[:ERROR_TEXT_LIMIT],
        scope=reaction.rests if rests else CooldownScope.NOTHING,
        rest_s=key_rest_s(failure) if rests else 0.0,
        model=model,
        spares_other_models=rests and failure.kind is FailureKind.RATE_LIMIT,
    )


def lent(health: KeyHealth, *, now: datetime, is_probe: bool) -> KeyHealth:
    """The health once the key was lent."""
    return replace(
        health,
        in_flight=health.load(now) + 1,
        last_leased_at=now,
        probe_until=now + timedelta(seconds=PROBE_S) if is_probe else health.probe_until,
    )


def booked(
    health: KeyHealth, booking: Booking, lease: Lease, *, now: datetime, keeps_lease: bool
) -> KeyHealth:
    """The health once an outcome of the lease was booked. Rests only ever move later.

    Only the probe's own outcome ends its claim; others do not let a second probe in.
    """
    in_flight = health.in_flight if keeps_lease else max(0, health.in_flight - 1)
    probe_until = None if lease.is_probe else health.probe_until
    match booking:
        case BookSuccess(model=model) if health.is_cleared_by(model, lease.leased_at):
            return _new_key_health(
                usage_count=health.usage_count + 1,
                in_flight=in_flight,
                last_leased_at=health.last_leased_at,
                model_rests=health.model_rests,
                disabled=health.disabled,
            )
        case BookSuccess():
            return replace(
                health,
                usage_count=health.usage_count + 1,
                in_flight=in_flight,
                error_count=0,
                probe_until=probe_until,
            )
        case BookNeutral():
            return replace(health, in_flight=in_flight, probe_until=probe_until)
        case BookError():
            return replace(
                health,
                in_flight=in_flight,
                probe_until=probe_until,
                error_count=health.error_count + 1,
                last_error=(booking.booked_as, booking.text),
                **_rested(health, booking, now),
            )


def _rested(health: KeyHealth, booking: BookError, now: datetime) -> dict[str, Any]:
    """What else a failure changes of the health, by name: what rests, and until when."""
    until = now + timedelta(seconds=booking.rest_s)
    match booking.scope:
        case CooldownScope.KEY:
            later = max(until, health.rests_until or until)
            limited = _limited_model(health, booking, now)
            return {"rests_until": later, "rest_set_at": now, "rest_model": limited}
        case CooldownScope.KEY_DISABLED:
            return {"disabled": True}
        case CooldownScope.KEY_FOR_MODEL:
            return {"model_rests": _with(health.model_rests, booking.model, until)}
        case _:
            return {}


def _limited_model(health: KeyHealth, booking: BookError, now: datetime) -> str | None:
    is_resting = health.rests_until is not None and health.rests_until > now
    if not booking.spares_other_models or (is_resting and health.rest_model != booking.model):
        return None
    return booking.model


def _with(rests: tuple[ModelRest, ...], model: str, until: datetime) -> tuple[ModelRest, ...]:
    earlier = [rest.until for rest in rests if rest.model == model]
    others = tuple(rest for rest in rests if rest.model != model)
    return (*others, ModelRest(model=model, until=max([until, *earlier])))
