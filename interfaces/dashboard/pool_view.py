"""What is shown of each pool: its keys as they are now, and what befell them."""

from datetime import timedelta

from turnkeeper.application.saved_pools import KeyView, PoolView
from turnkeeper.domain.failure import QUOTA_REST_S
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.key_condition import FIT, KeyState
from turnkeeper.domain.pool_history import KeyTrouble, PoolHistory, PoolKey, Window, pool_history
from turnkeeper.domain.waterfall_rows import Tone
from turnkeeper.interfaces.dashboard.drawing import (
    DrawnLevel,
    DrawnMark,
    Place,
    drawn_levels,
    drawn_marks,
    placed,
)
from turnkeeper.interfaces.pool_words import advices, in_words, lending, limits

LOOK_BACK = timedelta(seconds=4 * QUOTA_REST_S)
"""What was booked so long before a window may still reach into it."""
MOST_MARKS = 50
MOST_POOLS = 50


TONES = {
    KeyState.FREE: Tone.GOOD,
    KeyState.PROBE_DUE: Tone.GOOD,
    KeyState.RESTING: Tone.UNDONE,
    KeyState.PROBED: Tone.UNDONE,
    KeyState.REFUSED: Tone.BAD,
    KeyState.SHUT: Tone.BAD,
    KeyState.OFF: Tone.NEUTRAL,
}
"""How a state looks."""


@frozen
class DrawnKey:
    """A key as it is now, and what befell it.

    Attributes:
        view: The key.
        stands: How it stands, in words.
        limits: For which models it does not, in words.
        tone: How that looks.
        advices: What to tidy up about it.
        known: Since when it is there.
        marks: What befell it.
    """

    view: KeyView
    stands: str
    limits: str
    tone: str
    advices: tuple[str, ...]
    known: Place
    marks: tuple[DrawnMark, ...]


@frozen
class DrawnPool:
    """All keys of one owner for one provider.

    Attributes:
        pool: The pool.
        lending: Whether a key can be lent, in words.
        free: How many keys are fit for use now.
        keys: The keys, by number.
        levels: How many were free, over time.
        latest: What befell the keys, the latest first; at most `MOST_MARKS`.
    """

    pool: PoolView
    lending: str
    free: int
    keys: tuple[DrawnKey, ...]
    levels: tuple[DrawnLevel, ...]
    latest: tuple[DrawnMark, ...]


@frozen
class DrawnPools:
    """The pools that a page shows.

    Attributes:
        pools: Those without a free key first, then those with some that are not.
        left_out: How many more there are.
    """

    pools: tuple[DrawnPool, ...]
    left_out: int


def drawn_pools(
    pools: tuple[PoolView, ...],
    troubles: tuple[KeyTrouble, ...],
    window: Window,
    *,
    most: int = MOST_POOLS,
) -> DrawnPools:
    """The pools, those that need somebody first."""
    of_key: dict[int, list[KeyTrouble]] = {}
    for trouble in troubles:
        of_key.setdefault(trouble.booked.key_id, []).append(trouble)
    needy = sorted(pools, key=_fitness)
    drawn = tuple(
        _pool(pool, tuple(t for one in pool.keys for t in of_key.get(one.saved.key.id, ())), window)
        for pool in needy[:most]
    )
    return DrawnPools(pools=drawn, left_out=len(pools) - len(drawn))


def _fitness(pool: PoolView) -> int:
    """0 where no key is free, 1 where some are, 2 where all are."""
    free = [key.condition.state in FIT for key in pool.keys]
    return any(free) + all(free)


def _pool(pool: PoolView, troubles: tuple[KeyTrouble, ...], window: Window) -> DrawnPool:
    history = pool_history(tuple(map(_pool_key, pool.keys)), troubles, window)
    keys = tuple(_key(view, history) for view in pool.keys)
    marks = [mark for key in keys for mark in key.marks]
    return DrawnPool(
        pool=pool,
        lending=lending(pool, window.until),
        free=sum(view.condition.state in FIT for view in pool.keys),
        keys=keys,
        levels=drawn_levels(history, len(keys)),
        latest=tuple(sorted(marks, key=lambda one: one.mark.since, reverse=True))[:MOST_MARKS],
    )


def _pool_key(view: KeyView) -> PoolKey:
    saved = view.saved
    return PoolKey(
        key_id=saved.key.id,
        since=saved.created_at,
        is_refused=saved.key.health.disabled,
        is_off=view.condition.state in {KeyState.OFF, KeyState.SHUT},
    )


def _key(view: KeyView, history: PoolHistory) -> DrawnKey:
    now = history.window.until
    return DrawnKey(
        view=view,
        stands=in_words(view.condition),
        limits=limits(view, now),
        tone=TONES[view.condition.state].value,
        advices=advices(view),
        known=placed(view.saved.created_at, now, history.window),
        marks=drawn_marks(history, view.saved.key.id),
    )
