"""What is shown of each pool: its keys as they are now, and what befell them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import groupby

from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.domain.failure import QUOTA_REST_S
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.pool_history import KeyTrouble, PoolHistory, PoolKey, Window, pool_history
from turnkeeper.interfaces.dashboard.drawing import (
    DrawnLevel,
    DrawnMark,
    Place,
    drawn_levels,
    drawn_marks,
    placed,
)

LOOK_BACK = timedelta(seconds=4 * QUOTA_REST_S)
"""What was booked so long before a window may still reach into it."""
MOST_MARKS = 50
MOST_POOLS = 50


@frozen
class KeyView:
    """A key as it is now.

    Attributes:
        saved: The key.
        state: In words.
        tone: How that looks: good, bad, undone or neutral.
        limited: The model that was limited, where that is why it rests.
        back_at: When it is free again, where that is known and to come.
        known: Since when it is there.
        marks: What befell it.
    """

    saved: SavedKey
    state: str
    tone: str
    limited: str | None
    back_at: datetime | None
    known: Place
    marks: tuple[DrawnMark, ...]


@frozen
class PoolView:
    """All keys of one owner for one provider.

    Attributes:
        owner: Whose they are.
        provider: For which provider.
        keys: The keys, by number.
        levels: How many were free, over time.
        history: The same in numbers.
        latest: What befell the keys, the latest first; at most `MOST_MARKS`.
        next_at: When the first key is back, where none is free.
    """

    owner: str
    provider: str
    keys: tuple[KeyView, ...]
    levels: tuple[DrawnLevel, ...]
    history: PoolHistory
    latest: tuple[DrawnMark, ...]
    next_at: datetime | None

    @property
    def free(self) -> int:
        """How many keys are free now."""
        return sum(key.tone == "good" for key in self.keys)


@frozen
class PoolViews:
    """The pools that a page shows.

    Attributes:
        views: Those without a free key first, then those with some that are not.
        left_out: How many more there are.
    """

    views: tuple[PoolView, ...]
    left_out: int


Pool = tuple[SavedKey, ...]


def pool_views(
    saved: Iterable[SavedKey],
    troubles: tuple[KeyTrouble, ...],
    window: Window,
    *,
    most: int = MOST_POOLS,
) -> PoolViews:
    """The pools, those that need somebody first.

    Args:
        saved: By owner and provider.
    """
    of_key: dict[int, list[KeyTrouble]] = {}
    for trouble in troubles:
        of_key.setdefault(trouble.booked.key_id, []).append(trouble)
    by_pool = groupby(saved, key=lambda one: (one.owner, one.provider))
    pools = sorted((tuple(keys) for _, keys in by_pool), key=lambda pool: _fit(pool, window.until))
    views = tuple(
        _view(pool, tuple(t for one in pool for t in of_key.get(one.key.id, ())), window)
        for pool in pools[:most]
    )
    return PoolViews(views=views, left_out=len(pools) - len(views))


def _fit(pool: Pool, now: datetime) -> int:
    """0 where no key is free, 1 where some are, 2 where all are."""
    free = [_state(one, now)[1] == "good" for one in pool]
    return any(free) + all(free)


def _view(pool: Pool, troubles: tuple[KeyTrouble, ...], window: Window) -> PoolView:
    history = pool_history(tuple(map(_pool_key, pool)), troubles, window)
    keys = tuple(_key_view(one, history, window.until) for one in pool)
    marks = [mark for key in keys for mark in key.marks]
    back = [key.back_at for key in keys if key.back_at is not None]
    is_dry = not any(key.tone == "good" for key in keys)
    return PoolView(
        owner=str(pool[0].owner),
        provider=pool[0].provider,
        keys=keys,
        levels=drawn_levels(history, len(keys)),
        history=history,
        latest=tuple(sorted(marks, key=lambda one: one.mark.since, reverse=True))[:MOST_MARKS],
        next_at=min(back) if is_dry and back else None,
    )


def _pool_key(saved: SavedKey) -> PoolKey:
    return PoolKey(
        key_id=saved.key.id,
        since=saved.created_at,
        is_refused=saved.key.health.disabled,
        is_off=not saved.key.enabled,
    )


def _key_view(saved: SavedKey, history: PoolHistory, now: datetime) -> KeyView:
    state, tone = _state(saved, now)
    rests_until = saved.key.health.rests_until
    is_resting = tone == "undone" and rests_until is not None and rests_until > now
    return KeyView(
        saved=saved,
        state=state,
        tone=tone,
        limited=saved.key.health.rest_model if is_resting else None,
        back_at=rests_until if is_resting else None,
        known=placed(saved.created_at, now, history.window),
        marks=drawn_marks(history, saved.key.id),
    )


def _state(saved: SavedKey, now: datetime) -> tuple[str, str]:
    """How a key is now, and how that looks."""
    health = saved.key.health
    if not saved.opens:
        return "cannot be decrypted", "bad"
    if not saved.key.enabled:
        return "switched off", "neutral"
    if health.disabled:
        return "refused by the provider", "bad"
    if health.rests_until is None:
        return "free", "good"
    if health.rests_until > now:
        return "resting", "undone"
    return "free, to be probed", "good"
