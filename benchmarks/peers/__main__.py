"""``python -m benchmarks.peers [ROUNDS [HEAVY]]``: turnkeeper beside its peers, on one wall.

`make bench-peers` makes their environments; a peer without one is left out, and the table says so.
All go one after the other, in fresh processes, as often as there are rounds; heavy cases have
rounds of their own. Many threads are measured as `many_threads` does it, on the wall of one thread.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.paced import GAP_S, TOKENS, TURNS
from benchmarks.peers.table import printed
from benchmarks.results_file import Table, keep
from benchmarks.timed_wall import timed_wall
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
PATIENCE_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is measured of each peer.

    Attributes:
        tokens: Of an answer.
        gap_s: Between them.
        way: How it is measured.
        models: In the order in which they are to be tried.
        turns: How many; of many threads, how many each is to end within the window.
        threads: How many.
    """

    tokens: int = 1
    gap_s: float = 0.0
    way: str = "turns"
    models: tuple[str, ...] = ("answers",)
    turns: int = 60
    threads: int = 1


CASES: Mapping[str, Case] = {
    "turn": Case(),
    "rescued": Case(models=("refuses", "answers"), turns=40),
    "stream_2000": Case(tokens=2_000, way="stream", turns=3),
}
# Each in a process of its own: what it holds is measured, or it takes long.
HEAVY: Mapping[str, Case] = {
    "stream_20000": Case(tokens=20_000, way="stream", turns=1),
    "threads_256": Case(
        tokens=TOKENS, gap_s=GAP_S, way="threads", models=("streams",), turns=TURNS, threads=256
    ),
}


def python_of(name: str) -> Path | None:
    """The Python of its environment; None if there is none."""
    if name in OWN:
        return Path(sys.executable)
    environment = ROOT / ".venv" / f"bench-{name}"
    return environment / "bin" / "python" if (environment / ".installed").exists() else None


def run(name: str, asked: str) -> dict[str, Any]:
    """What its script prints; nothing if it fails or takes too long."""
    environment = {**os.environ, "RUST_LOG": "off"}
    environment["PYTHONPATH"] = f"{ROOT}:{ROOT / 'src'}" if name in OWN else str(ROOT)
    command = [str(python_of(name)), str(HERE / f"{name}.py"), asked]
    try:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment, timeout=PATIENCE_S
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"{name}: {str(error.stderr or error)[-300:]}", file=sys.stderr)
        return {}
    read: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return read


@contextmanager
def wall(case: Case) -> Iterator[str]:
    """The OpenAI-compatible address of a wall that answers as the case has it."""
    if case.way == "threads":
        with timed_wall(case.tokens, case.gap_s) as url:
            yield f"{url}/v1"
    else:
        with walled(case.tokens, case.gap_s) as url:
            yield url


def measured(names: list[str], rounds: int, cases: Mapping[str, Case]) -> Table:
    """A row a peer: the medians of each case's figures, named CASE_FIGURE."""
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    with ExitStack() as stack:
        jobs = []
        for name, case in cases.items():
            url = stack.enter_context(wall(case))
            jobs.append((name, case.way, url, case.models, case.turns, case.threads))
        for number in range(rounds):
            for name in names:
                seen[name].append(run(name, json.dumps(jobs)))
            print(f"{', '.join(cases)}: round {number + 1}", file=sys.stderr, flush=True)
    return {name: _medians(rounds_of) for name, rounds_of in seen.items()}


def _medians(rounds: list[dict[str, Any]]) -> dict[str, float]:
    row: dict[str, float] = {}
    done = [one for one in rounds if one]
    for case, figures in (done[0] if done else {}).items():
        for figure in figures:
            row[f"{case}_{figure}"] = statistics.median(one[case][figure] for one in done)
    return row


def main() -> None:
    """Measure, print a table, and keep the figures with the versions."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    heavy = int(sys.argv[2]) if len(sys.argv) > 2 else rounds
    names = [name for name in (*OWN, *PEERS) if python_of(name) is not None]
    versions = {name: run(name, "version") for name in names}
    table = measured(names, rounds, CASES)
    for name, case in HEAVY.items():
        for who, row in measured(names, heavy, {name: case}).items():
            table[who] |= row
    absent = [name for name in PEERS if name not in names]
    notes = {"heavy_rounds": heavy, "versions": versions, "absent": absent}
    keep("peers", table, rounds=rounds, notes=notes)
    print(printed(table, versions, absent))


if __name__ == "__main__":
    main()
