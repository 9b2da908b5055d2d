"""Anthropic's Claude models, by the Messages API."""

from collections.abc import Iterator

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import StreamEvent
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.anthropic_answer import AnthropicAnswer
from turnkeeper.infrastructure.providers.anthropic_request import draft_of
from turnkeeper.infrastructure.providers.call_terms import CallTerms
from turnkeeper.infrastructure.providers.native_exchange import NativeExchange
from turnkeeper.infrastructure.providers.natives import ANTHROPIC

NAME = ANTHROPIC.name
BASE_URL = ANTHROPIC.base_url


class AnthropicProvider(ChatProvider):
    """Asks over HTTP.

    Args:
        base_url: Up to and with the version.
        trailer_grace_s: How long a body may stay open behind the reason for the answer's end.
    """

    heeds_stop = True

    def __init__(
        self,
        *,
        http: HttpClient,
        clock: Clock,
        base_url: str = BASE_URL,
        trailer_grace_s: float = 2.0,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._exchange = NativeExchange(http=http, clock=clock, trailer_grace_s=trailer_grace_s)

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        terms = CallTerms(speaker=NAME, key=key, stop=stop, deadline=deadline)
        draft = draft_of(call, base_url=self._base_url, key=key)
        return self._exchange.events(draft, terms, AnthropicAnswer)
