"""A whole soak: a city is founded, processes run turns, blows fall, and what is left is seen."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos import audit, city
from chaos.crew import Crew
from chaos.providers import Outside, outside
from chaos.script import SERVERS, Blow, blows
from chaos.store import BeatenStore, beaten_store
from chaos.worker import Orders
from sqlalchemy import Engine, text
from sweepers import let_it_be_dead

from turnkeeper.application.sweep_report import SweepReport
from turnkeeper.infrastructure.postgres.engine import connected, create_engine_for
from turnkeeper.interfaces.turnkeeper import Turnkeeper

MOST_GROWTH_MB = 5.0
STALLED_S = 120.0
"""After so long without the end of any turn, they hang."""
DEAD_AFTER_S = 65.0
ALL_SWEPT_S = 200.0
"""Longer than the claim of a sweeper that was killed too."""
WEIGHED_FROM = 1500
"""A process that ran fewer turns is not judged by its growth."""
LONG_OUTAGE_FROM = 5000
LONG_OUTAGE_S = 75.0
"""Longer than a turn may go without a sign of life; early, as it belongs to what warms up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What is to be played.

    Attributes:
        first: The number of the first turn, to run only some of many again.
        blow_each: About one blow for so many turns; 0 for none.
        waits: Whether dead turns are waited for; else their time is moved.
    """

    seed: int
    turns: int
    processes: int = 4
    servers: int = SERVERS
    threads: int = 8
    first: int = 0
    blow_each: int = 200
    waits: bool = True

    @property
    def command(self) -> str:
        """What plays it again."""
        return (
            f"python -m tests.chaos.soak --seed {self.seed} --turns {self.turns}"
            f" --processes {self.processes} --threads {self.threads} --first {self.first}"
            f" --servers {self.servers} --blow-each {self.blow_each}"
        )


def play(asked: Play, folder: Path) -> list[str]:
    """Play it, and return what was wrong."""
    say(f"seed {asked.seed}; again: {asked.command}")
    with beaten_store() as store, outside() as world:
        return _played(asked, folder, store, world)


def say(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


def _played(asked: Play, folder: Path, store: BeatenStore, world: Outside) -> list[str]:
    data, root = folder / "data", folder / "root"
    direct = city.settings_of(data, store.direct_url, world.addresses, sweep_every_s=0)
    with city.opened(direct, root) as keeper:
        city.settle(keeper, asked.servers)
    orders = Orders(
        seed=asked.seed,
        url=store.url,
        data=str(data),
        root=str(root),
        threads=asked.threads,
        servers=asked.servers,
        addresses=world.addresses,
    )
    crew = Crew(orders, processes=asked.processes, first=asked.first, turns=asked.turns)
    began_s = time.monotonic()
    try:
        if not _struck(asked, crew, store):
            running = dict(crew.log.under_way)
            return [f"no turn ended for {STALLED_S:g} s; under way: {running}", *crew.log.findings]
        crew.end()
    finally:
        crew.abort()
    took_s = time.monotonic() - began_s
    say(f"{crew.count} turns ended in {took_s:.0f} s; all that ran: {dict(crew.log.statuses)}")
    with _engine(store) as engine, city.opened(direct, root) as keeper:
        _sweep(asked, engine, keeper)
        found = list(audit.findings(engine, keeper, crew.log, data))
        expected, suspects = audit.standing(engine), audit.suspects(engine)
        say(f"units: {dict(audit.units(engine))}; lost by kills: {len(crew.log.lost)}")
    shown = {channel: set(ids) for channel, ids in world.end().items()} | audit.in_folders(root)
    for channel, stray in audit.strays(expected, shown):
        found.append(f"channel {channel} {stray}; suspects: {suspects.get(channel)}")
    found += _heavy(crew)
    if crew.log.goodbyes != asked.processes:
        found.append(f"{crew.log.goodbyes} of {asked.processes} processes ended well")
    return [*crew.log.findings, *found]


def _struck(asked: Play, crew: Crew, store: BeatenStore) -> bool:
    """Deal all blows at their times; False if turns hang."""
    dealt = list(blows(asked.seed, asked.turns, each=asked.blow_each)) if asked.blow_each else []
    if asked.turns >= LONG_OUTAGE_FROM:
        dealt.append(Blow(at=asked.turns // 6, kind="stopped", for_s=LONG_OUTAGE_S))
    for number, blow in enumerate(sorted(dealt, key=lambda one: one.at)):
        if not crew.await_count(blow.at, stalled_s=STALLED_S):
            return False
        so_far = f"{crew.count}/{asked.turns} turns; {_weight(crew)}"
        say(f"{so_far}; {blow.kind} for {blow.for_s:.1f} s")
        if blow.kind == "killed":
            # The first half live on, so that their growth can be seen.
            index = asked.processes - 1 - number % max(1, asked.processes // 2)
            say(f"killed process {index} with {crew.kill(index)} turns under way")
            continue
        with store.blow(blow.kind)():
            time.sleep(blow.for_s)
    return crew.await_count(asked.turns, stalled_s=STALLED_S)


def _sweep(asked: Play, engine: Engine, keeper: Turnkeeper) -> None:
    if asked.waits:
        say(f"waiting {DEAD_AFTER_S:g} s, until the dead count as dead")
        time.sleep(DEAD_AFTER_S)
    else:
        let_it_be_dead(engine)
        _let_all_be_due(engine)
    until_s = time.monotonic() + ALL_SWEPT_S
    while True:
        report = keeper.sweep()
        if report != SweepReport():
            say(
                f"swept {len(report.lost)} lost turns: {len(report.taken_back)} messages taken"
                f" back, {len(report.stuck)} stuck, {report.absent} absent, {report.unsure} unsure"
            )
        if not audit.is_due_later(engine) or time.monotonic() > until_s:
            return
        time.sleep(5.0)


def _heavy(crew: Crew) -> Iterator[str]:
    for index, weights in sorted(crew.log.weights.items()):
        grown = audit.growth_mb(weights)
        ran, rss = weights[-1]
        shown = "unknown" if grown is None else f"{grown:+.1f} MB per 3,000 turns"
        say(f"process {index}: {ran} turns, {rss / 1e6:.0f} MB, growth {shown}")
        if grown is not None and ran >= WEIGHED_FROM and grown > MOST_GROWTH_MB:
            yield f"process {index} grows by {grown:.1f} MB per 3,000 turns"


def _weight(crew: Crew) -> str:
    last = {index: weights[-1][1] for index, weights in crew.log.weights.items() if weights}
    return "MB: " + " ".join(f"{rss / 1e6:.0f}" for _, rss in sorted(last.items()))


def _let_all_be_due(engine: Engine) -> None:
    """As if a while had passed: claims are over, and nobody was lent a key just now."""
    with connected(engine) as connection:
        connection.execute(text("UPDATE turns SET sweep_due = now() WHERE sweep_due > now()"))
        connection.execute(
            text("UPDATE key_state SET last_leased_at = last_leased_at - interval '2 minutes'")
        )


@contextmanager
def _engine(store: BeatenStore) -> Iterator[Engine]:
    engine = create_engine_for(store.direct_url, pool_size=2, application_name="audit")
    yield engine
    engine.dispose()
