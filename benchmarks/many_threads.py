"""``python -m benchmarks.many_threads``: 16, 64 and 256 threads, each one turn after the other.

A turn is 50 tokens, 20 ms apart, so an ideal one takes the 49 pauses and nothing else. The threads
begin one by one over the length of such a turn, as people do not begin together. The window opens
when the last has begun, and is as long as five ideal turns; what ends within it counts, and the
threads go on until it is over. Ideal is that nothing is late: each thread then ends five in it.

Three ways of a turn follow each other: bytes over a raw socket, the tuned floor, turnkeeper. The
wall is one process of one thread beside this one, and how late it was is shown, as it is in all
rows. Memory is first looked at when the process has done as many turns as are to follow, since the
memory store remembers 10,000: so what grows is what running threads and turns take.

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
from benchmarks.raw_floor import RawFloor
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timed_wall import timed_wall, told
from benchmarks.tuned_floor import TunedFloor

TOKENS, GAP_S = 50, 0.02
IDEAL_S = (TOKENS - 1) * GAP_S
TURNS = 5  # a thread, within the window
ROUNDS = 3
LOOK_S = 0.1
THREADS = (16, 64, 256)
WAYS = ("raw socket", "floor", "turnkeeper")
ALLOWED = 0.95  # of the ideal turns a second, up to 64 threads


def row(who: str, threads: int, url: str) -> dict[str, float]:
    """Run the threads, and say how fast and how late they were and what they took."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(_way(who, threads, f"{url}/v1", Path(folder))) as way,
    ):
        said = way.turn()
        first_kib = resident_kib()
        _warm_up(way.turn, threads * (TURNS + 2), url)
        before_kib = resident_kib()
        told(url, "/late")
        cpu_s = time.process_time()
        ended = Paced(way.turn, threads, says=said)
        most_kib = ended.wait()
        cpu_s = time.process_time() - cpu_s
        wall = told(url, "/late")
    return {
        **ended.figures(),
        "cpu_ms_a_turn": cpu_s / ended.turns * 1e3,
        "grown_kib_a_thread": (most_kib - before_kib) / threads,
        "kept_kib_a_turn": (before_kib - first_kib) / (threads * (TURNS + 2)),
        "most_mb": most_kib / 1024,
        "wall_p99_ms": wall["p99_ms"],
    }


class Paced:
    """Threads that begin one by one, and what they ended within the window.

    Args:
        says: What each turn is to return.

    Attributes:
        turns: How many ended, those outside of the window with them.
    """

    def __init__(self, turn: Callable[[], object], threads: int, *, says: object) -> None:
        self._turn = turn
        self._says = says
        self._other: list[object] = []
        self._began_s = time.perf_counter() + LOOK_S
        self._until_s = self._began_s + (1 + TURNS) * IDEAL_S
        self._ended: list[tuple[float, float]] = []  # how long one took, and when it ended
        self._threads = [
            threading.Thread(target=self._run, args=(self._began_s + IDEAL_S * number / threads,))
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def wait(self) -> float:
        """Wait for all threads; the most KiB that the process held meanwhile.

        Raises:
            RuntimeError: A turn said something else than it was to say.
        """
        most_kib = 0.0
        for thread in self._threads:
            while thread.is_alive():
                thread.join(LOOK_S)
                most_kib = max(most_kib, resident_kib())
        if self._other:
            raise RuntimeError(f"{len(self._other)} turns failed; one said {self._other[0]!r}")
        return most_kib

    @property
    def turns(self) -> int:
        return len(self._ended)

    def figures(self) -> dict[str, float]:
        """Speed and lateness of what ended within the window."""
        return figures(self.taken(), len(self._threads))

    def taken(self) -> list[float]:
        """How long each turn took that ended within the window."""
        from_s = self._began_s + IDEAL_S
        return [taken_s for taken_s, at_s in self._ended if from_s < at_s <= self._until_s]

    def _run(self, at_s: float) -> None:
        time.sleep(max(0.0, at_s - time.perf_counter()))
        while (began_s := time.perf_counter()) < self._until_s:
            said = self._turn()
            at_s = time.perf_counter()
            self._ended.append((at_s - began_s, at_s))
            if said != self._says:
                self._other.append(said)


def figures(taken: list[float], threads: int) -> dict[str, float]:
    """What so many threads came to in a window."""
    added = sorted(one - IDEAL_S for one in taken)
    return {
        "turns_per_s": len(added) / (TURNS * IDEAL_S),
        "of_ideal": len(added) / (TURNS * threads),
        "added_p50_ms": statistics.median(added) * 1e3,
        "added_p99_ms": added[int(0.99 * (len(added) - 1))] * 1e3,
    }


def resident_kib() -> float:
    """What this process holds now; its peak would be that of deriving the master secret."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


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


def _warm_up(turn: Callable[[], object], turns: int, url: str) -> None:
    """So many turns whose tokens come without pauses."""
    told(url, "/gap/0")
    for _ in range(turns):
        turn()
    told(url, f"/gap/{GAP_S}")


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
