"""``make bench``: what a turn costs beyond the wire, as ratios."""

import statistics
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.happy_turn import HappyTurn
from benchmarks.results_file import keep
from benchmarks.timing import FirstDelta, Timed, side_by_side
from benchmarks.tuned_floor import TunedFloor
from benchmarks.wall_process import walled

ROUNDS, TURNS, WARM_UP = 7, 100, 30


def messages(count: int) -> list[dict[str, str]]:
    """A history of so many messages, the last one the user's."""
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"Message {n}: " + "some words " * 8}
        for n in range(count - 1)
    ]
    return [{"role": "system", "content": "You are brief."}, *said[-(count - 2) :], said[0]]


def happy(tokens: int, history: int, data_dir: Path) -> dict[str, Timed]:
    """A turn that nothing goes wrong in, beside the floor."""
    with (
        walled(tokens) as url,
        closing(TunedFloor(url, "answers", messages(history))) as floor,
        closing(HappyTurn(url, ("answers",), messages(history), data_dir=data_dir)) as ours,
    ):
        assert floor.turn().strip() == ours.turn()
        for _ in range(WARM_UP):
            floor.turn(), ours.turn()
        turns = max(3, TURNS // max(1, tokens // 50))
        return side_by_side(
            {"floor": floor.turn, "turnkeeper": ours.turn}, rounds=ROUNDS, turns=turns
        )


def first_delta(data_dir: Path) -> tuple[float, float]:
    """Medians of the time to the first text: floor, turnkeeper; 60 deltas, 20 ms apart."""
    seen: dict[str, list[float]] = {"floor": [], "turnkeeper": []}
    with (
        walled(60, 0.02) as url,
        closing(TunedFloor(url, "streams", messages(9))) as floor,
        closing(HappyTurn(url, ("streams",), messages(9), data_dir=data_dir)) as ours,
    ):
        for _ in range(5):
            for name, way in (("floor", floor.turn), ("turnkeeper", ours.turn)):
                delta = FirstDelta()
                way(delta)
                seen[name].append(delta.after_s or 0.0)
    return statistics.median(seen["floor"]), statistics.median(seen["turnkeeper"])


def main() -> None:
    """Measure, print a table, keep the figures."""
    table: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        for name, tokens, history in (
            ("1 token, 9 messages", 1, 9),
            ("1 token, 200 messages", 1, 200),
            ("2,000 tokens, 9 messages", 2000, 9),
        ):
            table[name] = _row(happy(tokens, history, data_dir))
        floor_s, ours_s = first_delta(data_dir)
    table["first delta of 60 at 20 ms"] = {
        "floor_us": floor_s * 1e6,
        "ours_us": ours_s * 1e6,
        "wall_ratio": ours_s / floor_s,
    }
    _print(table)
    keep("happy_turn", table, rounds=ROUNDS)


def _row(timed: dict[str, Timed]) -> dict[str, float]:
    floor, ours = timed["floor"], timed["turnkeeper"]
    return {
        "floor_us": floor.wall_s * 1e6,
        "ours_us": ours.wall_s * 1e6,
        "wall_ratio": ours.wall_s / floor.wall_s,
        "cpu_ratio": ours.cpu_s / floor.cpu_s,
        "spread": ours.spread,
    }


def _print(table: dict[str, dict[str, float]]) -> None:
    print(
        f"{'happy turn / tuned floor':34}{'floor µs':>10}{'ours µs':>10}{'wall ×':>8}{'CPU ×':>8}"
    )
    for name, row in table.items():
        cpu = f"{row['cpu_ratio']:8.2f}" if "cpu_ratio" in row else f"{'-':>8}"
        print(
            f"{name:34}{row['floor_us']:10.0f}{row['ours_us']:10.0f}{row['wall_ratio']:8.2f}{cpu}"
        )


if __name__ == "__main__":
    main()
