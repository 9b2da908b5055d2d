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


def paired(
    small: Callable[[], object], large: Callable[[], object], *, rounds: int, turns: int
) -> dict[str, float]:
    """How two ways compare that take turns one by one: medians of the rounds.

    Of each round it is the quiet tenth: whatever else the machine does only ever adds.
    """
    seen = [_quiet_tenths(small, large, turns) for _ in range(rounds)]
    ratios = sorted(large_s / small_s for small_s, large_s in seen)
    return {
        "small_us": statistics.median(one for one, _ in seen) * 1e6,
        "large_us": statistics.median(one for _, one in seen) * 1e6,
        "ratio": statistics.median(ratios),
        "least": ratios[0],
        "most": ratios[-1],
    }


def _quiet_tenths(
    small: Callable[[], object], large: Callable[[], object], turns: int
) -> tuple[float, float]:
    seen: tuple[list[float], list[float]] = ([], [])
    for number in range(turns):
        both = ((seen[0], small), (seen[1], large))
        for taken, way in both if number % 2 else both[::-1]:
            began_s = time.perf_counter()
            way()
            taken.append(time.perf_counter() - began_s)
    return sorted(seen[0])[turns // 10], sorted(seen[1])[turns // 10]
