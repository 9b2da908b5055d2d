"""The faults of the store: a Postgres of its own fails before a turn, in it, or at its end.

A fault is a line of `FAULTS`; how it is done is in `breakable_store`. They take their own time,
whatever the profile.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from threading import Lock
from typing import Literal

from turnkeeper.domain.events import TurnEnded
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.hurry import HurriedClock
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.fault import FROM_PRIMARY, PATIENT, STORY
from turnkeeper.interfaces.crashtest.breakable_store import BreakableStore, What
from turnkeeper.interfaces.crashtest.ground import BuiltInStreet, Ground
from turnkeeper.interfaces.crashtest.observed import Observed
from turnkeeper.interfaces.crashtest.place import MemoryPlace
from turnkeeper.interfaces.crashtest.row import Cell, Result
from turnkeeper.interfaces.crashtest.score import Grade, Score, hard_lies_of
from turnkeeper.interfaces.crashtest.street import House
from turnkeeper.interfaces.crashtest.watched import Watch
from turnkeeper.interfaces.settings import Settings

MAX_CHARS = 600
"""Short messages, so that an answer is several."""
TAKES_S = 10.0


class End(Enum):
    """How a turn ends whose store fails."""

    REFUSED = "no provider is asked, and one clear error is said"
    ANSWERED = "the whole answer stands, and is booked when the store is back"


@frozen
class StoreFault:
    """A fault of the store.

    Attributes:
        id: What it is known by.
        what: How the store fails.
        when: Before the turn, with its first message of several, or with its only one.
    """

    id: str
    what: What
    when: Literal["before", "in the middle of", "at the end of"]

    @property
    def end(self) -> End:
        """How the turn ends: once something was said, it is said to its end."""
        is_lasting = self.what != "cut off"
        return End.REFUSED if self.when == "before" and is_lasting else End.ANSWERED


FAULTS = (
    StoreFault(id="C01", what="stopped", when="before"),
    StoreFault(id="C02", what="stopped", when="in the middle of"),
    StoreFault(id="C03", what="stopped", when="at the end of"),
    StoreFault(id="C04", what="cut off", when="before"),
    StoreFault(id="C05", what="cut off", when="in the middle of"),
    StoreFault(id="C06", what="no connections", when="before"),
    StoreFault(id="C07", what="no connections", when="in the middle of"),
    StoreFault(id="C08", what="disk full", when="before"),
    StoreFault(id="C09", what="disk full", when="in the middle of"),
    StoreFault(id="C10", what="read-only", when="in the middle of"),
)
NAMES: Mapping[What, str] = {
    "stopped": "Postgres is stopped",
    "cut off": "all connections to Postgres are cut",
    "no connections": "Postgres takes no connection more",
    "disk full": "the disk of Postgres is full",
    "read-only": "Postgres is read-only",
}


def cells(ground: Ground, dialects: tuple[str, ...]) -> Iterator[Cell]:
    """Every fault in the first dialect: to the store they are all the same."""
    shared = _Shared(ground)
    for fault in FAULTS:
        yield Cell(
            fault=fault.id,
            name=f"{NAMES[fault.what]} {fault.when} a turn",
            dialect=dialects[0],
            run=_running(shared, fault, dialects[0]),
            weight_s=TAKES_S,
        )


class _StoredStreet(BuiltInStreet):
    """A street whose turnkeeper keeps what it keeps in a database."""

    database_url = ""

    def _settings(self, limits: TimeLimits) -> Settings:
        kept = {"store": "postgres", "database_url": self.database_url, "pool_size": 4}
        return super()._settings(limits).model_copy(update=kept)


def met(ground: Ground, store: BreakableStore, fault: StoreFault, dialect: str) -> Result:
    """Meet a fault of the store in a turn, mend it, and see whether the next one goes on."""
    clock = HurriedClock(1.0)
    watch = Watch(clock=clock, runner=ground.threads)
    way = ground.ways[dialect]
    street = _StoredStreet(way, ground.wall(way), ground.http, store.folder, clock=clock)
    street.database_url, street.servers = store.url, store.servers
    results: list[TurnResult] = []
    try:
        house = House(street, PATIENT)
        house.script((STORY if fault.when == "in the middle of" else FROM_PRIMARY,))
        try:
            seen = watch.observed(house, _place(store, fault), keep=results.append)
        finally:
            store.mend(fault.what)
        house.script((FROM_PRIMARY,))
        # Elsewhere: its channel is free once the heartbeat has written the end of the first.
        after = watch.observed(house, MemoryPlace("another channel"))
        left = tuple(_left_over(house, results, after))
    finally:
        street.close()
    return score_of(fault, seen, left), seen


def score_of(fault: StoreFault, seen: Observed, left: tuple[str, ...]) -> Score:
    """How well a turn came through a fault of the store.

    Args:
        left: What is not as it should be once the store is back.
    """
    if lies := tuple(hard_lies_of(seen)):
        return Score(grade=Grade.FAIL, why=lies)
    wrong = tuple(_refused(seen) if fault.end is End.REFUSED else _answered(fault, seen))
    if wrong:
        return Score(grade=Grade.FAIL, why=wrong)
    return Score(grade=Grade.PARTIAL, why=left) if left else Score(grade=Grade.PASS)


def _refused(seen: Observed) -> Iterator[str]:
    if seen.caller.status is not TurnStatus.ERROR or seen.channel.errors != 1:
        yield "no clear error was said"
    if asked := len(seen.provider.primary) + seen.provider.fallback_calls:
        yield f"providers were asked {asked} times, though nothing can be kept"
    if seen.channel.said:
        yield "something of an answer stands in the channel"


def _answered(fault: StoreFault, seen: Observed) -> Iterator[str]:
    answer = STORY if fault.when == "in the middle of" else FROM_PRIMARY
    if seen.caller.status is not TurnStatus.COMPLETED:
        yield "the answer that had begun was not finished"
    if " ".join(seen.channel.said).split() != answer.whole_text.split():
        yield "what stands in the channel is not the whole answer"
    if seen.channel.errors:
        yield "an error was said beside the answer"


def _left_over(house: House, results: list[TurnResult], after: Observed) -> Iterator[str]:
    if after.caller.status is not TurnStatus.COMPLETED:
        yield "the store is back, and the next turn is not answered"
        return
    for result in results:
        ended = [one for one in house.keeper.events(result.turn_id) if _is_end(one.event)]
        if result.status is TurnStatus.COMPLETED and len(ended) != 1:
            yield "the journal of the turn has no end"
    saved = house.keeper.configure.saved_keys(house.server)
    if lent := sum(one.key.health.in_flight for one in saved):
        yield f"{lent} leases were never given back"


def _is_end(event: object) -> bool:
    return isinstance(event, TurnEnded)


def _place(store: BreakableStore, fault: StoreFault) -> MemoryPlace:
    """A channel in memory; the store fails at once, or just before the first message."""
    todo = [partial(store.break_by, fault.what)]

    def fail(_: str) -> None:
        while todo:
            todo.pop()()

    if fault.when == "before":
        fail("")
    return MemoryPlace(sink=MemorySink(max_chars=MAX_CHARS, trouble=fail))


class _Shared:
    """The one store of a crash test; one fault after the other has it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._lock = Lock()
        self._store: BreakableStore | None = None

    def met(self, fault: StoreFault, dialect: str) -> Result:
        with self._lock:
            if self._store is None:
                self._store = self._ground.kept(BreakableStore())
            return met(self._ground, self._store, fault, dialect)


def _running(shared: _Shared, fault: StoreFault, dialect: str) -> Callable[[], Result]:
    return lambda: shared.met(fault, dialect)
