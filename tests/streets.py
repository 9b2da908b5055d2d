"""Turnkeepers whose providers are walls, one street for each dialect."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from types import MappingProxyType

from turnkeeper.domain.contract import breaches
from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.events import Entry
from turnkeeper.domain.model import Capabilities, Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.replay import replayed
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.tools.registry import ToolRegistry
from turnkeeper.infrastructure.wall.anthropic_dialect import AnthropicDialect
from turnkeeper.infrastructure.wall.dialect import Dialect, OpenAiDialect
from turnkeeper.infrastructure.wall.fault import (
    FROM_FALLBACK,
    FROM_PRIMARY,
    Family,
    Steps,
    Verdict,
    Who,
)
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.parts import providers_of
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SERVER = Owner.server("guild")
FALLBACK = "beta"
SPARE = "spare"
TEXTS = {"primary": FROM_PRIMARY.whole_text, "fallback": FROM_FALLBACK.whole_text, None: ""}
SAID = ("system", "systemInstruction", "messages", "contents")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A provider whose address is the wall's, what the wall speaks there, and its first model."""

    name: str
    family: Family
    dialect: Dialect
    path: str
    primary: str = "alpha"


WAYS = (
    Way(name="openai", family="openai", dialect=OpenAiDialect(), path="/v1"),
    Way(name="custom", family="openai", dialect=OpenAiDialect(), path="/v1"),
    Way(
        name="openrouter",
        family="openrouter",
        dialect=OpenAiDialect(base_path="/api/v1", reasoning_field="reasoning"),
        path="/api/v1",
    ),
    Way(name="google", family="google", dialect=GeminiDialect(), path="/v1beta"),
    Way(name="anthropic", family="anthropic", dialect=AnthropicDialect(), path="/v1"),
    Way(
        name="novelai",
        family="openai",
        dialect=OpenAiDialect(base_path="/oa/v1"),
        path="",
        primary="xialong-v1",  # whose window is the same for all, so that nobody is asked for it
    ),
)


class ShiftedClock(SystemClock):
    """The machine's clock, some time ahead."""

    def __init__(self) -> None:
        self._ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead_s

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._ahead_s)

    def advance(self, seconds: float) -> None:
        self._ahead_s += seconds


class Street:
    """The wall where one way leads, and turnkeepers that go there, by their time limits."""

    def __init__(self, way: Way, wall: Wall, http: HttpClient, folder: Path) -> None:
        self.way = way
        self.wall = wall
        self.clock = ShiftedClock()
        self.servers = count(1)
        self.tools = ToolRegistry()
        self._http = http
        self._folder = folder
        self._keepers: dict[TimeLimits, Turnkeeper] = {}

    @property
    def base_url(self) -> str:
        return f"{self.wall.url}{self.way.path}"

    def keeper(self, limits: TimeLimits) -> Turnkeeper:
        if limits not in self._keepers:
            self._keepers[limits] = self._opened(limits)
        return self._keepers[limits]

    def close(self) -> None:
        for keeper in self._keepers.values():
            keeper.close(0.0)

    def _opened(self, limits: TimeLimits) -> Turnkeeper:
        settings = Settings(
            store="memory",
            data_dir=self._folder,
            live_limits=False,
            base_urls={} if self.way.name == "custom" else {self.way.name: self.base_url},
            first_progress_s=limits.first_progress_s,
            silence_ms=int(limits.silence_s * 1000),
            settle_ms=int(limits.settle_s * 1000),
        )
        providers = providers_of(settings, self._http, self.clock)
        providers.register(SPARE, providers.find(self.way.name))
        return Turnkeeper.open(
            settings, clock=self.clock, chat_providers=providers, tools=self.tools
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
        self.sink = MemorySink()
        models = (self._model(self.primary, street.way.name, 1), self._model(FALLBACK, SPARE, 2))
        self.keeper.configure.use_model(self.server.id, models[0])
        self.keeper.configure.set_fallbacks(self.server.id, models[1:])

    def script(self, primary: Steps, fallback: Steps = (FROM_FALLBACK,)) -> None:
        self.street.wall.script(primary, model=self.primary)
        self.street.wall.script(fallback, model=FALLBACK)

    def run(self, conversation: Conversation = QUESTION) -> TurnResult:
        entries: list[Entry] = []
        self.sink = MemorySink()
        request = TurnRequest(conversation=conversation, server_id=self.server.id)
        result = self.keeper.run(request, self.sink, on_event=entries.append)
        assert breaches(tuple(entries)) == ()
        assert replayed(entries).differences == ()
        return result

    def answerer(self) -> Who | None:
        """Whose answer a turn gets, whole."""
        winner = self._winner(self.run())
        assert self.sink.channel.text == TEXTS[winner]
        return winner

    def calls(self, model: str) -> list[Seen]:
        return [seen for seen in self.street.wall.seen if seen.key == self._key(model)]

    def verdict(self, result: TurnResult) -> Verdict:
        """What was to be seen: in the result, in the channel, and by the provider."""
        winner = self._winner(result)
        sizes = [len(seen.raw) for seen in self.calls(self.primary)]
        assert self.sink.channel.text == result.text == TEXTS[winner]
        return Verdict(
            answered_by=winner,
            primary_calls=len(sizes),
            fallback_calls=len(self.calls(FALLBACK)),
            failures=tuple(failed.failure.kind for failed in result.failures),
            status=result.status,
            takes_back=self.sink.channel.deleted != (),
            shrinks=len(sizes) > 1 and sizes == sorted(set(sizes), reverse=True),
        )

    def _winner(self, result: TurnResult) -> Who | None:
        if result.success_model is None:
            return None
        return "primary" if result.success_model.name == self.primary else "fallback"

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
