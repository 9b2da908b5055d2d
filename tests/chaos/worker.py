"""A process that runs turns: ``python -m chaos.worker``, told what to do as lines of JSON.

The first line says where everything is; each further one is the number of a turn. Each turn that
begins and each that ends is one line of its standard output, and when its input is over, what it
holds of the machine is the last one.
"""

import gc
import json
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from random import Random
from threading import Lock, Thread, Timer
from typing import Any

import psutil
from chaos import city
from chaos.providers import Addresses
from chaos.script import Fate, fate
from file_channel import FileSink
from held import Held, comes_back

from turnkeeper.application.ports.sink import Sink
from turnkeeper.domain.contract import breaches
from turnkeeper.domain.errors import (
    AlreadyRunning,
    SinkError,
    StoreError,
    TurnFailed,
    TurnkeeperError,
)
from turnkeeper.domain.events import Entry, QuotaReserved, QuotaSettled, TurnEnded
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import Delivery
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.interfaces.turnkeeper import Turnkeeper

AWAY_S = 4.0
"""How long a thread leaves the store alone that was away."""
SLOW_S = 0.7
OPEN_TRIES = 200
WEIGHED_EACH = 100
"""How often the process is weighed, in turns."""
DRAIN_S = 60.0

CameTo = TurnResult | AlreadyRunning | TurnFailed


class JumpingClock(SystemClock):
    """The machine's clock, whose time of day jumps when it is told to."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self._ahead

    def jump(self, seconds: float) -> None:
        self._ahead += timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a worker is told first."""

    seed: int
    url: str
    data: str
    root: str
    threads: int
    servers: int
    addresses: Addresses

    def line(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, line: str) -> "Orders":
        values = json.loads(line)
        return cls(**{**values, "addresses": Addresses.of(values["addresses"])})


class Worker:
    """Runs the turns whose numbers come in, on some threads, and says what they came to."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._clock = JumpingClock()
        self._root = Path(orders.root)
        self._numbers: SimpleQueue[int | None] = SimpleQueue()
        self._lock = Lock()  # guards the output and the count
        self._ran = 0

    def work(self, lines: Iterable[str]) -> None:
        with self._opened():  # what a process opens once and keeps
            pass
        baseline = Held.now()
        with self._opened() as keeper:
            threads = [
                Thread(target=self._run_all, args=(keeper,), name=f"worker-{n}")
                for n in range(self._orders.threads)
            ]
            for thread in threads:
                thread.start()
            self.say(ready=True)
            for line in lines:
                self._numbers.put(int(line))
            for _ in threads:
                self._numbers.put(None)
            for thread in threads:
                thread.join()
            self._weigh()
        self.say(baseline=asdict(baseline), held=asdict(comes_back(baseline)))

    def say(self, **values: Any) -> None:
        with self._lock:
            sys.stdout.write(json.dumps(values) + "\n")
            sys.stdout.flush()

    def _opened(self) -> Turnkeeper:
        orders = self._orders
        settings = city.settings_of(
            Path(orders.data),
            orders.url,
            orders.addresses,
            max_turns=orders.threads,
            sweep_every_s=15.0,
        )
        for _ in range(OPEN_TRIES):
            try:
                return city.opened(settings, self._root, self._clock)
            except StoreError:
                time.sleep(0.3)
        raise SystemExit("the store did not come back")

    def _run_all(self, keeper: Turnkeeper) -> None:
        while (number := self._numbers.get()) is not None:
            try:
                self._run(keeper, fate(self._orders.seed, number, self._orders.servers))
            except Exception as error:  # noqa: BLE001 - it is what a soak is to find
                self.say(n=number, bug=f"{type(error).__name__}: {error}")

    def _run(self, keeper: Turnkeeper, one: Fate) -> None:
        self._clock.jump(one.jumps_s)
        entries: list[Entry] = []
        request = city.request_of(one, self._orders.addresses)
        sink = self._sink(keeper, one)
        turn_id = f"{one.number}-{Random().randrange(16**8):x}"
        self.say(n=one.number, began=turn_id)
        timer = self._signal(keeper, one, turn_id)
        came_to: CameTo
        try:
            came_to = keeper.run(request, sink, on_event=entries.append, turn_id=turn_id)
        except (AlreadyRunning, TurnFailed) as raised:
            came_to = raised
        finally:
            timer.cancel()
        # Threads that note at the same time may be heard in another order.
        journal = tuple(sorted(entries, key=lambda entry: entry.seq))
        self.say(n=one.number, **told(turn_id, came_to, journal))
        if is_store_away(came_to):
            time.sleep(AWAY_S)
        with self._lock:
            self._ran += 1
            is_due = self._ran % WEIGHED_EACH == 0
        if is_due:
            self._weigh()

    def _signal(self, keeper: Turnkeeper, one: Fate, turn_id: str) -> Timer:
        send = keeper.follow_up if one.signal == "follow up" else keeper.stop

        def signal() -> None:
            with suppress(TurnkeeperError):  # the store is away, or the turn is over
                send(turn_id)

        timer = Timer(one.signal_s, signal)
        if one.signal:
            timer.start()
        return timer

    def _weigh(self) -> None:
        gc.collect()
        self.say(rss=psutil.Process().memory_info().rss, ran=self._ran)

    def _sink(self, keeper: Turnkeeper, one: Fate) -> Sink:
        if one.is_in_discord:
            return keeper.discord_sink()
        channel = city.channel_of(one, self._orders.addresses)
        return TroubledSink(one, folder=city.folder_of(self._root, channel))


class TroubledSink(FileSink):
    """A folder that may be slow, refuse, or keep what it is to delete."""

    def __init__(self, one: Fate, *, folder: Path) -> None:
        super().__init__(folder, at_post=self._meet)
        self._fate = one

    def take_back(self, delivery: Delivery) -> bool:
        if self._fate.sink == "keeps":
            raise SinkError("this stays")
        return super().take_back(delivery)

    def _meet(self, when: str, number: int) -> None:
        if self._fate.sink == "slow" and when == "before":
            time.sleep(SLOW_S)
        if self._fate.sink == "refuses" and when == "before" and number > 1:
            raise SinkError("no more of this")


def told(turn_id: str, came_to: CameTo, entries: tuple[Entry, ...]) -> dict[str, Any]:
    """What a turn came to, as far as others are to check it."""
    events = [entry.event for entry in entries]
    ended = [event for event in events if isinstance(event, TurnEnded)]
    broken = [str(breach) for breach in breaches(entries)] if ended else []
    if isinstance(came_to, TurnResult) and (came_to.turn_id == turn_id) != bool(ended):
        broken.append(f"it ended {len(ended)} times, and its result is that of {came_to.turn_id}")
    status = came_to.status.value if isinstance(came_to, TurnResult) else type(came_to).__name__
    return {
        "turn": turn_id,
        "status": status if ended or not isinstance(came_to, TurnResult) else "again",
        "ended": bool(ended),
        "breaches": broken,
        "reserved": sum(isinstance(event, QuotaReserved) for event in events),
        "used": [e.trigger_key for e in events if isinstance(e, QuotaSettled) and e.committed],
        "given_back": sum(isinstance(e, QuotaSettled) and not e.committed for e in events),
        "kept": list(ended[0].kept) if ended else [],
    }


def is_store_away(came_to: CameTo) -> bool:
    """Whether it was no use to begin."""
    if not isinstance(came_to, TurnResult):
        return "store" in str(came_to)
    said = (one.failure.kind for one in came_to.stream_results if one.failure)
    return FailureKind.STORE in said


def main() -> None:
    Worker(Orders.of(sys.stdin.readline())).work(sys.stdin)


if __name__ == "__main__":
    main()
