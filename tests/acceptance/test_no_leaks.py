"""Many turns, some cut, some stalled, some posting too slowly: nothing of them is left."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from builders import a_request
from held import PATIENCE_S, Held, comes_back
from walled import MODELS, opened, use_both

from turnkeeper.domain.contract import breaches
from turnkeeper.domain.events import EffectFailed, Entry
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Behaviour, CutAfter, Stall
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SEED = 20260720
TURNS = 5_000 if os.environ.get("TURNKEEPER_SOAK") == "1" else 500
AT_ONCE = 8
SLOW_SENDS = 12
LIMITS: dict[str, object] = {
    "first_progress_s": 0.4,
    "silence_ms": 600,
    "attempt_s": 2.0,
    "settle_ms": 1000,
    "turn_s": 60.0,
}
OUTLIVES_S = 4.5  # longer than the attempt and its settle time together

ALPHA = Answer(tokens=("What the first ", "model said ", "of it."))
BETA = Answer(tokens=("What the second ", "model said."))
WHOLE = (ALPHA.whole_text, BETA.whole_text)


class Fates:
    """Whether the first model answers, is cut or stalls; drawn anew for each of its calls."""

    def __init__(self, seed: int) -> None:
        self._draw = Random(seed)
        self._lock = threading.Lock()  # guards both; calls come in from many connections
        self.drawn: list[str] = []

    def __call__(self, seen: Seen) -> Behaviour:
        with self._lock:
            (fate,) = self._draw.choices(("answer", "cut", "stall"), weights=(80, 10, 10))
            self.drawn.append(fate)
            tokens = self._draw.randint(0, 2)
        if fate == "cut":
            return CutAfter(tokens=tokens, of=ALPHA)
        return Stall(after_tokens=tokens, of=ALPHA) if fate == "stall" else ALPHA


def sends_slowly(text: str) -> None:
    """A send of the first model's text that nobody waits for any more when it arrives."""
    if text.startswith("What the first"):
        time.sleep(OUTLIVES_S)


@dataclass(frozen=True, slots=True)
class Ran:
    result: TurnResult
    sink: MemorySink
    entries: list[Entry]

    @property
    def is_left_behind(self) -> bool:
        """Whether the journal owns up to a stream that ran on."""
        effects = (e.event.effect for e in self.entries if isinstance(e.event, EffectFailed))
        return "abandoned stream" in effects


def run(keeper: Turnkeeper, wall: Wall, number: int) -> Ran:
    """A turn whose messages grow while the text comes.

    In a server of its own, as a model that was late would rest for the others.
    """
    use_both(keeper, wall, server := Owner.server(f"guild-{number}"))
    slow = number < SLOW_SENDS
    sink = MemorySink(edit_interval_s=0.0, trouble=sends_slowly if slow else None)
    entries: list[Entry] = []
    request = a_request(server_id=server.id)
    result = keeper.run(request, sink, on_event=entries.append)
    return Ran(result, sink, entries)


def many(folder: Path, turns: int, seed: int) -> tuple[list[Ran], Fates]:
    """So many turns, and all that they run on opened before and closed behind them."""
    fates = Fates(seed)
    with Wall() as wall:
        wall.script(fates, model=MODELS[0])
        wall.script(BETA, model=MODELS[1])
        with (
            opened(wall, folder, max_turns=AT_ONCE, **LIMITS) as keeper,
            ThreadPoolExecutor(AT_ONCE) as pool,
        ):
            return list(pool.map(lambda number: run(keeper, wall, number), range(turns))), fates


def is_settled(ran: Ran) -> bool:
    return ran.sink.channel.text.strip() == ran.result.text


def until_all(ran: list[Ran], settled: Callable[[Ran], bool]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not all(map(settled, ran)) and time.monotonic() < until_s:
        threading.Event().wait(0.05)


@pytest.mark.timeout(3600 if TURNS > 500 else 120)
def test_after_many_turns_of_which_many_were_abandoned_nothing_is_left(tmp_path: Path) -> None:
    many(tmp_path, 20, SEED + 1)  # what a process opens once and keeps
    baseline = Held.now()

    ran, fates = many(tmp_path, TURNS, SEED)
    until_all(ran, is_settled)

    assert comes_back(baseline) == baseline
    assert {one.result.status for one in ran} == {TurnStatus.COMPLETED}
    assert {one.result.text for one in ran} == set(WHOLE)
    assert [one.sink.channel.text.strip() for one in ran] == [one.result.text for one in ran]
    assert {breach for one in ran for breach in breaches(tuple(one.entries))} == set()
    assert fates.drawn.count("cut") > TURNS / 20
    assert fates.drawn.count("stall") > TURNS / 20
    assert any(one.is_left_behind for one in ran[:SLOW_SENDS])
    assert not any(one.is_left_behind for one in ran[SLOW_SENDS:])
