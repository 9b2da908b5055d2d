"""``python -m benchmarks.history``: turns of long histories, of which a model takes the end."""

import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks.happy_turn import HappyTurn
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timing import side_by_side
from benchmarks.wall_process import walled

ROUNDS, TURNS = 7, 3
ITEMS = (1_000, 10_000, 100_000)
WINDOW_TOKENS = 128_000


def measured(folder: Path) -> Table:
    """CPU of a turn for each length of history."""
    with ExitStack() as stack:
        url = stack.enter_context(walled())
        ways = {}
        for items in ITEMS:
            turns = HappyTurn(
                url, ("answers",), messages(items), data_dir=folder, window_tokens=WINDOW_TOKENS
            )
            ways[f"{items:,} items"] = stack.enter_context(closing(turns)).turn
        for way in ways.values():
            way()
        seen = side_by_side(ways, rounds=ROUNDS, turns=TURNS)
    return {
        name: {
            "wall_ms": one.wall_s * 1e3,
            "cpu_ms": one.cpu_s * 1e3,
            "cpu_us_an_item": one.cpu_s / items * 1e6,
        }
        for items, (name, one) in zip(ITEMS, seen.items(), strict=True)
    }


def main() -> None:
    """Measure, print a table, keep the figures."""
    with tempfile.TemporaryDirectory() as folder:
        table = measured(Path(folder))
    print(f"{'history':20}{'wall ms':>10}{'CPU ms':>10}{'CPU µs an item':>16}")
    for name, row in table.items():
        wall, cpu, each = row.values()
        print(f"{name:20}{wall:10.1f}{cpu:10.1f}{each:16.2f}")
    keep("history", table, rounds=ROUNDS)


if __name__ == "__main__":
    main()
