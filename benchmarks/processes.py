"""``python -m benchmarks.processes``: 1, 2 and 4 processes with one database, 64 threads each.

Turns, threads and window are those of `paced`, with one wall for all. A process is busy for
half of its time, so that two cores have enough for two, for the wall and for the database; four
want more than there is, and their row shows it. The first row has the threads of two processes in
one. `cores` is how many the processes kept busy, the wall and the database left out.

``python -m benchmarks.processes row URL FOLDER DATABASE_URL THREADS`` is one of them.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from benchmarks.happy_turn import HappyTurn
from benchmarks.paced import GAP_S, TOKENS, Paced, figures, told
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timed_wall import timed_wall
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres

THREADS, ROUNDS = 64, 3
CASES = {  # processes, and the threads of each
    "1 process, twice the threads": (1, 2 * THREADS),
    "1 process": (1, THREADS),
    "2 processes": (2, THREADS),
    "4 processes": (4, THREADS),
}


def row(url: str, folder: Path, database_url: str, threads: int) -> dict[str, Any]:
    """How long each turn of this process took, and what all took, once all processes begin."""
    with closing(
        HappyTurn(
            f"{url}/v1",
            ("streams",),
            messages(9),
            data_dir=folder,
            store="postgres",
            database_url=database_url,
            server_id=f"bench-{os.getpid()}",
            max_turns=threads,
            serialize_channels=False,
        )
    ) as ours:
        said = ours.turn()
        print("ready", flush=True)
        sys.stdin.readline()
        cpu_s, whole_s = time.process_time(), time.perf_counter()
        paced = Paced(ours.turn, threads, says=said)
        paced.wait()
        cpu_s, whole_s = time.process_time() - cpu_s, time.perf_counter() - whole_s
    return {"taken": paced.taken(), "turns": paced.turns, "cpu_s": cpu_s, "whole_s": whole_s}


def together(processes: int, threads: int, folder: Path, database_url: str) -> dict[str, float]:
    """All of them at once."""
    with ExitStack() as stack:
        url = stack.enter_context(timed_wall(TOKENS, GAP_S))
        command = [sys.executable, "-m", "benchmarks.processes", "row", url, str(folder)]
        started = []
        for _ in range(processes):
            process = stack.enter_context(
                subprocess.Popen(
                    [*command, database_url, str(threads)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            assert process.stdout is not None
            process.stdout.readline()
            started.append(process)
        told(url, "/late")
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        seen = [json.loads(process.communicate()[0]) for process in started]
        wall = told(url, "/late")
    cpu_s = sum(one["cpu_s"] for one in seen)
    return {
        **figures([taken for one in seen for taken in one["taken"]], processes * threads),
        "cpu_ms_a_turn": cpu_s / sum(one["turns"] for one in seen) * 1e3,
        "cores": cpu_s / max(one["whole_s"] for one in seen),
        "wall_p99_ms": wall["p99_ms"],
    }


def measured(folder: Path) -> Table:
    """Medians of some rounds for each case."""
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in CASES}
    server = EmbeddedPostgres(folder)
    url = server.start()
    try:
        for _ in range(ROUNDS):
            for name, rounds in seen.items():
                rounds.append(together(*CASES[name], folder, url))
    finally:
        server.stop()
    return {
        name: {figure: statistics.median(one[figure] for one in rounds) for figure in rounds[0]}
        for name, rounds in seen.items()
    }


def main() -> None:
    """Measure, print a table, keep the figures."""
    if sys.argv[1:2] == ["row"]:
        url, folder, database_url, threads = sys.argv[2:]
        print(json.dumps(row(url, Path(folder), database_url, int(threads))))
        return
    with tempfile.TemporaryDirectory(prefix="tk-") as kept:
        Path(kept).chmod(0o711)  # a database server that root starts runs under an account
        table = measured(Path(kept))
    print(
        f"{'':30}{'turns/s':>10}{'of ideal':>10}{'p50 + ms':>10}{'p99 + ms':>10}{'CPU ms':>8}"
        f"{'cores':>8}{'wall p99':>10}"
    )
    for name, one in table.items():
        speed, ideal, p50, p99, cpu, cores, wall = one.values()
        print(
            f"{name:30}{speed:10.1f}{ideal:10.3f}{p50:10.1f}{p99:10.1f}{cpu:8.2f}"
            f"{cores:8.2f}{wall:10.2f}"
        )
    keep("processes", table, rounds=ROUNDS)


if __name__ == "__main__":
    main()
