"""``python -m benchmarks.bytecodes [CASE]``: the bytecodes of a turn, by file, and how many places.

No noise is in them, and they tell more of a turn's time than calls do: nearly every bytecode of a
turn is carried out once in it, and one in a place that was not come by before costs about as much
again, since no cache knows it.
"""

import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from benchmarks.ways import CASES, SHORT, ways

TURNS, WARM_UP = 3, 5


class Bytecodes:
    """Counts bytecodes, in all threads that begin after it.

    Attributes:
        carried_out: How many, by the code that they are of.
        places: Where they stand, by the same.
    """

    def __init__(self) -> None:
        self.carried_out: Counter[CodeType] = Counter()
        self.places: defaultdict[CodeType, set[int]] = defaultdict(set)

    def __enter__(self) -> "Bytecodes":
        threading.settrace(self._entered)
        sys.settrace(self._entered)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _entered(self, frame: FrameType, _event: str, _argument: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._seen

    def _seen(self, frame: FrameType, event: str, _argument: object) -> Any:
        if event == "opcode":
            self.carried_out[frame.f_code] += 1
            self.places[frame.f_code].add(frame.f_lasti)
        return self._seen


def bytecodes(who: str, case: str = SHORT) -> Bytecodes:
    """Those of a few turns."""
    with ways(*CASES[case]) as both:
        turn = both[who].turn
        for _ in range(WARM_UP):
            turn()
        with Bytecodes() as counted:
            for _ in range(TURNS):
                turn()
    return counted


def a_turn(who: str, case: str) -> tuple[int, int]:
    """How many a turn carries out, and in how many places."""
    counted = bytecodes(who, case)
    return counted.carried_out.total() // TURNS, sum(map(len, counted.places.values()))


def main() -> None:
    """Print those of turnkeeper's turn and the floor's, and turnkeeper's by file."""
    case = sys.argv[1] if len(sys.argv) > 1 else SHORT
    counted = bytecodes("turnkeeper", case)
    files: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for code, places in counted.places.items():
        there = counted.carried_out[code] / TURNS
        files[_named(code)].update(out=round(there), places=len(places), functions=1)
    print(f"{'bytecodes':>10}{'places':>10}{'functions':>10}")
    for name, row in sorted(files.items(), key=lambda one: -one[1]["out"]):
        print(f"{row['out']:10}{row['places']:10}{row['functions']:10}  {name}")
    for who in ("floor", "turnkeeper"):
        carried_out, places = a_turn(who, case)
        print(f"{carried_out:10}{places:10}{'':10}  in all, {who}")


def _named(code: CodeType) -> str:
    if code.co_filename == "<string>":
        return "values, made and copied"
    return "/".join(Path(code.co_filename).parts[-3:])


if __name__ == "__main__":
    main()
