"""Runs the cells of a crash test beside each other, and reports them in their order."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import SimpleQueue

from turnkeeper.application.ports.runner import Stop, Work
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.redact import redact
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.interfaces.crashtest.row import Cell, Row
from turnkeeper.interfaces.crashtest.score import Grade, Score

AGAIN = 2
"""How often a cell that was late or timed out is run again, alone: a busy machine is no fault."""


@frozen
class Profile:
    """How fast a crash test is.

    Attributes:
        speed: How many seconds of faults and limits pass in each second.
        at_once: How many cells are run beside each other.
        retries: How often a cell that was late or timed out, and not passed, is run again.
    """

    speed: float
    at_once: int
    retries: int = 0


PROFILES = {
    "fast": Profile(speed=20.0, at_once=4, retries=AGAIN),
    "full": Profile(speed=1.0, at_once=24),
}


def run_all(
    cells: Sequence[Cell], profile: Profile, *, on_done: Callable[[], None] = lambda: None
) -> Iterator[Row]:
    """Run all cells; their rows come in their order, as soon as they are there.

    Args:
        on_done: Called after each cell, whatever its place.
    """
    rows: list[SimpleQueue[Row]] = [SimpleQueue() for _ in cells]
    todo = deque(sorted(range(len(cells)), key=lambda number: -cells[number].weight_s))

    def work(stop: Stop) -> None:
        while todo and not stop.is_set:
            with suppress(IndexError):  # another thread took the last one
                number = todo.popleft()
                rows[number].put(_row_of(cells[number]))
                on_done()

    threads = ThreadRunner()
    try:
        works = [threads.start(work, "crash-test") for _ in range(profile.at_once)]
        for queue, cell in zip(rows, cells, strict=True):
            row = queue.get()
            for _ in range(profile.retries):
                if row.may_be_the_machines:
                    _await(works)
                    row = _row_of(cell)
            yield row
    finally:
        threads.close()


def _row_of(cell: Cell) -> Row:
    try:
        score, seen = cell.run()
    except Exception as error:  # noqa: BLE001 - one broken cell does not keep the others from it
        why = f"could not be run: {type(error).__name__}: {redact(str(error))}"
        score, seen = Score(grade=Grade.FAIL, why=(why,)), None
    return Row(fault=cell.fault, name=cell.name, dialect=cell.dialect, score=score, seen=seen)


def _await(works: Sequence[Work[None]]) -> None:
    for work in works:
        work.result(None)
