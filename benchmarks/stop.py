"""``python -m benchmarks.stop``: how soon after a stop the provider's line is closed.

Pressed in this process, and in another one that shares the (embedded) Postgres. Both read the
system's monotonic clock, which is one for all processes on Linux.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from uuid import uuid4

from benchmarks.results_file import Table, keep
from benchmarks.walled_turn import journal, opened
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.wall.behaviour import Behaviour, Drip, Stall
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

ROUNDS = 15
ALLOWED_S = 0.2
WAIT_S = 30.0
FAULTS: dict[str, Behaviour] = {
    "a silent provider": Stall(),
    "one that fell silent": Stall(after_tokens=1),
    "one that writes": Drip(gap_s=0.01),
}

Press = Callable[[str], Callable[[], float]]
"""Stops a turn; what it returns says at which instant."""


def freed_s(keeper: Turnkeeper, wall: Wall, press: Press) -> tuple[list[float], list[float]]:
    """From the press to the closed line, and to the turn's end, round by round."""
    runner = ThreadRunner()
    lines: list[float] = []
    ends: list[float] = []
    for _ in range(ROUNDS):
        turn_id, calls = uuid4().hex, len(wall.seen)
        work = runner.start(partial(_stopped_at_s, keeper, turn_id), "turn")
        asked = wall.await_seen(calls + 1, timeout_s=WAIT_S)[-1]
        time.sleep(0.1)  # the first token is there
        pressed_s = press(turn_id)
        assert asked.client_gone.wait(WAIT_S)
        gone_s = time.monotonic()
        lines.append(gone_s - pressed_s())
        ends.append(work.result(WAIT_S) - pressed_s())
    runner.close()
    return lines, ends


def _stopped_at_s(keeper: Turnkeeper, turn_id: str, stop: Stop) -> float:
    result, _ = journal(keeper, turn_id)
    assert result.status is TurnStatus.STOPPED_BY_USER, result
    return time.monotonic()


@contextmanager
def here(keeper: Turnkeeper, folder: Path) -> Iterator[Press]:
    """Pressed in the process that runs the turn."""

    def here(turn_id: str) -> Callable[[], float]:
        pressed_s = time.monotonic()
        assert keeper.stop(turn_id)
        return lambda: pressed_s

    yield here


@contextmanager
def elsewhere(keeper: Turnkeeper, folder: Path) -> Iterator[Press]:
    """Pressed in another process of the same database."""
    command = [sys.executable, "-m", "benchmarks.stop", str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = process.stdout
        answers.readline()  # it is ready

        def elsewhere(turn_id: str) -> Callable[[], float]:
            print(turn_id, file=process.stdin)
            return cache(lambda: float(answers.readline()))

        yield elsewhere
        process.stdin.close()


def press_for(folder: Path) -> None:
    """What the other process does: stop each turn that is named on its standard input."""
    with Turnkeeper.open(Settings(data_dir=folder, live_limits=False)) as keeper:
        print("ready", flush=True)
        for line in sys.stdin:
            pressed_s = time.monotonic()
            assert keeper.stop(line.strip())
            print(pressed_s, flush=True)


def measured(folder: Path) -> Table:
    """The table: each fault, stopped from here and from elsewhere."""
    table: Table = {}
    with Wall() as wall, opened(wall, folder) as keeper:
        for name, fault in FAULTS.items():
            wall.script(fault, model="model")
            for pressed in (here, elsewhere):
                with pressed(keeper, folder) as press:
                    lines, ends = freed_s(keeper, wall, press)
                table[f"{name}, {pressed.__name__}"] = {
                    "line_median_ms": statistics.median(lines) * 1e3,
                    "line_most_ms": max(lines) * 1e3,
                    "turn_median_ms": statistics.median(ends) * 1e3,
                }
    return table


def main() -> None:
    """Measure, print a table, keep the figures, and fail where a stop is too slow."""
    with tempfile.TemporaryDirectory(prefix="tk-") as folder:
        Path(folder).chmod(0o711)  # a database server that root starts runs under an account
        table = measured(Path(folder))
    print(f"{'a stop, ms until':36}{'line closed':>12}{'at most':>10}{'turn ended':>12}")
    for name, row in table.items():
        line_ms, most_ms, turn_ms = row.values()
        print(f"{name:36}{line_ms:12.1f}{most_ms:10.1f}{turn_ms:12.1f}")
    keep("stop", table, rounds=ROUNDS)
    if any(row["line_median_ms"] > ALLOWED_S * 1e3 for row in table.values()):
        raise SystemExit(f"a stop took more than {ALLOWED_S:g} s to reach the provider's line")


if __name__ == "__main__":
    press_for(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
