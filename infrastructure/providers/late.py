"""Providers whose code is imported with their first call: a process asks few of them."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import StreamEvent
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.natives import ANTHROPIC, GOOGLE, NOVELAI, Native


class LateProvider(ChatProvider):
    """A provider that is made with its first call.

    Args:
        make: Makes it, once or, where threads meet, now and then twice; it heeds its stop.
    """

    heeds_stop = True

    def __init__(self, make: Callable[[], ChatProvider]) -> None:
        self._make = make

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        return self._provider.stream(call, key=key, stop=stop, deadline=deadline)

    @cached_property
    def _provider(self) -> ChatProvider:
        return self._make()


def native_provider(
    native: Native, *, http: HttpClient, clock: Clock, base_url: str = ""
) -> LateProvider:
    """What asks a provider in its own form; at another address than its own if one is given."""
    make = _MAKERS[native.name]
    return LateProvider(partial(make, http, clock, base_url or native.base_url))


def _gemini(http: HttpClient, clock: Clock, base_url: str) -> ChatProvider:
    from turnkeeper.infrastructure.providers.gemini import GeminiProvider

    return GeminiProvider(http=http, clock=clock, base_url=base_url)


def _anthropic(http: HttpClient, clock: Clock, base_url: str) -> ChatProvider:
    from turnkeeper.infrastructure.providers.anthropic import AnthropicProvider

    return AnthropicProvider(http=http, clock=clock, base_url=base_url)


def _novelai(http: HttpClient, clock: Clock, base_url: str) -> ChatProvider:
    from turnkeeper.infrastructure.providers.novelai import NovelAiProvider

    return NovelAiProvider(http=http, clock=clock, base_url=base_url)


_MAKERS: Mapping[str, Callable[[HttpClient, Clock, str], ChatProvider]] = {
    GOOGLE.name: _gemini,
    ANTHROPIC.name: _anthropic,
    NOVELAI.name: _novelai,
}
