"""Anthropic's Claude models: what is asked over real sockets, and how answers are read."""

import json
from dataclasses import replace
from typing import Any

import pytest
from builders import a_model
from contracts.chat_provider import (
    CANARY,
    HELLO,
    ChatProviderContract,
    calls_of,
    kind_of,
    text_of,
)
from native_calls import (
    EVERYTHING,
    SYSTEM,
    WHALE,
    asked,
    body_in,
    call_of,
    called,
    said,
    told_both_ways,
)

from turnkeeper.application.ports.chat_provider import ChatProvider
from turnkeeper.domain.conversation import (
    ImagePart,
    Item,
    ReasoningPart,
    Role,
    Tag,
    TextPart,
    ToolResultPart,
    ToolSpec,
)
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.model import Limits, Model, Sampling
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    Usage,
)
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.anthropic import AnthropicProvider
from turnkeeper.infrastructure.providers.anthropic_answer import AnthropicAnswer
from turnkeeper.infrastructure.providers.anthropic_request import draft_of
from turnkeeper.infrastructure.wall.anthropic_dialect import AnthropicDialect
from turnkeeper.infrastructure.wall.behaviour import Refuse, Replay
from turnkeeper.infrastructure.wall.server import Wall

OLD = "claude-sonnet-4-5-20250929"
NEW = "claude-opus-4-7"
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}


def provider_at(http: HttpClient, url: str, trailer_grace_s: float = 2.0) -> ChatProvider:
    return AnthropicProvider(
        http=http,
        clock=SystemClock(),
        base_url=f"{url}/v1",
        trailer_grace_s=trailer_grace_s,
    )


def body_of(*items: Item, model: Model | None = None, **more: Any) -> dict[str, Any]:
    call = call_of(*items, model=model or a_model(OLD), **more)
    return body_in(draft_of(call, base_url="https://host", key=None))


def messages_of(*items: Item, **more: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = body_of(*items, **more)["messages"]
    return messages


def set_in(sampling: Sampling, model: str = OLD, **more: Any) -> dict[str, Any]:
    """What a request sets beside what each one has."""
    hello = Item.said(Role.USER, "hello")
    body = body_of(hello, model=a_model(model), sampling=sampling, **more)
    return {name: body[name] for name in body if name not in ("model", "messages", "stream")}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def event(kind: str, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (
        kind.encode(),
        json.dumps({"type": kind, **fields}).encode(),
    )


def started(**usage: int) -> bytes:
    return event("message_start", message={"model": "alpha", "content": [], "usage": usage})


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    opened = event("content_block_start", index=index, content_block=start)
    said = b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
    return opened + said + event("content_block_stop", index=index)


def spoken(words: str) -> bytes:
    return block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": words})


def ended(reason: str, details: object = None, **usage: int) -> bytes:
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": details}
    return event("message_delta", delta=delta, usage=usage) + event("message_stop")


class TestAnthropicProvider(ChatProviderContract):
    dialects = (AnthropicDialect(),)

    @pytest.fixture
    def provider(self, wall: Wall, http: HttpClient) -> ChatProvider:
        return provider_at(http, wall.url)

    @pytest.fixture
    def unreachable(self, http: HttpClient) -> ChatProvider:
        return provider_at(http, "http://127.0.0.1:1")

    def test_the_key_and_the_version_go_into_headers(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(HELLO)

        self.events(provider)

        seen = wall.seen[0]
        assert seen.target == "/v1/messages"
        assert seen.headers["x-api-key"] == CANARY
        assert seen.headers["anthropic-version"] == "2023-06-01"

    def test_a_whole_answer_that_did_not_stream_is_read(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        called = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sea"}}
        message = {
            "type": "message",
            "content": [THOUGHT, text("Let me see."), called],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
        wall.script(Replay(body=json.dumps(message).encode()))

        events = self.events(provider)

        assert (text_of(events), calls_of(events)) == ("Let me see.", [("look", '{"at":"sea"}')])
        assert events[-1] == Finished(reason=FinishReason.TOOL_CALLS, raw=("tool_use",))

    def test_unknown_events_blocks_and_deltas_are_passed_over(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        odd = (
            event("ping"),
            event("weather", sun=True),
            event("content_block_delta", index=9, delta={"type": "text_delta"}),
            block(1, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
            block(2, {"type": "text", "text": ""}, {"type": "citations_delta", "citation": {}}),
        )
        wall.script(Replay(body=b"".join((started(), *odd, spoken("Sunny."), ended("end_turn")))))

        events = self.events(provider)

        assert text_of(events) == "Sunny."
        assert events[-1] == Finished(reason=FinishReason.STOP, raw=("end_turn",))

    @pytest.mark.parametrize(
        ("word", "reason"),
        [
            ("end_turn", FinishReason.STOP),
            ("stop_sequence", FinishReason.STOP),
            ("pause_turn", FinishReason.STOP),
            ("never_heard_of", FinishReason.STOP),
            ("tool_use", FinishReason.STOP),  # without a call
            ("max_tokens", FinishReason.LENGTH),
            ("model_context_window_exceeded", FinishReason.LENGTH),
            ("refusal", FinishReason.CONTENT_FILTER),
        ],
    )
    def test_each_reason_for_the_end_has_its_meaning(
        self, provider: ChatProvider, wall: Wall, word: str, reason: FinishReason
    ) -> None:
        wall.script(Replay(body=started() + spoken("so ") + ended(word)))

        assert self.events(provider)[-1] == Finished(reason=reason, raw=(word,))

    def test_a_refusal_says_why(self, provider: ChatProvider, wall: Wall) -> None:
        details = {"type": "refusal", "category": "cyber", "explanation": "That is harmful."}
        wall.script(Replay(body=started() + spoken("I") + ended("refusal", details)))

        last = self.events(provider)[-1]

        assert isinstance(last, Finished)
        assert last.refusal == "That is harmful."

    def test_a_call_cut_by_the_limit_is_no_call(self, provider: ChatProvider, wall: Wall) -> None:
        cut = block(0, {"type": "tool_use", "id": "t1", "name": "look", "input": {}})
        wall.script(Replay(body=started() + cut + ended("max_tokens")))

        events = self.events(provider)

        assert calls_of(events) == [("look", "")]
        assert events[-1] == Finished(reason=FinishReason.LENGTH, raw=("max_tokens",))

    def test_an_end_without_a_reason_is_a_cut(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(Replay(body=started() + spoken("so ") + event("message_stop")))

        failure = self.failure(provider)

        assert (failure.kind, failure.rule) == (FailureKind.NETWORK, "cut")

    def test_an_answer_whose_body_stays_open_ends_all_the_same(
        self, wall: Wall, http: HttpClient
    ) -> None:
        body = started() + spoken("whole") + ended("end_turn")
        wall.script(Replay(body=body + b"\n" * len(body), slice_bytes=len(body), gap_s=600.0))
        provider = provider_at(http, wall.url, trailer_grace_s=600.0)

        assert text_of(self.events(provider)) == "whole"

    def test_the_connection_of_an_answer_that_came_at_once_is_used_again(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(Replay(body=started() + spoken("whole") + ended("end_turn")))

        for _ in range(3):
            self.events(provider)

        assert wall.connections == 1

    def test_an_answer_needs_no_word_that_it_is_over(self, wall: Wall, http: HttpClient) -> None:
        body = (started() + spoken("whole") + ended("end_turn")).removesuffix(event("message_stop"))
        wall.script(Replay(body=body + b"\n" * len(body), slice_bytes=len(body), gap_s=60.0))
        provider = provider_at(http, wall.url, trailer_grace_s=0.05)

        assert isinstance(self.events(provider)[-1], Finished)

    def test_what_was_cached_is_a_part_of_the_input(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        head = started(
            input_tokens=1,
            cache_creation_input_tokens=2,
            cache_read_input_tokens=4,
            output_tokens=1,
        )
        wall.script(Replay(body=head + spoken("hi") + ended("end_turn", output_tokens=8)))

        usages = [event for event in self.events(provider) if isinstance(event, Usage)]

        assert usages == [Usage(input_tokens=7, output_tokens=8, total_tokens=15, cached_tokens=4)]

    def test_thinking_can_be_sent_back_as_it_came(self, provider: ChatProvider, wall: Wall) -> None:
        thinking = block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "H"},
            {"type": "thinking_delta", "thinking": "m."},
            {"type": "signature_delta", "signature": "c2ln"},
        )
        called = block(2, {"type": "tool_use", "id": "t1", "name": "look", "input": {}})
        wall.script(
            Replay(body=started() + thinking + block(1, REDACTED) + called + ended("tool_use"))
        )

        opaque = [
            event.opaque_json
            for event in self.events(provider)
            if isinstance(event, ReasoningDelta) and event.opaque_json
        ]

        assert [json.loads(one) for one in opaque] == [[THOUGHT, REDACTED]]

    def test_thinking_without_a_signature_is_not_sent_back(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(HELLO)

        opaque = [
            event.opaque_json
            for event in self.events(provider)
            if isinstance(event, ReasoningDelta)
        ]

        assert opaque == [None] * len(opaque)

    def test_pieces_of_one_chunk_of_the_network_come_as_one_event(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        words = block(
            0,
            {"type": "text", "text": ""},
            {"type": "text_delta", "text": "a"},
            {"type": "text_delta", "text": "b"},
        )
        wall.script(Replay(body=started() + words + ended("end_turn")))

        texts = [event for event in self.events(provider) if isinstance(event, TextDelta)]

        assert texts == [TextDelta("ab")]

    def test_a_refused_parameter_is_left_out_at_once_and_from_then_on(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        refusal = Refuse(status=400, body=error("`temperature` is deprecated for this model."))
        wall.script([refusal, HELLO])

        texts = [text_of(self.ask(provider, Sampling(temperature=0.5))) for _ in range(2)]

        assert texts == ["Hello there"] * 2
        assert ["temperature" in seen.body for seen in wall.seen] == [True, False, False]

    def test_a_way_of_thinking_that_a_model_lacks_is_left_out(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        thinking = error('"thinking.type.adaptive" is not supported for this model.')
        effort = error("This model does not support the effort parameter.")
        wall.script([Refuse(status=400, body=thinking), Refuse(status=400, body=effort), HELLO])

        events = self.ask(provider, Sampling(reasoning_effort="low"))

        assert text_of(events) == "Hello there"
        assert [{"thinking", "output_config"} & set(seen.body) for seen in wall.seen] == [
            {"thinking", "output_config"},
            {"output_config"},
            set(),
        ]

    @pytest.mark.parametrize(
        ("status", "kind", "message", "expected"),
        [
            (400, "invalid_request_error", "Your credit balance is too low", FailureKind.QUOTA),
            (404, "not_found_error", "model: alpha", FailureKind.MODEL_NOT_FOUND),
            (413, "request_too_large", "Request exceeds", FailureKind.CONTEXT_TOO_LONG),
            (529, "overloaded_error", "Overloaded", FailureKind.OVERLOADED),
        ],
    )
    def test_an_error_is_what_its_words_say(
        self,
        provider: ChatProvider,
        wall: Wall,
        status: int,
        kind: str,
        message: str,
        expected: FailureKind,
    ) -> None:
        wall.script(Refuse(status=status, body=error(message, kind)))

        assert [kind_of(event) for event in self.events(provider)] == [expected]

    def ask(self, provider: ChatProvider, sampling: Sampling) -> list[StreamEvent]:
        return asked(provider, replace(self.call(), sampling=sampling))


def error(message: str, kind: str = "invalid_request_error") -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r1"}


def test_a_plain_request_holds_only_what_was_said() -> None:
    assert body_of(SYSTEM, Item.said(Role.USER, "hello"), max_output_tokens=100) == {
        "model": OLD,
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [user(text("hello"))],
        "stream": True,
    }


@pytest.mark.parametrize(("ceiling", "sent"), [(None, 8192), (64_000, 8192), (4096, 4096)])
def test_a_longest_answer_is_always_asked_for(ceiling: int | None, sent: int) -> None:
    model = replace(a_model(OLD), limits=Limits(max_output_tokens=ceiling))

    assert body_of(Item.said(Role.USER, "hello"), model=model)["max_tokens"] == sent


def test_user_and_assistant_take_turns() -> None:
    messages = messages_of(
        Item.said(Role.MODEL, "Welcome."),
        Item.said(Role.USER, "one"),
        Item.said(Role.USER, "two"),
        Item.said(Role.SYSTEM, "[It is late.]", Tag.NOTE),
        Item.said(Role.MODEL, "three"),
    )

    assert messages == [
        user(text("(the conversation begins)")),
        assistant(text("Welcome.")),
        user(text("one\n\ntwo\n\n[It is late.]")),
        assistant(text("three")),
        user(text("(go on)")),
    ]


def test_results_stand_first_behind_their_calls() -> None:
    messages = messages_of(
        Item.said(Role.USER, "?"),
        said(Role.MODEL, TextPart(text="I look."), called("t1"), called("odd/id")),
        Item.said(Role.USER, "Hurry!"),
        said(Role.TOOL, ToolResultPart(call_id="t1", name="look", result_json='{"sees":"sea"}')),
        said(Role.TOOL, ToolResultPart(call_id="odd/id", name="look", result_json="[]")),
    )

    look = {"type": "tool_use", "name": "look", "input": {"at": "sea"}}
    assert messages[1:] == [
        assistant(text("I look."), {**look, "id": "t1"}, {**look, "id": "odd_id"}),
        user(
            {"type": "tool_result", "tool_use_id": "t1", "content": '{"sees":"sea"}'},
            {"type": "tool_result", "tool_use_id": "odd_id", "content": "[]"},
            text("Hurry!"),
        ),
    ]


def test_thinking_goes_back_first_and_only_what_came_from_here() -> None:
    foreign = {"type": "reasoning.text", "text": "Hm."}
    thought = ReasoningPart(text="Hm.", opaque_json=json.dumps([THOUGHT, REDACTED, foreign]))

    messages = messages_of(
        Item.said(Role.USER, "?"),
        said(Role.MODEL, TextPart(text="I look."), called("t1"), thought),
        said(Role.TOOL, ToolResultPart(call_id="t1", name="look", result_json="{}")),
    )

    assert messages[1]["content"][:3] == [THOUGHT, REDACTED, text("I look.")]


def test_images_go_inline_or_by_their_address() -> None:
    parts = (TextPart(text="Look:"), ImagePart(uri=WHALE), ImagePart(uri="https://host/a.png"))

    assert messages_of(said(Role.USER, *parts)) == [
        user(
            text("Look:"),
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "d2hhbGU="},
            },
            {"type": "image", "source": {"type": "url", "url": "https://host/a.png"}},
        )
    ]


def test_tools_are_described_by_their_json_schema() -> None:
    spec = ToolSpec(name="look", description="Looks.", schema_json='{"type":"object"}')

    assert body_of(Item.said(Role.USER, "?"), tools=(spec,))["tools"] == [
        {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
    ]


def test_a_beginning_is_gone_on_with_by_a_model_that_can_and_asked_for_of_others() -> None:
    hello = Item.said(Role.USER, "hello")

    able, unable = (
        messages_of(hello, prefill="Once ", model=a_model(OLD, prefix_completion=can))[-1]
        for can in (True, False)
    )

    assert able == assistant(text("Once"))
    assert unable["role"] == "user"
    assert unable["content"][0]["text"].endswith("without repeating it: Once ]")


HOT = replace(EVERYTHING, temperature=1.5, stop=("a", " ", "b"))


def test_what_is_set_is_sent_as_far_as_it_is_taken() -> None:
    assert set_in(HOT, max_output_tokens=100) == {
        "max_tokens": 100,
        "temperature": 1.0,
        "top_p": 0.9,
        "top_k": 40,
        "stop_sequences": ["a", "b"],
    }


def test_what_is_disabled_is_never_sent_but_for_the_longest_answer() -> None:
    disabled = frozenset(
        {"temperature", "top_p", "top_k", "stop", "reasoning_effort", "max_tokens"}
    )
    sampling = replace(HOT, disabled=disabled, reasoning_effort="high")

    assert set_in(sampling, max_output_tokens=100) == {"max_tokens": 100}


@pytest.mark.parametrize(
    ("model", "effort", "max_tokens", "sent"),
    [
        (OLD, None, 8192, {}),
        (OLD, "none", 8192, {}),
        (OLD, "low", 8192, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        (OLD, "high", 8192, {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        (OLD, "high", 2000, {}),
        (
            "claude-3-7-sonnet-20250219",
            "low",
            8192,
            {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        ),
        ("claude-3-5-haiku-20241022", "high", 8192, {}),
        (
            "claude-opus-4-20250514",
            "low",
            8192,
            {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        ),
        *(
            (
                model,
                "xhigh",
                2000,
                {
                    "thinking": {"type": "adaptive", "display": "summarized"},
                    "output_config": {"effort": "high"},
                },
            )
            for model in ("claude-sonnet-4-6", NEW, "claude-fable-5", "claude-mythos-preview")
        ),
    ],
)
def test_an_effort_is_said_in_the_terms_of_the_models_version(
    model: str, effort: str | None, max_tokens: int, sent: dict[str, Any]
) -> None:
    sampling = Sampling(reasoning_effort=effort)

    assert set_in(sampling, model, max_output_tokens=max_tokens) == {
        "max_tokens": max_tokens,
        **sent,
    }


def test_a_model_that_thinks_is_not_told_how_to_sample() -> None:
    sampling = Sampling(temperature=0.5, top_p=0.97, top_k=5, reasoning_effort="low")

    assert set_in(sampling).keys() == {"max_tokens", "top_p", "thinking"}


def test_a_model_that_goes_on_with_an_answer_does_not_think_first() -> None:
    body = body_of(
        Item.said(Role.USER, "hello"),
        model=a_model(OLD, prefix_completion=True),
        prefill="Once",
        sampling=Sampling(reasoning_effort="low"),
    )

    assert "thinking" not in body


@pytest.mark.parametrize(("thoughts", "thinks"), [([THOUGHT], True), ([], False)])
def test_thinking_does_not_begin_in_the_middle_of_calls(
    thoughts: list[dict[str, Any]], thinks: bool
) -> None:
    body = body_of(
        Item.said(Role.USER, "?"),
        said(Role.MODEL, ReasoningPart(text="", opaque_json=json.dumps(thoughts)), called("t1")),
        said(Role.TOOL, ToolResultPart(call_id="t1", name="look", result_json="{}")),
        sampling=Sampling(reasoning_effort="low"),
    )

    assert ("thinking" in body) is thinks


def test_the_walls_whole_answer_says_what_its_stream_says() -> None:
    assert (
        told_both_ways(AnthropicDialect(), AnthropicAnswer)
        == [
            (
                "I look.",
                "Hm.",
                [("look", '{"at":"sea"}')],
                Finished(reason=FinishReason.TOOL_CALLS, raw=("tool_use",)),
            )
        ]
        * 2
    )


def test_the_wall_lists_its_models() -> None:
    listed = json.loads(AnthropicDialect().models(("alpha",)))

    assert AnthropicDialect().lists_models("GET", "/v1/models")
    assert [model["id"] for model in listed["data"]] == ["alpha"]
