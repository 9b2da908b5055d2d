"""What happens in a soak, drawn from its seed: the fate of each turn, and the blows to the store.

Values only. A turn's fate depends on the seed and its number alone, so that one of many turns can
be run again by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Literal

from turnkeeper.infrastructure.wall.fault import Fault
from turnkeeper.infrastructure.wall.faults import FAULTS

SERVERS = 120
USERS = 6
CHANNELS = 4
"""Users and channels of each server."""
HOT = 3
"""So many servers get a share of all turns, so that turns meet in their channels and quotas."""
HOT_SHARE = 0.15
DISCORD_EACH = 3
"""Every third server speaks in Discord, the others into folders."""
WELL = "well"
PROVIDER_FAULTS = tuple(fault.id for fault in FAULTS if isinstance(fault, Fault))
FAULT_SHARE = 0.45
AGAIN_SHARE = 0.04
AGAIN_BACK = 40

Signal = Literal["", "stop", "follow up"]
SinkTrouble = Literal["", "slow", "refuses", "keeps"]
BlowKind = Literal[
    "stopped",
    "restarted",
    "slow",
    "frozen",
    "cut",
    "crowded",
    "read only",
    "terminated",
    "disk full",
    "killed",
]
KINDS: tuple[BlowKind, ...] = (
    "stopped",
    "killed",
    "restarted",
    "slow",
    "terminated",
    "crowded",
    "killed",
    "read only",
    "frozen",
    "disk full",
    "cut",
    "terminated",
)
"""One round of blows; each round has them in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What one turn meets.

    Attributes:
        number: Which turn.
        trigger: Its trigger; a turn that comes again has an earlier one's, and its place and user.
        server_no: In which server.
        user_no: Whose turn.
        channel_no: Where in the server.
        fault: What its providers do: the id of a fault, or `WELL`.
        sink: What its destination does.
        signal: What somebody sends it while it runs ...
        signal_s: ... and when.
        is_for_caller: Whether a failure is told to the caller alone.
        jumps_s: How far the time of day jumps in its process as it begins.
    """

    number: int
    trigger: str
    server_no: int
    user_no: int
    channel_no: int
    fault: str
    sink: SinkTrouble = ""
    signal: Signal = ""
    signal_s: float = 0.0
    is_for_caller: bool = False
    jumps_s: float = 0.0

    @property
    def server(self) -> str:
        return f"guild-{self.server_no}"

    @property
    def user(self) -> str:
        return f"user-{self.server_no}-{self.user_no}"

    @property
    def is_in_discord(self) -> bool:
        return self.server_no % DISCORD_EACH == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Blow:
    """What happens to the store, or to a process.

    Attributes:
        at: Once so many turns have ended.
        for_s: How long.
    """

    at: int
    kind: BlowKind
    for_s: float


def fate(seed: int, number: int, servers: int = SERVERS) -> Fate:
    """The fate of a turn in a city of so many servers."""
    dice = Random(f"{seed}.{number}")
    if number >= AGAIN_BACK and dice.random() < AGAIN_SHARE:
        return _again(fate(seed, number - dice.randint(1, AGAIN_BACK), servers), number)
    is_hot = dice.random() < HOT_SHARE
    server_no = dice.randrange(HOT if is_hot else servers)
    return Fate(
        number=number,
        trigger=f"t{number}",
        server_no=server_no,
        user_no=dice.randrange(USERS),
        channel_no=dice.randrange(CHANNELS),
        fault=dice.choice(PROVIDER_FAULTS) if dice.random() < FAULT_SHARE else WELL,
        sink=dice.choices(("", "slow", "refuses", "keeps"), weights=(92, 4, 2, 2))[0],
        signal=dice.choices(("", "stop", "follow up"), weights=(94, 3, 3))[0],
        signal_s=dice.uniform(0.0, 0.4),
        is_for_caller=dice.random() < 0.05,
        jumps_s=dice.choice((-86_400.0, -3600.0, 3600.0, 86_400.0)) if dice.random() < 0.01 else 0,
    )


def _again(earlier: Fate, number: int) -> Fate:
    """The same trigger once more, as a gateway sends it after a reconnect."""
    return Fate(
        number=number,
        trigger=earlier.trigger,
        server_no=earlier.server_no,
        user_no=earlier.user_no,
        channel_no=earlier.channel_no,
        fault=earlier.fault,
    )


def blows(seed: int, turns: int, *, each: int) -> tuple[Blow, ...]:
    """The blows to a run of so many turns, about one for `each` turns, none at its very end."""
    dice = Random(f"blows {seed}")
    kinds = islice(_rounds(dice), max(0, turns // each - 1))
    return tuple(
        Blow(at=each * n + dice.randrange(each // 2), kind=kind, for_s=dice.uniform(0.3, 2.5))
        for n, kind in enumerate(kinds, start=1)
    )


def _rounds(dice: Random) -> Iterator[BlowKind]:
    while True:
        yield from dice.sample(KINDS, len(KINDS))
