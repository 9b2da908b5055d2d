"""``make bench-check``: whether a turn has become dearer than the baseline says.

* Calls of functions, Python's and C's, which no noise can change: 3 % more are allowed, as
  libraries differ a little between versions.
* Bytecodes, and in how many places they stand (`benchmarks.bytecodes`): the same.
* Machine instructions, by cachegrind, where there is a valgrind: the same.
* CPU time, times the floor's in the same minute. Medians of it move by a tenth from run to run, so
  15 % more are allowed, and a run that has more is repeated once.

``python -m benchmarks.check --write`` writes a new baseline, which belongs into the change that
needs it.
"""

import json
import statistics
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from benchmarks.bytecodes import a_turn
from benchmarks.instructions import instructions
from benchmarks.timing import side_by_side
from benchmarks.ways import CASES, SHORT, ways

NAMES = {
    "calls": "calls",
    "bytecodes": "bytecodes",
    "places": "their places",
    "instructions": "1,000 instructions",
}
BASELINE = Path(__file__).with_name("baseline.json")
ALLOWED, ALLOWED_TIME = 1.03, 1.15
ROUNDS, WARM_UP = 5, 3
TIMED_ROUNDS, TIMED_TURNS = 9, 100

Row = dict[str, int]
Counts = dict[str, dict[str, Row]]


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


def calls() -> dict[str, Row]:
    """The calls of each case, medians of a few turns."""
    table: dict[str, Row] = {}
    for name, case in CASES.items():
        with Calls() as counter, ways(*case) as both:
            for _ in range(WARM_UP):
                for way in both.values():
                    way.turn()
            table[name] = {
                who: round(statistics.median(counter.of(way.turn) for _ in range(ROUNDS)))
                for who, way in both.items()
            }
    return table


def cpu_ratio() -> float:
    """A short turn's CPU time, times the floor's."""
    with ways(*CASES[SHORT]) as both:
        for way in both.values():
            for _ in range(TIMED_TURNS):
                way.turn()
        timed = side_by_side(
            {who: way.turn for who, way in both.items()}, rounds=TIMED_ROUNDS, turns=TIMED_TURNS
        )
    return timed["turnkeeper"].cpu_s / timed["floor"].cpu_s


def main() -> None:
    """Count, print, compare."""
    known = json.loads(BASELINE.read_text())
    counts: Counts = {
        "calls": calls(),
        **_bytecodes(),
        "instructions": _instructions() or known["instructions"],
    }
    ratio = round(cpu_ratio(), 2)
    if "--write" in sys.argv:
        known = counts | {"cpu_ratio": ratio}
        BASELINE.write_text(json.dumps(known, indent=2) + "\n")
    print(f"{'':38}{'floor':>8}{'ours':>8}{'baseline':>10}{'×':>7}")
    dearer = [
        name
        for name, row, before in _rows(counts, known)
        if _is_dearer(name, row["floor"], row["turnkeeper"], before["turnkeeper"])
    ]
    print(f"{'CPU time, times the floor':38}{'':16}{known['cpu_ratio']:10}{ratio:7}")
    limit = known["cpu_ratio"] * ALLOWED_TIME
    if ratio > limit and cpu_ratio() > limit:
        dearer.append("CPU time")
    if dearer:
        raise SystemExit(f"dearer than the baseline allows: {', '.join(dearer)}")


def _bytecodes() -> Counts:
    seen = {case: {who: a_turn(who, case) for who in ("floor", "turnkeeper")} for case in CASES}
    return {
        name: {case: {who: pair[which] for who, pair in row.items()} for case, row in seen.items()}
        for which, name in enumerate(("bytecodes", "places"))
    }


def _instructions() -> dict[str, Row] | None:
    counted = {who: instructions(who) for who in ("floor", "turnkeeper")}
    if None in counted.values():
        print("there is no valgrind, so no instructions are counted")
        return None
    return {SHORT: {who: round(one / 1000) for who, one in counted.items() if one}}


def _rows(now: Counts, known: Counts) -> Iterator[tuple[str, Row, Row]]:
    for what, words in NAMES.items():
        for name, row in now[what].items():
            yield f"{words}, {name}", row, known[what][name]


def _is_dearer(name: str, floor: int, ours: int, before: int) -> bool:
    print(f"{name:38}{floor:8}{ours:8}{before:10}{ours / before:7.2f}")
    return ours > before * ALLOWED


if __name__ == "__main__":
    main()
