"""The faults of providers, in every dialect: the data is the wall's, see its `faults`."""

from collections.abc import Callable, Iterator

from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.wall.behaviour import Behaviour
from turnkeeper.infrastructure.wall.fault import FROM_PRIMARY, Fault, Outage
from turnkeeper.infrastructure.wall.faults import FAULTS
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.interfaces.crashtest.ground import Ground
from turnkeeper.interfaces.crashtest.observed import Observed
from turnkeeper.interfaces.crashtest.place import MemoryPlace
from turnkeeper.interfaces.crashtest.row import Cell, Result
from turnkeeper.interfaces.crashtest.score import Grade, Score, score, score_outage


def cells(ground: Ground, dialects: tuple[str, ...]) -> Iterator[Cell]:
    """Every fault in every dialect."""
    for fault in FAULTS:
        for dialect in dialects:
            yield Cell(
                fault=fault.id,
                name=fault.name,
                dialect=dialect,
                run=_running(ground, fault, dialect),
                weight_s=fault.for_s if isinstance(fault, Outage) else fault.bounds.within_s,
            )


def met(ground: Ground, fault: Fault, dialect: str) -> Result:
    """Meet a fault in one turn."""
    family = ground.family(dialect)
    if (reason := dict(fault.not_in).get(family)) is not None:
        return Score(grade=Grade.NOT_APPLICABLE, why=(reason,)), None
    house = ground.house(dialect)
    house.script(fault.met_by_primary(family), fault.fallback)
    seen = ground.watch.observed(house, MemoryPlace())
    return score(fault, seen, ground.content_filter), seen


def gone_through(ground: Ground, outage: Outage, dialect: str) -> Result:
    """Run turns during an outage and after it."""
    clock, house = ground.clock, ground.house(dialect)
    first_s = clock.monotonic()
    over_at_s = first_s + outage.for_s

    def primary(seen: Seen) -> Behaviour:
        return outage.down if clock.monotonic() < over_at_s else FROM_PRIMARY

    def turn() -> Observed:
        began_s = clock.monotonic()
        seen = ground.watch.observed(house, MemoryPlace())
        clock.sleep(began_s + outage.every_s - clock.monotonic())
        return later(seen, began_s - first_s)

    house.script((primary,))
    meanwhile, afterwards = [], []
    while clock.monotonic() < over_at_s:
        meanwhile.append(turn())
    while clock.monotonic() < over_at_s + outage.back_within_s:
        afterwards.append(turn())
        if afterwards[-1].caller.answered_by == "primary":
            break
    every = (*meanwhile, *afterwards)
    return score_outage(outage, meanwhile, afterwards), _together(every)


def _running(ground: Ground, fault: Fault | Outage, dialect: str) -> Callable[[], Result]:
    if isinstance(fault, Outage):
        return lambda: gone_through(ground, fault, dialect)
    return lambda: met(ground, fault, dialect)


def later(seen: Observed, by_s: float) -> Observed:
    """The same, with calls that count from an earlier instant."""
    calls = tuple(replace(call, at_s=call.at_s + by_s) for call in seen.provider.primary)
    return replace(seen, provider=replace(seen.provider, primary=calls))


def _together(turns: tuple[Observed, ...]) -> Observed:
    """The last turn, with what the provider and the channels saw of all of them."""
    last = turns[-1]
    provider = replace(
        last.provider,
        primary=tuple(call for turn in turns for call in turn.provider.primary),
        fallback_calls=sum(turn.provider.fallback_calls for turn in turns),
    )
    channel = replace(
        last.channel,
        said=tuple(text for turn in turns for text in turn.channel.said),
        notices=sum(turn.channel.notices for turn in turns),
        errors=sum(turn.channel.errors for turn in turns),
        taken_back=sum(turn.channel.taken_back for turn in turns),
    )
    return replace(last, provider=provider, channel=channel)
