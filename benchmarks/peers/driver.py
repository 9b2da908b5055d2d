"""Times one peer in its own process, with nothing but Python's own library and `paced`.

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
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from benchmarks.paced import measured

Turn = Callable[[Callable[[], None]], str]
Make = Callable[[str, tuple[str, ...], int], Turn]

HISTORY = 9


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
        seen[case] = measure(turn, turns, threads, url)
    print(json.dumps(seen), flush=True)
    os._exit(0)  # whatever threads of its own a peer still has


def _turns(turn: Turn, turns: int, _threads: int, _url: str) -> dict[str, Any]:
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


def _stream(turn: Turn, turns: int, _threads: int, _url: str) -> dict[str, Any]:
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


def _threads(turn: Turn, turns: int, threads: int, url: str) -> dict[str, Any]:
    seen = measured(lambda: turn(_nothing), threads, url.removesuffix("/v1"), turns=turns)
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**seen, "peak_mb": peak_kib / 1024}


def _nothing() -> None:
    pass
