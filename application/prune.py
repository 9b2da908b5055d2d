"""Forgets turns that are long over, little by little."""

from collections.abc import Callable

from turnkeeper.application.ports.old_turns import OldTurns, Pruned
from turnkeeper.domain.errors import SettingsError

BATCH = 500
DAY_S = 86_400.0


class Prune:
    """Forgets in batches, so that nobody waits for it."""

    def __init__(self, *, old: OldTurns, batch: int = BATCH) -> None:
        self._old = old
        self._batch = batch

    def __call__(self, *, days: float, told: Callable[[int], None] = lambda done: None) -> Pruned:
        """Forget all that is older; a turn that was forgotten would be run again if it came back.

        Args:
            told: Called after each batch with how many turns are forgotten by then.

        Raises:
            SettingsError: It would forget what still counts.
            StoreError: The store is away; what was forgotten by then stays so.
        """
        if days < 1:
            raise SettingsError(f"{days:g} days are too few: a quota's day still counts; keep 1")
        pruned = Pruned()
        while not (batch := self._batch_of(days)).is_nothing:
            pruned = pruned.plus(batch)
            told(pruned.turns)
        return pruned

    def _batch_of(self, days: float) -> Pruned:
        return self._old.prune(older_than_s=days * DAY_S, limit=self._batch)
