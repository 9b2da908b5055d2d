"""A dict that keeps what came last."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_KEPT = 10_000


class Latest(OrderedDict[K, V]):
    """Forgets what was added first once it holds more than its limit. Only ``[]`` adds.

    A plain dict looks for its first key among the places of all that were before it.
    """

    def __init__(self, limit: int = MAX_KEPT) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        OrderedDict.__setitem__(self, key, value)
        if len(self) > self._limit:
            self.popitem(last=False)
