"""The faults of Discord, each while a provider's answer is cut: a part of it is to be taken back.

A fault is a line of `FAULTS`; what Discord does then is in `discord_double.faults`.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Literal

from turnkeeper.application.ports.sink import Sink
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.turn import Persona
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.infrastructure.discord_double import faults as of_discord
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.wall import faults as of_providers
from turnkeeper.infrastructure.wall.fault import Fault
from turnkeeper.interfaces.crashtest.ground import Ground
from turnkeeper.interfaces.crashtest.observed import Channel, Observed
from turnkeeper.interfaces.crashtest.place import Place
from turnkeeper.interfaces.crashtest.row import Cell, Result
from turnkeeper.interfaces.crashtest.score import Grade, Score, hard_lies_of, score
from turnkeeper.interfaces.crashtest.town import Town

(CUT,) = (one for one in of_providers.FAULTS if isinstance(one, Fault) and one.id == "S08")
TAKES_S = 14.0
MANNERS = Manners(max_chars=600, shows_typing=False)
"""Short messages, so that several stand there when the answer is cut."""


class End(Enum):
    """How a turn ends that meets a fault of Discord."""

    ANSWERED = "the whole answer stands alone"
    STUCK = "the whole answer stands behind what Discord does not delete, and the journal says so"
    UNREACHABLE = "nobody is there any more: the turn is skipped, and nothing more is said"
    UNSAID = "nothing can be said: the turn ends in error, and that is what its caller gets"


@frozen
class DiscordFault:
    """A fault of Discord.

    Attributes:
        id: What it is known by.
        name: Its name in `discord_double.faults`.
        end: How the turn ends.
        speaker: Who speaks: the bot itself, or a persona through a webhook.
    """

    id: str
    name: str
    end: End = End.ANSWERED
    speaker: Literal["bot", "webhook"] = "bot"


FAULTS = (
    DiscordFault(id="D01", name="a post is rate limited"),
    DiscordFault(id="D02", name="a post fails and was not done"),
    DiscordFault(id="D03", name="a post fails and was done"),
    DiscordFault(id="D04", name="the answer to a post is lost"),
    DiscordFault(id="D05", name="a delete is rate limited"),
    DiscordFault(id="D06", name="a delete fails"),
    DiscordFault(id="D07", name="deletes are refused", end=End.STUCK),
    DiscordFault(id="D08", name="the channel is deleted mid-stream", end=End.UNREACHABLE),
    DiscordFault(id="D09", name="sending is forbidden mid-stream", end=End.UNREACHABLE),
    DiscordFault(id="D10", name="the token is revoked mid-stream", end=End.UNREACHABLE),
    DiscordFault(id="D11", name="the thread is archived mid-stream"),
    DiscordFault(id="D12", name="the webhook is deleted mid-stream", speaker="webhook"),
    DiscordFault(id="D13", name="a post meets the hidden webhook limit", speaker="webhook"),
    DiscordFault(id="D14", name="all posts fail", end=End.UNSAID),
)
PERSONAS = {"bot": Persona(), "webhook": Persona(id="mira", name="Mira", is_alter=True)}


def cells(ground: Ground, dialects: tuple[str, ...]) -> Iterator[Cell]:
    """Every fault in the first dialect: to Discord they are all the same."""
    for fault in FAULTS:
        yield Cell(
            fault=fault.id,
            name=f"{fault.name}, beside a cut",
            dialect=dialects[0],
            run=_running(ground, fault, dialects[0]),
            weight_s=TAKES_S,
        )


class TownPlace(Place):
    """A channel of a town, or a thread of it, in which somebody has asked."""

    def __init__(self, town: Town, persona: Persona, *, in_thread: bool) -> None:
        self._town = town
        self._persona = persona
        self._channel = town.discord.add_channel()
        self._place = town.discord.add_thread(self._channel) if in_thread else self._channel
        self._trigger = town.discord.say(self._place, "Hello?")

    @property
    def asked(self) -> Mapping[str, Any]:
        return {
            "channel_id": self._place,
            "parent_channel_id": self._channel if self._place != self._channel else None,
            "trigger_id": self._trigger,
            "persona": self._persona,
        }

    def sink(self) -> Sink:
        return self._town.sink()

    def look(self) -> Channel:
        seen = self._town.seen(self._place)
        gone = [one for one in self._town.discord.deleted(self._place) if one.message.content]
        return Channel(
            said=seen.answer,
            notices=seen.notices,
            errors=seen.errors,
            taken_back=sum(one.message.application_id is not None for one in gone),
        )


def met(ground: Ground, fault: DiscordFault, dialect: str) -> Result:
    """Meet a fault of Discord in one turn whose first answer is cut."""
    house = ground.house(dialect)
    house.script(CUT.met_by_primary(ground.family(dialect)), CUT.fallback)
    with DiscordDouble(clock=ground.clock) as discord:
        town = Town(discord, ground.clock, ground.runner, MANNERS)
        try:
            place = TownPlace(town, PERSONAS[fault.speaker], in_thread="thread" in fault.name)
            discord.break_with(of_discord.FAULTS[fault.name])
            seen = ground.watch.observed(house, place)
        finally:
            town.close()
        was_met = not discord.unmet
    return score_of(fault, seen, ground, was_met=was_met), seen


def score_of(fault: DiscordFault, seen: Observed, ground: Ground, *, was_met: bool = True) -> Score:
    """How well a turn came through a fault of Discord; nobody comes through what never came.

    Args:
        was_met: Whether Discord did fail.
    """
    scored = _score_of(fault, seen, ground)
    if scored.grade is Grade.PASS and not was_met:
        return Score(grade=Grade.FAIL, why=("it never met the fault",))
    return scored


def _score_of(fault: DiscordFault, seen: Observed, ground: Ground) -> Score:
    match fault.end:
        case End.ANSWERED | End.STUCK:
            scored = score(CUT, seen, ground.content_filter)
            is_stuck = seen.channel.stuck > 0
            if scored.grade is Grade.PASS and is_stuck != (fault.end is End.STUCK):
                return Score(grade=Grade.PARTIAL, why=(f"{seen.channel.stuck} messages are stuck",))
            return scored
        case End.UNREACHABLE:
            return _ended(TurnStatus.SKIPPED, seen, fault.end)
        case End.UNSAID:
            return _ended(TurnStatus.ERROR, seen, fault.end)


def _ended(status: TurnStatus, seen: Observed, end: End) -> Score:
    """A turn of which nobody can be told: it ends as it should, and says nothing more."""
    if lies := tuple(hard_lies_of(seen)):
        return Score(grade=Grade.FAIL, why=lies)
    channel = seen.channel
    if seen.caller.status is not status:
        ended = seen.caller.status.value if seen.caller.status else "nothing"
        return Score(grade=Grade.FAIL, why=(f"it ended as {ended}, not as {status.value}",))
    if channel.notices or channel.errors:
        return Score(grade=Grade.PARTIAL, why=("it went on speaking where nobody is",))
    return Score(grade=Grade.PASS, why=(end.value,))


def _running(ground: Ground, fault: DiscordFault, dialect: str) -> Callable[[], Result]:
    return lambda: met(ground, fault, dialect)
