"""``make bench-check``: how many calls a turn takes, which no noise can change.

Fails where a turn calls more than the baseline allows, and says so where it calls far less, so
that the baseline follows. ``python -m benchmarks.check --write`` writes a new baseline.
"""

import json
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

from benchmarks.happy_turn import HappyTurn
from benchmarks.run import messages
from benchmarks.tuned_floor import TunedFloor
from benchmarks.wall_process import walled

BASELINE = Path(__file__).with_name("baseline.json")
ALLOWED = 1.03  # so much more than the baseline; libraries differ a little between versions
ROUNDS, WARM_UP = 5, 3


class Calls:
    """Counts the calls of functions, Python's and C's, in all threads that begin after it."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "Calls":
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def of(self, way: Callable[[], object]) -> int:
        """How many calls it takes."""
        before = self.count
        way()
        return self.count - before

    def _seen(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            self.count += 1


@contextmanager
def ways(tokens: int, history: int, models: tuple[str, ...]) -> Iterator[dict[str, HappyTurn]]:
    """turnkeeper's turn, and the floor's."""
    with (
        tempfile.TemporaryDirectory() as folder,
        walled(tokens) as url,
        closing(TunedFloor(url, "answers", messages(history))) as floor,
        closing(HappyTurn(url, models, messages(history), data_dir=Path(folder))) as ours,
    ):
        yield {"floor": floor, "turnkeeper": ours}  # type: ignore[dict-item]


CASES: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "1 token, 9 messages": (1, 9, ("answers",)),
    "1 token, 200 messages": (1, 200, ("answers",)),
    "rescued after a 429": (1, 9, ("refuses", "answers")),
    "2,000 tokens, 9 messages": (2000, 9, ("answers",)),
}


def counted() -> dict[str, dict[str, int]]:
    """The calls of each case, medians of a few turns."""
    table: dict[str, dict[str, int]] = {}
    for name, case in CASES.items():
        with Calls() as calls, ways(*case) as both:
            for _ in range(WARM_UP):
                for way in both.values():
                    way.turn()
            table[name] = {
                who: round(statistics.median(calls.of(way.turn) for _ in range(ROUNDS)))
                for who, way in both.items()
            }
    return table


def main() -> None:
    """Count, print, compare."""
    table = counted()
    if "--write" in sys.argv:
        BASELINE.write_text(json.dumps(table, indent=2) + "\n")
    baseline = json.loads(BASELINE.read_text())
    print(f"{'calls a turn':28}{'floor':>8}{'ours':>8}{'baseline':>10}{'×':>7}")
    too_many = []
    for name, row in table.items():
        known, now = baseline[name]["turnkeeper"], row["turnkeeper"]
        print(f"{name:28}{row['floor']:8}{now:8}{known:10}{now / known:7.2f}")
        if now > known * ALLOWED:
            too_many.append(name)
    if too_many:
        raise SystemExit(f"more calls than the baseline allows: {', '.join(too_many)}")


if __name__ == "__main__":
    main()
