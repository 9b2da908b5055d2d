"""``python -m benchmarks.long_stream``: what a token costs, at the end of a reply as before."""

import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.happy_turn import HappyTurn
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timing import side_by_side
from benchmarks.tuned_floor import TunedFloor
from benchmarks.wall_process import walled

ROUNDS = 7
SHORT, LONG = 2_000, 20_000
ALLOWED_TO_FLOOR, ALLOWED_TO_SHORT = 2.0, 1.15


def a_token(tokens: int, folder: Path) -> dict[str, float]:
    """CPU microseconds a token, and what they are of the floor's."""
    said = messages(9)
    with (
        walled(tokens) as url,
        closing(TunedFloor(url, "answers", said)) as floor,
        closing(HappyTurn(url, ("answers",), said, data_dir=folder)) as ours,
    ):
        assert floor.turn().strip().split() == ours.turn().split()
        ways = {"floor": floor.turn, "turnkeeper": ours.turn}
        seen = side_by_side(ways, rounds=ROUNDS, turns=LONG // tokens)
    cpu = {who: one.cpu_s / tokens * 1e6 for who, one in seen.items()}
    return {
        "floor_us": cpu["floor"],
        "ours_us": cpu["turnkeeper"],
        "cpu_ratio": cpu["turnkeeper"] / cpu["floor"],
    }


def main() -> None:
    """Measure, print a table, keep the figures, and fail where a token is too dear."""
    table: Table = {}
    print(f"{'CPU a token':28}{'floor µs':>10}{'ours µs':>10}{'×':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for tokens in (SHORT, LONG):
            row = table[f"{tokens:,} tokens"] = a_token(tokens, Path(folder))
            floor, ours, ratio = row.values()
            print(f"{f'{tokens:,} tokens':28}{floor:10.2f}{ours:10.2f}{ratio:8.2f}", flush=True)
    short, long = table.values()
    grown = long["ours_us"] / short["ours_us"]
    table["long to short"] = {"ours": grown, "floor": long["floor_us"] / short["floor_us"]}
    print(f"{'a token of a long reply costs':28}{grown:28.2f} of one of a short reply")
    keep("long_stream", table, rounds=ROUNDS)
    if long["cpu_ratio"] > ALLOWED_TO_FLOOR or grown > ALLOWED_TO_SHORT:
        raise SystemExit("a token of a long stream is too dear")


if __name__ == "__main__":
    main()
