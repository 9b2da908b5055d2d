import pytest

from turnkeeper.application.ports.old_turns import OldTurns, Pruned
from turnkeeper.application.prune import Prune
from turnkeeper.domain.errors import SettingsError


class Batches(OldTurns):
    """A store that has so many turns to forget."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.asked: list[tuple[float, int]] = []

    def prune(self, *, older_than_s: float, limit: int) -> Pruned:
        self.asked.append((older_than_s, limit))
        some = min(self.turns, limit)
        self.turns -= some
        return Pruned(turns=some)


def test_it_forgets_batch_by_batch_until_nothing_is_left() -> None:
    store = Batches(5)

    assert Prune(old=store, batch=2)(days=2) == Pruned(turns=5)
    assert store.asked == [(2 * 86_400.0, 2)] * 4


def test_what_still_counts_is_not_forgotten() -> None:
    store = Batches(5)

    with pytest.raises(SettingsError, match=r"0.5 days are too few"):
        Prune(old=store)(days=0.5)
    assert store.asked == []
