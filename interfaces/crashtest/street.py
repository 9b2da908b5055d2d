"""Turnkeepers whose providers are walls, one street for each dialect."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Runner
from turnkeeper.application.ports.sink import Sink
from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.events import Entry
from turnkeeper.domain.model import Capabilities, Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.policy import ContentFilterPolicy, TimeLimits, TurnPolicy
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.tools.registry import ToolRegistry
from turnkeeper.infrastructure.wall.fault import FROM_FALLBACK, FROM_PRIMARY, Steps, Who
from turnkeeper.infrastructure.wall.script import InTurn
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.crashtest.ways import Way
from turnkeeper.interfaces.providers import providers_of
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

FALLBACK = "beta"
SPARE = "spare"
TEXTS: Mapping[Who | None, str] = {
    "primary": FROM_PRIMARY.whole_text,
    "fallback": FROM_FALLBACK.whole_text,
    None: "",
}

QUESTION = Conversation(
    items=(
        Item.said(Role.SYSTEM, "You keep a lighthouse.", None),
        *(
            Item.said(role, f"Word {number} of a long evening. " * 12)
            for number in range(1, 7)
            for role in (Role.USER, Role.MODEL)
        ),
        Item.said(Role.USER, "What does a keeper do when the lamp goes out?"),
    )
)


class Street:
    """The wall where one way leads, and turnkeepers that go there, by their time limits.

    Args:
        clock: The machine's, if None.
        runner: A turnkeeper's own, if None.
    """

    def __init__(
        self,
        way: Way,
        wall: Wall,
        http: HttpClient,
        folder: Path,
        *,
        clock: Clock | None = None,
        runner: Runner | None = None,
    ) -> None:
        self.way = way
        self.wall = wall
        self.clock: Clock = clock or SystemClock()
        self.servers = count(1)
        self.tools = ToolRegistry()
        self._http = http
        self._folder = folder
        self._others: dict[str, object] = {} if runner is None else {"runner": runner}
        self._keepers: dict[TimeLimits, Turnkeeper] = {}

    @property
    def base_url(self) -> str:
        """Where the way leads."""
        return f"{self.wall.url}{self.way.path}"

    def keeper(self, limits: TimeLimits) -> Turnkeeper:
        """The turnkeeper with these limits."""
        if limits not in self._keepers:
            self._keepers[limits] = self._opened(limits)
        return self._keepers[limits]

    def close(self) -> None:
        """Close all turnkeepers."""
        for keeper in self._keepers.values():
            keeper.close(0.0)

    def _opened(self, limits: TimeLimits) -> Turnkeeper:
        settings = self._settings(limits)
        providers = providers_of(settings, self._http, self.clock)
        providers.register(SPARE, providers.find(self.way.name))
        return Turnkeeper.open(
            settings, clock=self.clock, chat_providers=providers, tools=self.tools, **self._others
        )

    def _settings(self, limits: TimeLimits) -> Settings:
        return Settings(
            store="memory",
            data_dir=self._folder,
            live_limits=False,
            base_urls={} if self.way.name == "custom" else {self.way.name: self.base_url},
            first_progress_s=limits.first_progress_s,
            silence_ms=int(limits.silence_s * 1000),
            settle_ms=int(limits.settle_s * 1000),
        )


class House:
    """A server of its own whose primary and fallback are on the wall, with one key each.

    Args:
        can: What endpoints can do, by their model; by default what endpoints can.
    """

    def __init__(
        self,
        street: Street,
        limits: TimeLimits,
        can: Mapping[str, Capabilities] = MappingProxyType({}),
    ) -> None:
        self.street = street
        self.can = can
        self.keeper = street.keeper(limits)
        self.primary = street.way.primary
        self.server = Owner.server(f"guild-{next(street.servers)}")
        models = (self._model(self.primary, street.way.name, 1), self._model(FALLBACK, SPARE, 2))
        self.keeper.configure.use_model(self.server.id, models[0])
        self.keeper.configure.set_fallbacks(self.server.id, models[1:])

    @property
    def policy(self) -> TurnPolicy:
        """How hard its turns try."""
        return TurnPolicy()

    def filters(self, policy: ContentFilterPolicy) -> None:
        """Say what is done where content is refused."""
        self.keeper.configure.set_content_filter(self.server.id, policy)

    def script(self, primary: Steps, fallback: Steps = (FROM_FALLBACK,)) -> None:
        """Say what the calls of each model meet."""
        self._put(primary, self.primary)
        self._put(fallback, FALLBACK)

    def request(self, conversation: Conversation = QUESTION, **more: Any) -> TurnRequest:
        """A turn of this server."""
        return TurnRequest(conversation=conversation, server_id=self.server.id, **more)

    def ran(
        self, request: TurnRequest, sink: Sink, *, turn_id: str | None = None
    ) -> tuple[TurnResult, tuple[Entry, ...]]:
        """Run a turn; its result and its journal."""
        entries: list[Entry] = []
        result = self.keeper.run(request, sink, on_event=entries.append, turn_id=turn_id)
        return result, tuple(entries)

    def calls(self, model: str) -> list[Seen]:
        """What was asked of a model, in order."""
        return [seen for seen in self.street.wall.seen if seen.key == self._key(model)]

    @property
    def of_primary(self) -> Sequence[Seen]:
        """The calls of the primary, in order."""
        return self.calls(self.primary)

    @property
    def of_fallback(self) -> Sequence[Seen]:
        """The calls of all others, in order."""
        return self.calls(FALLBACK)

    def winner(self, result: TurnResult) -> Who | None:
        """Who answered, as the result has it."""
        if result.success_model is None:
            return None
        return "primary" if result.success_model.name == self.primary else "fallback"

    def _put(self, steps: Steps, model: str) -> None:
        self.street.wall.script(InTurn(steps), model=model, key=self._key(model))

    def _key(self, model: str) -> str:
        return f"sk-{model}-{self.server.id}"

    def _model(self, name: str, provider: str, connection_id: int) -> str:
        configure = self.keeper.configure
        if self.street.way.name != "custom":
            model = configure.register_model(f"{provider}:{name}")
            configure.add_key(self.server, provider, self._key(name))
            return model.id
        endpoint = Endpoint(
            id=0,
            connection_id=connection_id,
            label=name,
            base_url=self.street.base_url,
            trusted=True,
            capabilities=self.can.get(name, Capabilities()),
        )
        saved = configure.save_endpoint(self.server, endpoint)
        configure.add_key(self.server, saved.provider, self._key(name))
        return f"endpoint:{saved.id}"
