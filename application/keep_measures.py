"""Carries what was learnt of models' token counts from one process to the next."""

from turnkeeper.application.ports.token_counter import Learner
from turnkeeper.application.ports.token_measures import TokenMeasures
from turnkeeper.domain.errors import StoreError


class KeepMeasures:
    """Loads measures once and saves what has changed. Never on a turn's way."""

    def __init__(self, *, counter: Learner, measures: TokenMeasures) -> None:
        self._counter = counter
        self._measures = measures

    def load(self) -> None:
        """Let the counter know what was learnt before.

        Raises:
            StoreError: It cannot be read.
        """
        self._counter.recall(self._measures.load())

    def flush(self) -> str | None:
        """Save what was learnt since; returns why it has to wait, or None."""
        learnt = self._counter.learnt()
        if not learnt:
            return None
        try:
            self._measures.save(learnt)
        except StoreError as error:
            return str(error)  # what is learnt next is saved with it
        return None
