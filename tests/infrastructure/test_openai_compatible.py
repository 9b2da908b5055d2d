"""Providers of OpenAI's shape, over real sockets."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from builders import an_endpoint
from contracts.chat_provider import CANARY, HELLO, KEY, ChatProviderContract, kind_of, text_of

from turnkeeper.application.ports.chat_provider import ChatProvider
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.model import Endpoint, Sampling
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, TextDelta
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.dialects import CUSTOM, DIALECTS, Dialect
from turnkeeper.infrastructure.providers.openai_compatible import (
    Attribution,
    OpenAICompatibleProvider,
)
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.wall import answer as walls
from turnkeeper.infrastructure.wall.behaviour import Refuse, Replay
from turnkeeper.infrastructure.wall.server import Wall


def provider_at(http: HttpClient, base_url: str, dialect: Dialect = CUSTOM) -> ChatProvider:
    return OpenAICompatibleProvider(
        http=http, clock=SystemClock(), dialect=replace(dialect, base_url=base_url)
    )


class TestOpenAICompatibleProvider(ChatProviderContract):
    @pytest.fixture
    def provider(self, wall: Wall, http: HttpClient) -> ChatProvider:
        return provider_at(http, wall.base_url)

    @pytest.fixture
    def unreachable(self, http: HttpClient) -> ChatProvider:
        return provider_at(http, "http://127.0.0.1:1/v1")

    def test_a_refused_parameter_is_left_out_at_once_and_from_then_on(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script([refusing("top_k"), HELLO])
        provider = provider_at(http, wall.base_url)

        texts = [text_of(self.ask(provider, Sampling(top_k=3))) for _ in range(2)]

        assert texts == ["Hello there"] * 2
        assert ["top_k" in seen.body for seen in wall.seen] == [True, False, False]

    def test_what_one_model_refuses_is_still_told_another(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script([refusing("top_k"), HELLO])
        provider = provider_at(http, wall.base_url)

        self.ask(provider, Sampling(top_k=3))
        self.ask(provider, Sampling(top_k=3), model="beta")

        assert "top_k" in wall.seen[-1].body

    def test_a_refused_value_is_left_out_and_another_value_is_sent(
        self, wall: Wall, http: HttpClient
    ) -> None:
        message = "Invalid 'temperature': decimal above maximum value"
        refusal = Refuse(status=400, body={"error": {"message": message, "param": "temperature"}})
        wall.script([refusal, HELLO])
        provider = provider_at(http, wall.base_url)

        for temperature in (9.0, 9.0, 1.0):
            self.ask(provider, Sampling(temperature=temperature))

        assert [seen.body.get("temperature") for seen in wall.seen] == [9.0, None, None, 1.0]

    def test_a_longest_answer_goes_by_its_other_name_where_the_first_is_refused(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script([refusing("max_tokens"), HELLO])
        call = replace(self.call(), max_output_tokens=50)

        list(
            provider_at(http, wall.base_url).stream(
                call, key=KEY, stop=ThreadStop(), deadline=NEVER
            )
        )

        limits = [
            (seen.body.get("max_tokens"), seen.body.get("max_completion_tokens"))
            for seen in wall.seen
        ]
        assert limits == [(50, None), (None, 50)]

    def test_three_parameters_are_left_out_and_no_more(self, wall: Wall, http: HttpClient) -> None:
        names = ("temperature", "top_p", "top_k", "min_p")
        wall.script([*map(refusing, names), HELLO])
        sampling = Sampling(temperature=1.0, top_p=1.0, top_k=1, min_p=0.1)

        events = self.ask(provider_at(http, wall.base_url), sampling)

        assert [kind_of(event) for event in events] == [FailureKind.BAD_REQUEST]
        assert len(wall.seen) == 4

    def test_a_parameter_that_was_not_sent_is_no_reason_to_ask_again(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script(refusing("messages"))

        events = self.ask(provider_at(http, wall.base_url), Sampling(top_k=1))

        assert [kind_of(event) for event in events] == [FailureKind.BAD_REQUEST]
        assert len(wall.seen) == 1

    def test_leaving_out_what_did_not_help_is_not_remembered(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script([refusing("top_k"), Refuse(status=400, body="No."), HELLO])
        provider = provider_at(http, wall.base_url)

        for _ in range(2):
            self.ask(provider, Sampling(top_k=3))

        assert ["top_k" in seen.body for seen in wall.seen] == [True, False, True]

    def ask(
        self, provider: ChatProvider, sampling: Sampling, model: str = "alpha"
    ) -> list[StreamEvent]:
        call = replace(self.call(model), sampling=sampling)
        return list(provider.stream(call, key=KEY, stop=ThreadStop(), deadline=NEVER))

    def test_an_endpoint_is_asked_at_its_own_address_by_its_own_model(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script(HELLO)
        endpoint = replace(
            an_endpoint(base_url=f"{wall.base_url}/"), trusted=True, model_name="mine-7b"
        )

        self.at_endpoint(http, endpoint)

        assert [(seen.model, seen.key) for seen in wall.seen] == [("mine-7b", None)]

    def test_an_endpoint_that_is_not_trusted_is_asked_at_its_checked_address(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script(HELLO)
        base_url = wall.base_url.replace("127.0.0.1", "models.example")
        asked: list[str] = []

        def address_of(url: str) -> str:
            asked.append(url)
            return "127.0.0.1"

        endpoint = replace(an_endpoint(base_url=base_url), trusted=False)
        events = self.at_endpoint(http, endpoint, address_of=address_of)

        assert text_of(events) == "Hello there"
        assert asked == [f"{base_url}/chat/completions"]

    def test_an_endpoint_that_nobody_can_check_is_not_asked(
        self, wall: Wall, http: HttpClient
    ) -> None:
        endpoint = replace(an_endpoint(base_url=wall.base_url), trusted=False)
        events = self.at_endpoint(http, endpoint)

        assert [kind_of(event) for event in events] == [FailureKind.BAD_REQUEST]
        assert wall.seen == ()

    def at_endpoint(
        self,
        http: HttpClient,
        endpoint: Endpoint,
        address_of: Callable[[str], str] | None = None,
    ) -> list[StreamEvent]:
        provider = OpenAICompatibleProvider(http=http, clock=SystemClock(), address_of=address_of)
        call = replace(self.call(), endpoint=endpoint)
        return list(provider.stream(call, key=None, stop=ThreadStop(), deadline=NEVER))

    def test_the_app_is_named_where_that_is_wanted_and_nowhere_else(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script(HELLO)
        app = Attribution(site="https://bot.example", title="Bot")

        for name in ("openrouter", "groq"):
            provider = OpenAICompatibleProvider(
                http=http,
                clock=SystemClock(),
                dialect=replace(dialect(name), base_url=wall.base_url),
                attribution=app,
            )
            self.events(provider)

        named = [
            (seen.headers.get("http-referer"), seen.headers.get("x-openrouter-title"))
            for seen in wall.seen
        ]
        assert named == [("https://bot.example", "Bot"), (None, None)]

    def test_a_key_that_no_header_can_carry_is_a_failure_of_the_key(
        self, wall: Wall, http: HttpClient
    ) -> None:
        stream = provider_at(http, wall.base_url).stream(
            self.call(), key=Secret("schlüssel…\n"), stop=ThreadStop(), deadline=NEVER
        )

        events = list(stream)

        assert [kind_of(event) for event in events] == [FailureKind.AUTH]
        assert "schl" not in repr(events)

    def test_a_key_goes_in_the_header_that_the_provider_wants(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script(HELLO)

        self.events(provider_at(http, wall.base_url, dialect("azure")))

        assert (wall.seen[0].headers["api-key"], wall.seen[0].key) == (CANARY, None)

    def test_half_a_character_is_replaced_and_the_rest_is_asked(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script(HELLO)
        call = replace(self.call(), conversation=Conversation.of("hi \ud83d"))

        list(
            provider_at(http, wall.base_url).stream(
                call, key=KEY, stop=ThreadStop(), deadline=NEVER
            )
        )

        assert wall.seen[0].body["messages"] == [{"role": "user", "content": "hi ?"}]

    def test_a_body_that_never_ends_behind_its_finish_holds_nobody_up(
        self, wall: Wall, http: HttpClient
    ) -> None:
        finish = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
        wall.script(Replay(body=finish + b": still here", slice_bytes=len(finish), gap_s=3600.0))
        provider = OpenAICompatibleProvider(
            http=http,
            clock=SystemClock(),
            dialect=replace(CUSTOM, base_url=wall.base_url),
            trailer_grace_s=0.01,
        )

        events = self.events(provider)

        assert events == [Finished(reason=FinishReason.STOP, raw=("stop",))]

    def test_a_body_that_never_ends_behind_its_last_word_holds_nobody_up(
        self, wall: Wall, http: HttpClient
    ) -> None:
        body = b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n'
        wall.script(Replay(body=body + b": still here", slice_bytes=len(body), gap_s=3600.0))

        events = self.events(provider_at(http, wall.base_url))

        assert events == [TextDelta("hi"), Finished(reason=FinishReason.STOP, confirmed=False)]

    def test_a_connection_is_used_again_though_the_answer_gave_no_reason_for_its_end(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script(walls.Answer(text="hi", finish=None))

        for _ in range(2):
            self.events(provider_at(http, wall.base_url))

        assert (len(wall.seen), wall.connections) == (2, 1)

    def test_an_answer_that_was_not_streamed_is_taken_as_it_is(
        self, wall: Wall, http: HttpClient
    ) -> None:
        wall.script(
            Replay(
                body=b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}',
                headers=(("Content-Type", "application/json"),),
            )
        )

        events = self.events(provider_at(http, wall.base_url))

        assert events == [TextDelta("hi"), Finished(reason=FinishReason.STOP, raw=("stop",))]


def refusing(name: str) -> Refuse:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    return Refuse(status=400, body={"error": {"message": message, "code": "unsupported_parameter"}})


def dialect(name: str) -> Dialect:
    return next(dialect for dialect in DIALECTS if dialect.name == name)
