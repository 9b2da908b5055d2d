"""How fit the keys of a pool were over time, from what was booked on them."""

from datetime import datetime, timedelta
from enum import Enum
from itertools import pairwise

from turnkeeper.domain.events import KeyBooked
from turnkeeper.domain.failure import CooldownScope
from turnkeeper.domain.frozen import frozen


@frozen(kw_only=False)
class Window:
    """A stretch of the time of day."""

    since: datetime
    until: datetime

    def share(self, at: datetime) -> float:
        """Where an instant lies: 0 at the beginning, 1 at the end, and nothing beyond."""
        passed = (at - self.since) / (self.until - self.since)
        return min(1.0, max(0.0, passed))


@frozen
class KeyTrouble:
    """An error that was booked on a key.

    Attributes:
        at: When it was written.
        turn_id: In which turn it came.
        booked: What was booked.
    """

    at: datetime
    turn_id: str
    booked: KeyBooked


@frozen
class PoolKey:
    """A key of a pool.

    Attributes:
        key_id: Its number.
        since: When it was saved.
        is_refused: Whether the provider refuses it now.
        is_off: Whether it is switched off now.
    """

    key_id: int
    since: datetime
    is_refused: bool = False
    is_off: bool = False


class Fitness(Enum):
    """What an error left behind."""

    RESTING = "resting"
    RESTING_FOR_A_MODEL = "resting for a model"
    REFUSED = "refused"
    FREE = "failed, and stayed free"

    @property
    def is_kept_back(self) -> bool:
        """Whether the key was lent for nothing meanwhile."""
        return self in {Fitness.RESTING, Fitness.REFUSED}


@frozen
class Mark:
    """What an error meant for its key, and for how long.

    Attributes:
        key_id: Which key.
        since: When it came.
        until: When it was over; the same instant where the key stayed free.
        fitness: What it left behind.
        why: The class of the error.
        turn_id: In which turn it came.
    """

    key_id: int
    since: datetime
    until: datetime
    fitness: Fitness
    why: str
    turn_id: str


@frozen
class Level:
    """For how long so many keys of the pool could be lent."""

    since: datetime
    until: datetime
    free: int


@frozen
class PoolHistory:
    """A pool over time.

    Attributes:
        window: From when to when.
        marks: What befell its keys, oldest first.
        levels: How many could be lent, without gaps; none where there was no key yet.
    """

    window: Window
    marks: tuple[Mark, ...]
    levels: tuple[Level, ...]

    @property
    def dry(self) -> tuple[Level, ...]:
        """When none could be lent."""
        return tuple(level for level in self.levels if level.free == 0)


def pool_history(
    keys: tuple[PoolKey, ...], troubles: tuple[KeyTrouble, ...], window: Window
) -> PoolHistory:
    """What befell these keys in that time; the troubles of other keys are passed over."""
    by_id = {key.key_id: key for key in keys}
    marks = tuple(
        _mark(trouble, by_id[trouble.booked.key_id], window)
        for trouble in sorted(troubles, key=lambda one: one.at)
        if trouble.booked.key_id in by_id
    )
    return PoolHistory(window=window, marks=marks, levels=_levels(keys, marks, window))


def _mark(trouble: KeyTrouble, key: PoolKey, window: Window) -> Mark:
    booked = trouble.booked
    until, fitness = trouble.at, Fitness.FREE
    match booked.rests:
        case CooldownScope.KEY.value:
            until, fitness = trouble.at + timedelta(seconds=booked.rest_s), Fitness.RESTING
        case CooldownScope.KEY_FOR_MODEL.value:
            fitness = Fitness.RESTING_FOR_A_MODEL
            until = trouble.at + timedelta(seconds=booked.rest_s)
        case CooldownScope.KEY_DISABLED.value:
            # When somebody mended it is not in the journal.
            until, fitness = window.until if key.is_refused else trouble.at, Fitness.REFUSED
    return Mark(
        key_id=booked.key_id,
        since=trouble.at,
        until=until,
        fitness=fitness,
        why=booked.error_class,
        turn_id=trouble.turn_id,
    )


def _levels(
    keys: tuple[PoolKey, ...], marks: tuple[Mark, ...], window: Window
) -> tuple[Level, ...]:
    counted = tuple(key for key in keys if not key.is_off)
    kept_back = tuple(mark for mark in marks if mark.fitness.is_kept_back)
    turns = {window.since, window.until}
    turns |= {key.since for key in counted}
    turns |= {instant for mark in kept_back for instant in (mark.since, mark.until)}
    instants = sorted(instant for instant in turns if window.since <= instant <= window.until)
    first = min((key.since for key in counted), default=window.until)
    levels: list[Level] = []
    for since, until in pairwise(instants):
        if since < first:
            continue
        busy = {mark.key_id for mark in kept_back if mark.since <= since < mark.until}
        free = sum(key.since <= since and key.key_id not in busy for key in counted)
        if levels and levels[-1].free == free:
            levels[-1] = Level(since=levels[-1].since, until=until, free=free)
        else:
            levels.append(Level(since=since, until=until, free=free))
    return tuple(levels)
