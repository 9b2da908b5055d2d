"""Times one peer in its own process, with nothing but Python's own library.

A peer's script gives `main` a function that makes a turn: it is called with the address of the
wall, the names of the models in the order in which they are to be tried, and how many threads there
will be; the turn is called with a function to call once when the first text is there, and returns
the whole text.
"""

import json
import os
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Turn = Callable[[Callable[[], None]], str]
Make = Callable[[str, tuple[str, ...], int], Turn]

HISTORY = 9
IDEAL_S = 49 * 0.02


def messages() -> list[dict[str, str]]:
    """The history that all ask with."""
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"Message {n}: " + "some words " * 8}
        for n in range(HISTORY - 1)
    ]
    return [{"role": "system", "content": "You are brief."}, *said[1:], said[0]]


def main(make: Make, *packages: str) -> None:
    """Run the jobs that the command line names, and print what they took as JSON.

    A job is a case's name, how it is measured, the wall's address, the models, turns and threads.
    """
    if sys.argv[1] == "version":
        print(json.dumps({name: version(name) for name in packages}))
        return
    seen = {}
    for case, way, url, models, turns, threads in json.loads(sys.argv[1]):
        turn = make(url, tuple(models), threads)
        measure = {"turns": _turns, "stream": _stream, "threads": _threads}[way]
        seen[case] = measure(turn, turns, threads)
    print(json.dumps(seen), flush=True)
    os._exit(0)  # whatever threads of its own a peer still has


def _turns(turn: Turn, turns: int, _threads: int) -> dict[str, Any]:
    for _ in range(5):
        text = turn(_nothing)
    walls, firsts = [], []
    cpu_s = time.process_time()
    for _ in range(turns):
        began_s = time.perf_counter()
        turn(lambda began_s=began_s: firsts.append(time.perf_counter() - began_s))  # type: ignore[misc]
        walls.append(time.perf_counter() - began_s)
    cpu_s = (time.process_time() - cpu_s) / turns
    return {
        "chars": len(text.strip()),
        "wall_us": statistics.median(walls) * 1e6,
        "first_us": statistics.median(firsts) * 1e6,
        "cpu_us": cpu_s * 1e6,
    }


def _stream(turn: Turn, turns: int, _threads: int) -> dict[str, Any]:
    turn(_nothing)
    seen = []
    for _ in range(turns):
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        text = turn(_nothing)
        seen.append((time.perf_counter() - wall_s, time.process_time() - cpu_s))
    return {
        "chars": len(text.strip()),
        "wall_us": statistics.median(wall for wall, _ in seen) * 1e6,
        "cpu_us": statistics.median(cpu for _, cpu in seen) * 1e6,
    }


def _threads(turn: Turn, turns: int, threads: int) -> dict[str, Any]:
    turn(_nothing)
    before_kib, most_kib = _resident_kib(), 0.0
    added: list[float] = []
    ready = threading.Barrier(threads + 1)

    def run() -> None:
        ready.wait()
        for _ in range(turns):
            began_s = time.perf_counter()
            turn(_nothing)
            added.append(time.perf_counter() - began_s - IDEAL_S)

    running = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in running:
        thread.start()
    ready.wait()
    began_s, cpu_s = time.perf_counter(), time.process_time()
    for thread in running:
        while thread.is_alive():
            thread.join(0.2)
            most_kib = max(most_kib, _resident_kib())
    whole_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    added.sort()
    return {
        "turns_per_s": len(added) / whole_s,
        "of_ideal": len(added) / whole_s / (threads / IDEAL_S),
        "added_p50_ms": statistics.median(added) * 1e3,
        "added_p99_ms": added[int(0.99 * (len(added) - 1))] * 1e3,
        "cpu_ms_a_turn": cpu_s / len(added) * 1e3,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "grown_kib_a_thread": max(0.0, most_kib - before_kib) / threads,
    }


def _nothing() -> None:
    pass


def _resident_kib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024
