"""A pool of keys that finds the next one without a look at each."""

from bisect import bisect_right, insort
from collections.abc import Collection
from datetime import UTC, datetime
from itertools import islice

from turnkeeper.domain.rotation import KeyId, RotationKey

EPOCH = datetime.fromtimestamp(0, UTC)

_Place = tuple[datetime, int, KeyId]


class KeyPool:
    """The keys of one owner and provider, by their use and by when they are back.

    Not safe to use from several threads at once.

    Args:
        few: So many keys are looked at one by one, which is quicker than to keep their orders.
    """

    def __init__(self, *, few: int = 16) -> None:
        self._few = few
        self._is_ordered = False
        self._keys: dict[KeyId, RotationKey] = {}
        # In a larger pool each key is in one of these, or in none while it cannot be lent at all.
        self._idle: list[_Place] = []  # fit for any model and unused: only the first matters
        self._rests: list[_Place] = []  # matters once its rest is over
        self._others: set[KeyId] = set()

    @property
    def ids(self) -> tuple[KeyId, ...]:
        """All keys, in the order in which they were added."""
        return tuple(self._keys)

    def put(self, key: RotationKey) -> None:
        """Add a key, or put it in the place of what it was."""
        if self._is_ordered:
            self._put_in_order(key)
            return
        keys = self._keys
        keys[key.id] = key
        if len(keys) > self._few:
            self._is_ordered = True
            for each in keys.values():
                self._list(each)

    def remove(self, key_id: KeyId) -> None:
        key = self._keys.pop(key_id)
        if self._is_ordered:
            self._unlist(key)

    def whole(self) -> Collection[RotationKey]:
        """All keys, as long as none is put or removed."""
        return self._keys.values()

    def lendable(self, without: frozenset[KeyId], now: datetime) -> Collection[RotationKey]:
        """What `next_key` has to see; if it chooses none of it, there is none."""
        if not self._is_ordered:
            return self._keys.values()
        idle = (key_id for _, _, key_id in self._idle if key_id not in without)
        back = self._rests[: bisect_right(self._rests, now, key=lambda place: place[0])]
        ids = (*self._others, *(key_id for _, _, key_id in back), *islice(idle, 1))
        return [self._keys[key_id] for key_id in ids]

    def _put_in_order(self, key: RotationKey) -> None:
        before = self._keys.get(key.id)
        if before is not None:
            self._unlist(before)
        self._keys[key.id] = key
        self._list(key)

    def _list(self, key: RotationKey) -> None:
        ordered = self._order_of(key)
        if ordered is not None:
            insort(ordered, _place(key))
        elif key.is_main or (key.enabled and not key.health.disabled):
            self._others.add(key.id)

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
