"""A pool of keys that finds the next one without a look at each."""

from bisect import bisect_right, insort
from datetime import UTC, datetime
from itertools import islice

from turnkeeper.domain.rotation import KeyId, RotationKey, RotationPool

EPOCH = datetime.fromtimestamp(0, UTC)

_Place = tuple[datetime, int, KeyId]


class KeyPool:
    """The keys of one owner and provider, by their use and by when they are back.

    Not safe to use from several threads at once.
    """

    def __init__(self) -> None:
        self._keys: dict[KeyId, RotationKey] = {}
        # Each key is in one of these three, or in none as long as it cannot be lent at all.
        self._idle: list[_Place] = []  # fit for any model and unused: only the first matters
        self._rests: list[_Place] = []  # matters once its rest is over
        self._others: set[KeyId] = set()

    @property
    def ids(self) -> tuple[KeyId, ...]:
        """All keys, in the order in which they were added."""
        return tuple(self._keys)

    def put(self, key: RotationKey) -> None:
        """Add a key, or put it in the place of what it was."""
        if (old := self._keys.get(key.id)) is not None:
            self._unlist(old)
        self._keys[key.id] = key
        ordered = self._order_of(key)
        if ordered is not None:
            insort(ordered, _place(key))
        elif key.is_main or (key.enabled and not key.health.disabled):
            self._others.add(key.id)

    def remove(self, key_id: KeyId) -> None:
        self._unlist(self._keys.pop(key_id))

    def whole(self) -> RotationPool:
        return RotationPool(keys=tuple(self._keys.values()))

    def lendable(self, without: frozenset[KeyId], now: datetime) -> RotationPool:
        """What `RotationPool.choose` has to see; if it chooses none of it, there is none."""
        idle = (key_id for _, _, key_id in self._idle if key_id not in without)
        back = self._rests[: bisect_right(self._rests, now, key=lambda place: place[0])]
        ids = (*self._others, *(key_id for _, _, key_id in back), *islice(idle, 1))
        return RotationPool(keys=tuple(self._keys[key_id] for key_id in ids))

    def _unlist(self, key: RotationKey) -> None:
        ordered = self._order_of(key)
        if ordered is not None:
            del ordered[bisect_right(ordered, _place(key)) - 1]
        self._others.discard(key.id)

    def _order_of(self, key: RotationKey) -> list[_Place] | None:
        health = key.health
        if key.is_main or not key.enabled or health.disabled:
            return None
        if health.rests_until is not None:
            return self._rests
        return None if health.in_flight or health.model_rests else self._idle


def _place(key: RotationKey) -> _Place:
    return key.health.rests_until or EPOCH, key.health.usage_count, key.id
