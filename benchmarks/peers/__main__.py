"""``python -m benchmarks.peers [ROUNDS]``: turnkeeper beside its peers, on one wall.

`make bench-peers` makes their environments; a peer without one is left out, and the table says so.
All go one after the other through each case, a fresh process each, as often as there are rounds.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.peers.table import printed
from benchmarks.results_file import Table, keep
from benchmarks.wall_process import walled

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OWN = ("floor", "ours")
PEERS = (
    "tensorzero_embedded",
    "openai_sdk",
    "any_llm_loop",
    "langchain_fallbacks",
    "pydantic_ai_fallback",
    "litellm_router",
)
ROUNDS = 5
PATIENCE_S = 240
# Case: tokens, gap, how it is measured, models, turns, threads, rounds.
CASES: Mapping[str, tuple[int, float, str, str, int, int, int]] = {
    "turn": (1, 0.0, "turns", "answers", 60, 1, ROUNDS),
    "rescued": (1, 0.0, "turns", "refuses,answers", 40, 1, ROUNDS),
    "stream_2000": (2_000, 0.0, "stream", "answers", 3, 1, 3),
    "stream_20000": (20_000, 0.0, "stream", "answers", 1, 1, 3),
    "threads_256": (50, 0.02, "threads", "streams", 2, 256, 1),
}


def python_of(name: str) -> Path | None:
    """The Python of its environment; None if there is none."""
    if name in OWN:
        return Path(sys.executable)
    environment = ROOT / ".venv" / f"bench-{name}"
    return environment / "bin" / "python" if (environment / ".installed").exists() else None


def run(name: str, *arguments: str) -> dict[str, float] | None:
    """What its script prints; None if it fails or takes too long."""
    environment = {**os.environ, "RUST_LOG": "off"}
    environment["PYTHONPATH"] = f"{ROOT}:{ROOT / 'src'}" if name in OWN else ""
    command = [str(python_of(name)), str(HERE / f"{name}.py"), *arguments]
    try:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment, timeout=PATIENCE_S
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"{name} {arguments[0]}: {str(error.stderr or error)[-300:]}", file=sys.stderr)
        return None
    read: dict[str, float] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return read


def measured(names: list[str], most_rounds: int) -> Table:
    """A row a peer: the medians of each case's figures, named CASE_FIGURE."""
    table: Table = {name: {} for name in names}
    for case, (tokens, gap_s, way, models, turns, threads, rounds) in CASES.items():
        seen: dict[str, list[dict[str, float]]] = {name: [] for name in names}
        with walled(tokens, gap_s) as url:
            for _ in range(min(rounds, most_rounds)):
                for name in names:
                    one = run(name, way, url, models, str(turns), str(threads))
                    if one is not None:
                        seen[name].append(one)
        for name, all_of_it in seen.items():
            for figure in all_of_it[0] if all_of_it else ():
                middle = statistics.median(one[figure] for one in all_of_it)
                table[name][f"{case}_{figure}"] = middle
        print(f"measured: {case}", file=sys.stderr, flush=True)
    return table


def main() -> None:
    """Measure, print a table, and keep the figures with the versions."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    names = [name for name in (*OWN, *PEERS) if python_of(name) is not None]
    versions = {name: run(name, "version") or {} for name in names}
    table = measured(names, rounds)
    absent = [name for name in PEERS if name not in names]
    keep("peers", table, rounds=rounds, notes={"versions": versions, "absent": absent})
    print(printed(table, versions, absent))


if __name__ == "__main__":
    main()
