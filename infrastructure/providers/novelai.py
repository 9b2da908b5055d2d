"""NovelAI: its story models by its own text API, its chat models by the one in OpenAI's shape."""

from collections.abc import Iterator
from functools import partial

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import StreamEvent
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.call_terms import CallTerms
from turnkeeper.infrastructure.providers.dialects import Dialect
from turnkeeper.infrastructure.providers.native_exchange import NativeExchange
from turnkeeper.infrastructure.providers.natives import NOVELAI
from turnkeeper.infrastructure.providers.novelai_answer import NovelAiAnswer
from turnkeeper.infrastructure.providers.novelai_request import draft_of, expected_of
from turnkeeper.infrastructure.providers.openai_compatible import OpenAICompatibleProvider

NAME = NOVELAI.name
BASE_URL = NOVELAI.base_url
CHAT_PATH = "/oa/v1"
STORY_MODELS = frozenset({"clio-v1", "kayra-v1", "llama-3-erato-v1"})

DIALECT = Dialect(
    name=NAME,
    base_url=f"{BASE_URL}{CHAT_PATH}",
    key_env=NOVELAI.key_env,
    sampling=frozenset(
        {
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "frequency_penalty",
            "presence_penalty",
            "stop",
        }
    ),
    asks_for_usage=False,
    effort_field="",
)


class NovelAiProvider(ChatProvider):
    """Asks over HTTP. An account answers one call at a time and refuses a second one.

    Args:
        base_url: Of both APIs, without a path.
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
        self._chat = OpenAICompatibleProvider(
            http=http,
            clock=clock,
            dialect=replace(DIALECT, base_url=f"{self._base_url}{CHAT_PATH}"),
            trailer_grace_s=trailer_grace_s,
        )
        self._exchange = NativeExchange(http=http, clock=clock, trailer_grace_s=trailer_grace_s)

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        if call.model.name not in STORY_MODELS:
            return self._chat.stream(call, key=key, stop=stop, deadline=deadline)
        terms = CallTerms(speaker=NAME, key=key, stop=stop, deadline=deadline)
        draft = draft_of(call, base_url=self._base_url, key=key)
        answer = partial(NovelAiAnswer, expected=expected_of(call))
        return self._exchange.events(draft, terms, answer)
