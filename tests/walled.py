"""A turnkeeper whose server has models alpha and beta on the wall, and what its turns came to."""

from pathlib import Path
from typing import TypeVar

from builders import SERVER, a_request

from turnkeeper.domain.contract import breaches
from turnkeeper.domain.events import Entry, Event, InvocationEnded, KeyBooked
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

E = TypeVar("E", bound=Event)

MODELS = ("alpha", "beta")


def settings_of(folder: Path, **settings: object) -> Settings:
    """The memory store unless said otherwise, and nobody asked for limits."""
    values = {
        "store": "memory",
        "data_dir": folder,
        "live_limits": False,
        "hold_chars": 0,  # so that a first word can be seen
    }
    return Settings(**(values | settings))


def opened(wall: Wall, folder: Path, **settings: object) -> Turnkeeper:
    """A turnkeeper with both models, one key each."""
    keeper = Turnkeeper.open(settings_of(folder, **settings))
    use_both(keeper, wall, SERVER)
    return keeper


def use_both(keeper: Turnkeeper, wall: Wall, server: Owner) -> None:
    """Let a server ask alpha, and beta if that fails."""
    for number, name in enumerate(MODELS, start=1):
        keeper.configure.save_endpoint(
            server,
            Endpoint(
                id=0,
                connection_id=number,
                label=name,
                base_url=wall.base_url,
                model_name=name,
                trusted=True,
            ),
        )
        keeper.configure.add_key(server, f"custom:{number}", f"sk-{name}")
    first, *others = (f"endpoint:{one.id}" for one in keeper.configure.endpoints(server))
    keeper.configure.use_model(server.id, first)
    keeper.configure.set_fallbacks(server.id, tuple(others))


class Walled:
    """One turn of such a turnkeeper at a time, with its journal."""

    def __init__(self, keeper: Turnkeeper, wall: Wall) -> None:
        self.keeper = keeper
        self.wall = wall
        self.entries: list[Entry] = []
        self.sink = MemorySink()

    def run(
        self,
        request: TurnRequest | None = None,
        sink: MemorySink | None = None,
        *,
        turn_id: str | None = None,
    ) -> TurnResult:
        """Run a turn; its journal must keep the contract."""
        self.entries = []
        self.sink = sink or MemorySink()
        result = self.keeper.run(
            request or a_request(), self.sink, on_event=self.entries.append, turn_id=turn_id
        )
        assert breaches(tuple(self.entries)) == ()
        return result

    def events(self, kind: type[E]) -> list[E]:
        """The events of this kind, in order."""
        return [entry.event for entry in self.entries if isinstance(entry.event, kind)]

    @property
    def ends(self) -> list[tuple[int, str, str]]:
        """Of each invocation its attempt, its outcome, and which limit or what reason."""
        return [(e.attempt_no, e.outcome, e.detail) for e in self.events(InvocationEnded)]

    @property
    def booked(self) -> list[tuple[str, str]]:
        """What was booked on the keys, and what rests for it."""
        return [(e.booking, e.rests) for e in self.events(KeyBooked)]

    def calls(self, model: str) -> int:
        """How often a model was asked."""
        return sum(seen.model == model for seen in self.wall.seen)
