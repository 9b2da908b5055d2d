"""Times two ways of doing the same in turn, so that noise hits both."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


class FirstDelta:
    """When the first text came, counted from the start of the turn."""

    def __init__(self) -> None:
        self.began_s = time.perf_counter()
        self.after_s: float | None = None

    def came(self) -> None:
        if self.after_s is None:
            self.after_s = time.perf_counter() - self.began_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """What one turn takes, in seconds.

    Attributes:
        wall_s: Median of the rounds.
        cpu_s: Median of the rounds, this process alone.
        spread: Largest over smallest round, wall.
    """

    wall_s: float
    cpu_s: float
    spread: float


def side_by_side(
    ways: Mapping[str, Callable[[], object]], *, rounds: int, turns: int
) -> dict[str, Timed]:
    """Each way's time a turn; the ways take turns within every round."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            wall_s, cpu_s = time.perf_counter(), time.process_time()
            for _ in range(turns):
                way()
            taken = (time.perf_counter() - wall_s) / turns, (time.process_time() - cpu_s) / turns
            seen[name].append(taken)
    return {name: _summed(rounds_of) for name, rounds_of in seen.items()}


def _summed(rounds: list[tuple[float, float]]) -> Timed:
    walls = [wall for wall, _ in rounds]
    return Timed(
        wall_s=statistics.median(walls),
        cpu_s=statistics.median(cpu for _, cpu in rounds),
        spread=max(walls) / min(walls),
    )
