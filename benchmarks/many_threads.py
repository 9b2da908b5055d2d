"""``python -m benchmarks.many_threads``: 16, 64 and 256 threads, each one turn after the other.

Turns and the window in which they are counted are those of `paced`. Three ways of a turn follow
each other: bytes over a raw socket, the tuned floor, turnkeeper. The wall is one process of one
thread beside this one, and how late it was is shown, as it is in all rows.

``python -m benchmarks.many_threads WHO THREADS URL`` measures one row, in a process of its own.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.happy_turn import HappyTurn
from benchmarks.paced import GAP_S, TOKENS, measured
from benchmarks.raw_floor import RawFloor
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timed_wall import timed_wall
from benchmarks.tuned_floor import TunedFloor

ROUNDS = 3
THREADS = (16, 64, 256)
WAYS = ("raw socket", "floor", "turnkeeper")
ALLOWED = 0.95  # of the ideal turns a second, up to 64 threads


def row(who: str, threads: int, url: str) -> dict[str, float]:
    """Run the threads, and say how fast and how late they were and what they took."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(_way(who, threads, f"{url}/v1", Path(folder))) as way,
    ):
        return measured(way.turn, threads, url)


def _way(who: str, threads: int, url: str, folder: Path) -> HappyTurn | TunedFloor | RawFloor:
    if who == "raw socket":
        return RawFloor(url, "streams", messages(9))
    if who == "floor":
        return TunedFloor(url, "streams", messages(9), connections=threads)
    return HappyTurn(
        url,
        ("streams",),
        messages(9),
        data_dir=folder,
        max_turns=threads,
        serialize_channels=False,
    )


def _asked(who: str, threads: int) -> dict[str, float]:
    with timed_wall(TOKENS, GAP_S) as url:
        command = [sys.executable, "-m", "benchmarks.many_threads", who, str(threads), url]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    read: dict[str, float] = json.loads(done.stdout)
    return read


def main() -> None:
    """Measure, print a table, keep the figures, and fail where threads hold each other up."""
    table: Table = {}
    print(
        f"{'threads':20}{'turns/s':>9}{'of ideal':>10}{'p50 + ms':>10}{'p99 + ms':>10}"
        f"{'CPU ms':>8}{'KiB each':>10}{'KiB kept':>10}{'MB':>8}{'wall p99':>10}"
    )
    for threads in THREADS:
        seen: dict[str, list[dict[str, float]]] = {who: [] for who in WAYS}
        for _ in range(ROUNDS):
            for who, rounds in seen.items():
                rounds.append(_asked(who, threads))
        for who, rounds in seen.items():
            one = {figure: statistics.median(r[figure] for r in rounds) for figure in rounds[0]}
            table[f"{threads}, {who}"] = one
            speed, ideal, p50, p99, cpu, kib, kept, most, wall = one.values()
            print(
                f"{f'{threads}, {who}':20}{speed:9.1f}{ideal:10.3f}{p50:10.1f}{p99:10.1f}"
                f"{cpu:8.2f}{kib:10.0f}{kept:10.1f}{most:8.0f}{wall:10.2f}",
                flush=True,
            )
    keep("many_threads", table, rounds=ROUNDS)
    if any(table[f"{n}, turnkeeper"]["of_ideal"] < ALLOWED for n in (16, 64)):
        raise SystemExit("threads hold each other up")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(row(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
    else:
        main()
