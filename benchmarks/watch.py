"""``python -m benchmarks.watch``: how late each limit fires, settling included."""

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results_file import Table, keep
from benchmarks.walled_turn import journal, opened
from turnkeeper.domain.events import Entry, FirstProgress, InvocationEnded, InvocationStarted
from turnkeeper.infrastructure.wall.behaviour import Behaviour, CommentsOnly, Drip, Stall
from turnkeeper.infrastructure.wall.server import Wall

ROUNDS = 5
LIMIT_S = 1.0
ALLOWED_S = 0.5
FIRST = {"last_first_progress_s": LIMIT_S}
SILENCE = {"silence_ms": int(LIMIT_S * 1000)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A fault, the limit that is to fire, and since which event it runs (None: the turn's)."""

    fault: Behaviour
    settings: dict[str, object]
    phase: str
    since: type[InvocationStarted] | type[FirstProgress] | None


CASES = {
    "accept, then silence": Case(
        fault=Stall(), settings=dict(FIRST), phase="first_progress", since=InvocationStarted
    ),
    "headers, then silence": Case(
        fault=Stall(after_tokens=0),
        settings=dict(FIRST),
        phase="first_progress",
        since=InvocationStarted,
    ),
    "a comment each 100 ms": Case(
        fault=CommentsOnly(every_s=0.1),
        settings=dict(FIRST),
        phase="first_progress",
        since=InvocationStarted,
    ),
    "one token, then silence": Case(
        fault=Stall(after_tokens=1), settings=dict(SILENCE), phase="silence", since=FirstProgress
    ),
    "a token each 0.9 of the silence": Case(
        fault=Drip(gap_s=0.9 * LIMIT_S),
        settings=SILENCE | {"attempt_s": 2.5 * LIMIT_S},
        phase="attempt",
        since=InvocationStarted,
    ),
    "a token each 100 ms, below the pace": Case(
        fault=Drip(gap_s=0.1),
        settings={"min_chars_per_s": 1000, "pace_window_s": LIMIT_S},
        phase="pace",
        since=FirstProgress,
    ),
    "silence for a turn": Case(
        fault=Stall(), settings={"turn_s": LIMIT_S}, phase="turn", since=None
    ),
}


def late_s(case: Case, folder: Path) -> list[float]:
    """How long after its limit an invocation had ended, round by round."""
    limit_s = float(str(case.settings.get("attempt_s", LIMIT_S)))
    seen = []
    with Wall() as wall, opened(wall, folder, store="memory", **case.settings) as keeper:
        wall.script(case.fault, model="model")
        for _ in range(ROUNDS):
            _, entries = journal(keeper)
            ended = next(e for e in entries if isinstance(e.event, InvocationEnded))
            assert isinstance(ended.event, InvocationEnded)
            assert ended.event.detail == case.phase, ended.event
            seen.append(ended.at_s - _began_s(case, entries) - limit_s)
    return seen


def _began_s(case: Case, entries: list[Entry]) -> float:
    if case.since is None:
        return 0.0
    return next(entry.at_s for entry in entries if isinstance(entry.event, case.since))


def main() -> None:
    """Measure, print a table, keep the figures, and fail where a limit fires too late."""
    table: Table = {}
    print(f"{'a limit of 1 s, later by':38}{'median ms':>10}{'most ms':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            late = late_s(case, Path(folder))
            row = {"median_ms": statistics.median(late) * 1e3, "most_ms": max(late) * 1e3}
            table[name] = row
            print(f"{name:38}{row['median_ms']:10.1f}{row['most_ms']:10.1f}", flush=True)
    keep("watch", table, rounds=ROUNDS)
    if any(row["most_ms"] > ALLOWED_S * 1e3 for row in table.values()):
        raise SystemExit(f"a limit fired more than {ALLOWED_S:g} s late")


if __name__ == "__main__":
    main()
