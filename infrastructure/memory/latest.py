"""A dict that keeps what came last."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_KEPT = 10_000


class Latest(dict[K, V]):
    """Forgets what was added first once it holds more than its limit. Only ``[]`` adds."""

    def __init__(self, limit: int = MAX_KEPT) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self._limit:
            del self[next(iter(self))]
