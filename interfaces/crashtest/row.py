"""What is run, and what comes of it: a cell of the scorecard, and its row in the report."""

from collections.abc import Callable

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.frozen import frozen
from turnkeeper.interfaces.crashtest.observed import Observed
from turnkeeper.interfaces.crashtest.score import Score

Result = tuple[Score, Observed | None]
"""A score, and what it was made of; None where nothing was run."""


@frozen
class Cell:
    """One fault in one dialect.

    Attributes:
        fault: What the fault is known by.
        name: What it is, in a few words.
        run: Meets it.
        weight_s: How long that takes, about; the longest are begun first.
    """

    fault: str
    name: str
    dialect: str
    run: Callable[[], Result]
    weight_s: float = 0.0


@frozen
class Row:
    """How a fault was survived in a dialect."""

    fault: str
    name: str
    dialect: str
    score: Score
    seen: Observed | None

    @property
    def may_be_the_machines(self) -> bool:
        """Whether only a slow machine may be to blame: it was late, or something timed out."""
        if self.score.counts_as_passed:
            return False
        timed_out = self.seen is not None and FailureKind.TIMEOUT in self.seen.caller.failures
        return self.score.is_only_late or timed_out
