"""``python -m benchmarks.processes``: 1, 2 and 4 processes with one database, 32 threads each.

Turns of 50 tokens, 20 ms apart, as in `many_threads`, each process with a wall of its own.

``python -m benchmarks.processes row URL FOLDER DATABASE_URL`` is one of them.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from benchmarks.happy_turn import HappyTurn
from benchmarks.many_threads import GAP_S, IDEAL_S, TOKENS
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.wall_process import walled
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres

PROCESSES = (1, 2, 4)
THREADS, TURNS, ROUNDS = 32, 3, 3


def row(url: str, folder: Path, database_url: str) -> dict[str, Any]:
    """How long each turn of this process took, and all of them, once all processes begin."""
    taken: list[float] = []
    with closing(
        HappyTurn(
            url,
            ("streams",),
            messages(9),
            data_dir=folder,
            store="postgres",
            database_url=database_url,
            server_id=f"bench-{os.getpid()}",
            max_turns=THREADS,
            serialize_channels=False,
        )
    ) as ours:
        ours.turn()
        print("ready", flush=True)
        sys.stdin.readline()

        def run() -> None:
            for _ in range(TURNS):
                began_s = time.perf_counter()
                ours.turn()
                taken.append(time.perf_counter() - began_s)

        running = [threading.Thread(target=run) for _ in range(THREADS)]
        whole_s = -time.perf_counter()
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        whole_s += time.perf_counter()
    return {"taken": taken, "whole_s": whole_s}


def together(processes: int, folder: Path, database_url: str) -> dict[str, float]:
    """All of them at once."""
    with ExitStack() as stack:
        started = []
        for _ in range(processes):
            url = stack.enter_context(walled(TOKENS, GAP_S))
            command = [sys.executable, "-m", "benchmarks.processes", "row", url]
            process = stack.enter_context(
                subprocess.Popen(
                    [*command, str(folder), database_url],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            assert process.stdout is not None
            process.stdout.readline()
            started.append(process)
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        seen = [json.loads(process.communicate()[0]) for process in started]
    added = sorted(taken - IDEAL_S for one in seen for taken in one["taken"])
    per_s = len(added) / max(one["whole_s"] for one in seen)
    return {
        "turns_per_s": per_s,
        "of_ideal": per_s / (processes * THREADS / IDEAL_S),
        "added_p50_ms": statistics.median(added) * 1e3,
        "added_p99_ms": added[int(0.99 * (len(added) - 1))] * 1e3,
    }


def measured(folder: Path) -> Table:
    """Medians of some rounds for each number of processes."""
    seen: dict[int, list[dict[str, float]]] = {processes: [] for processes in PROCESSES}
    server = EmbeddedPostgres(folder)
    url = server.start()
    try:
        for _ in range(ROUNDS):
            for processes, rounds in seen.items():
                rounds.append(together(processes, folder, url))
    finally:
        server.stop()
    return {
        f"{processes} process{'es' if processes > 1 else ''}": {
            figure: statistics.median(one[figure] for one in rounds) for figure in rounds[0]
        }
        for processes, rounds in seen.items()
    }


def main() -> None:
    """Measure, print a table, keep the figures."""
    if sys.argv[1:2] == ["row"]:
        print(json.dumps(row(sys.argv[2], Path(sys.argv[3]), sys.argv[4])))
        return
    with tempfile.TemporaryDirectory(prefix="tk-") as folder:
        Path(folder).chmod(0o711)  # a database server that root starts runs under an account
        table = measured(Path(folder))
    print(f"{'':16}{'turns/s':>10}{'of ideal':>10}{'p50 + ms':>10}{'p99 + ms':>10}")
    for name, one in table.items():
        speed, ideal, p50, p99 = one.values()
        print(f"{name:16}{speed:10.1f}{ideal:10.2f}{p50:10.1f}{p99:10.1f}")
    keep("processes", table, rounds=ROUNDS)


if __name__ == "__main__":
    main()
