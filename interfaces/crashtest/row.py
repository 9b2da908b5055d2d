"""What is run, and what comes of it: a cell of the scorecard, and its row in the report."""

from collections.abc import Callable

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
