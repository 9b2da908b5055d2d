"""What providers say of their models now, looked up beside the turns."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import inf
from threading import Lock
from typing import TYPE_CHECKING

from turnkeeper.application.ports.chat_provider import (
    ChatCall,
    ChatProvider,
    LimitsCatalogue,
)
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Runner, Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.model_facts import ModelFacts
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import StreamEvent
from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpRequest

if TYPE_CHECKING:
    from turnkeeper.infrastructure.providers.list_sources import ListSource
    from turnkeeper.infrastructure.providers.model_lists import Facts

LOOKUP_LIMIT_S = 5.0
KEPT_S = 24 * 3600.0
KEPT_AFTER_FAILURE_S = 600.0

_MOST_BYTES = 8 * 1024 * 1024  # the longest known list has a twelfth of it


@dataclass(slots=True, kw_only=True)
class _Shelf:
    """One provider's list as it was last read; the catalogue's lock guards all but the source."""

    source: "ListSource"
    facts: "Facts" = field(default_factory=dict)
    due_at_s: float = -inf
    is_asked: bool = False

    def find(self, model: str) -> ModelFacts | None:
        return self.facts.get(model) or self.facts.get(self.source.listed_as(model))


class ModelCatalogue(LimitsCatalogue):
    """Keeps each provider's list for a day, and what it said until it says something else.

    Lists are looked up through the runner, one look-up at a time for each provider, and nobody
    waits for them. A public list is looked up when somebody asks for one of its models, the
    others when a key is offered, which is not kept.

    Args:
        sources: The lists; none to look up nothing.
        lookup_limit_s: The longest wait for a reply, and for its end.
    """

    def __init__(
        self,
        *,
        http: HttpClient,
        clock: Clock,
        runner: Runner,
        sources: "Iterable[ListSource]",
        lookup_limit_s: float = LOOKUP_LIMIT_S,
    ) -> None:
        self._http = http
        self._clock = clock
        self._runner = runner
        self._lookup_limit_s = lookup_limit_s
        self._lock = Lock()  # guards what is on the shelves
        shelves = [_Shelf(source=source) for source in sources]
        self._shelves = {name: shelf for shelf in shelves for name in shelf.source.names}

    def facts(self, provider: str, model: str) -> ModelFacts | None:
        shelf = self._shelves.get(provider)
        if shelf is None:
            return None
        if not shelf.source.takes_key:
            self._refresh(shelf, None)
        return shelf.find(model)

    def offer(self, provider: str, key: Secret) -> None:
        """Let a provider's list be looked up with this key, if it is time to; never raises."""
        shelf = self._shelves.get(provider)
        if shelf is not None and shelf.source.takes_key:
            self._refresh(shelf, key)

    def _refresh(self, shelf: _Shelf, key: Secret | None) -> None:
        with self._lock:
            if shelf.is_asked or self._clock.monotonic() < shelf.due_at_s:
                return
            shelf.is_asked = True
        try:
            self._runner.start(partial(self._look_up, shelf, key), "model-list")
        except Exception:  # noqa: BLE001 - no turn fails for want of a list
            self._keep(shelf, {})

    def _look_up(self, shelf: _Shelf, key: Secret | None, stop: Stop) -> None:
        facts: Facts = {}
        try:
            lists = (self._said(url, shelf.source, key, stop) for url in shelf.source.urls)
            facts = next((one for one in lists if one), {})
        finally:
            self._keep(shelf, facts)

    def _said(self, url: str, source: "ListSource", key: Secret | None, stop: Stop) -> "Facts":
        """What the list at one address says; nothing if there is none."""
        stop.check()
        request = HttpRequest(
            url=url, headers=source.headers, secret_headers=source.key_headers(key)
        )
        try:
            reply = self._http.get_json(
                request, stop=stop, limit_bytes=_MOST_BYTES, timeout_s=self._lookup_limit_s
            )
        except HttpError:
            return {}
        return source.read(reply.value) if reply.status < 300 else {}

    def _keep(self, shelf: _Shelf, facts: "Facts") -> None:
        kept_s = KEPT_S if facts else KEPT_AFTER_FAILURE_S
        with self._lock:
            shelf.is_asked = False
            shelf.due_at_s = self._clock.monotonic() + kept_s
            shelf.facts = facts or shelf.facts


class ListedProvider(ChatProvider):
    """A provider whose list is looked up with the keys that its calls bring.

    Args:
        provider: Answers the calls.
        name: The name under which it is registered.
    """

    def __init__(self, provider: ChatProvider, *, name: str, catalogue: ModelCatalogue) -> None:
        self._provider = provider
        self.heeds_stop = getattr(provider, "heeds_stop", False)
        self._name = name
        self._catalogue = catalogue

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        if key is not None and call.endpoint is None:
            self._catalogue.offer(self._name, key)
        return self._provider.stream(call, key=key, stop=stop, deadline=deadline)
