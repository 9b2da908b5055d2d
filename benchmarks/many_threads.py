"""``python -m benchmarks.many_threads``: 16, 64 and 256 turns at once, 50 tokens, 20 ms apart.

An ideal turn takes the 49 pauses and nothing else. The wall is one Python process beside this one,
so at 256 threads its own lateness is in all rows: read them beside the floor's.

``python -m benchmarks.many_threads WHO THREADS URL`` measures one row, in a process of its own.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.happy_turn import HappyTurn
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.tuned_floor import TunedFloor
from benchmarks.wall_process import walled

TOKENS, GAP_S = 50, 0.02
IDEAL_S = (TOKENS - 1) * GAP_S
TURNS = 4  # a thread
LOOK_S = 0.1
THREADS = (16, 64, 256)
ALLOWED = 0.9  # of the ideal turns a second, up to 64 threads


def row(who: str, threads: int, url: str) -> dict[str, float]:
    """Run the threads, and say how fast and how late they were and what they took."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(_way(who, threads, url, Path(folder))) as way,
    ):
        way.turn()
        before_kib = _resident_kib()
        cpu_s, began_s = time.process_time(), time.perf_counter()
        taken, most_kib = _at_once(way.turn, threads)
        whole_s = time.perf_counter() - began_s
        cpu_s = time.process_time() - cpu_s
    added = sorted(one - IDEAL_S for one in taken)
    return {
        "turns_per_s": len(taken) / whole_s,
        "of_ideal": len(taken) / whole_s / (threads / IDEAL_S),
        "added_p50_ms": statistics.median(added) * 1e3,
        "added_p99_ms": added[int(0.99 * (len(added) - 1))] * 1e3,
        "cpu_ms_a_turn": cpu_s / len(taken) * 1e3,
        "grown_kib_a_thread": (most_kib - before_kib) / threads,
    }


def _way(who: str, threads: int, url: str, folder: Path) -> HappyTurn | TunedFloor:
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


def _resident_kib() -> float:
    """What this process holds now; its peak would be that of deriving the master secret."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


def _at_once(turn: Callable[[], object], threads: int) -> tuple[list[float], float]:
    """How long each turn took, and the most that the process held meanwhile."""
    taken: list[float] = []
    ready = threading.Barrier(threads)

    def run() -> None:
        ready.wait()
        for _ in range(TURNS):
            began_s = time.perf_counter()
            turn()
            taken.append(time.perf_counter() - began_s)

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    most_kib = 0.0
    for thread in running:
        while thread.is_alive():
            thread.join(LOOK_S)
            most_kib = max(most_kib, _resident_kib())
    return taken, most_kib


def main() -> None:
    """Measure, print a table, keep the figures, and fail where threads hold each other up."""
    table: Table = {}
    print(
        f"{'threads':20}{'turns/s':>9}{'of ideal':>10}{'p50 + ms':>10}{'p99 + ms':>10}"
        f"{'CPU ms':>8}{'KiB each':>10}"
    )
    for threads in THREADS:
        for who in ("floor", "turnkeeper"):
            with walled(TOKENS, GAP_S) as url:
                command = [sys.executable, "-m", "benchmarks.many_threads", who, str(threads), url]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
            one = table[f"{threads}, {who}"] = json.loads(done.stdout)
            speed, ideal, p50, p99, cpu, kib = one.values()
            print(
                f"{f'{threads}, {who}':20}{speed:9.1f}{ideal:10.2f}{p50:10.1f}{p99:10.1f}"
                f"{cpu:8.2f}{kib:10.0f}",
                flush=True,
            )
    keep("many_threads", table, rounds=TURNS)
    if any(table[f"{n}, turnkeeper"]["of_ideal"] < ALLOWED for n in (16, 64)):
        raise SystemExit("threads hold each other up")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(row(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
    else:
        main()
