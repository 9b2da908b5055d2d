"""``python -m benchmarks.fallback``: what a first model that refuses costs on top of a turn."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks.happy_turn import HappyTurn
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timing import Timed, side_by_side
from benchmarks.tuned_floor import TunedFloor
from benchmarks.wall_process import walled

ROUNDS, TURNS, WARM_UP = 15, 50, 20
ALLOWED = 1.5


def timed(folder: Path) -> dict[str, Timed]:
    """A happy and a rescued turn, and what the floor takes to ask twice."""
    with ExitStack() as stack:
        url = stack.enter_context(walled())
        said = messages(9)
        floor = stack.enter_context(closing(TunedFloor(url, "answers", said)))
        refused = stack.enter_context(closing(TunedFloor(url, "refuses", said)))
        happy = stack.enter_context(closing(HappyTurn(url, ("answers",), said, data_dir=folder)))
        both = ("refuses", "answers")
        rescued = stack.enter_context(closing(HappyTurn(url, both, said, data_dir=folder)))

        def floor_rescued() -> None:
            refused.refused()
            floor.turn()

        ways: dict[str, Callable[[], object]] = {
            "floor, happy": floor.turn,
            "floor, rescued": floor_rescued,
            "turnkeeper, happy": happy.turn,
            "turnkeeper, rescued": rescued.turn,
        }
        for _ in range(WARM_UP):
            for way in ways.values():
                way()
        return side_by_side(ways, rounds=ROUNDS, turns=TURNS)


def table_of(seen: dict[str, Timed]) -> Table:
    """The extra of each, and by how many happy turns of the same it is more."""
    table: Table = {}
    for who in ("floor", "turnkeeper"):
        happy, rescued = seen[f"{who}, happy"], seen[f"{who}, rescued"]
        table[who] = {
            "happy_us": happy.wall_s * 1e6,
            "extra_us": (rescued.wall_s - happy.wall_s) * 1e6,
            "extra_wall": rescued.wall_s / happy.wall_s - 1,
            "extra_cpu": rescued.cpu_s / happy.cpu_s - 1,
        }
    return table


def main() -> None:
    """Measure, print a table, keep the figures, and fail where a rescue is too dear."""
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(timed(Path(folder)))
    print(
        f"{'first model refuses (429)':28}{'happy µs':>10}{'extra µs':>10}{'wall ×':>8}{'CPU ×':>8}"
    )
    for who, row in table.items():
        happy, extra, wall, cpu = row.values()
        print(f"{who:28}{happy:10.0f}{extra:10.0f}{wall:8.2f}{cpu:8.2f}")
    keep("fallback", table, rounds=ROUNDS)
    if table["turnkeeper"]["extra_cpu"] > ALLOWED:
        raise SystemExit(f"a rescue costs more than {ALLOWED:g} happy turns")


if __name__ == "__main__":
    main()
