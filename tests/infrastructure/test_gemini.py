"""Google's Gemini models: what is asked over real sockets, and how answers are read."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from builders import a_model
from contracts.chat_provider import (
    CANARY,
    HELLO,
    WAIT_S,
    ChatProviderContract,
    calls_of,
    kind_of,
    text_of,
    thoughts_of,
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

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    ReasoningPart,
    Role,
    Tag,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
    VideoPart,
)
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.model import Model, Sampling
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    ServingProvider,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient, HttpRequest
from turnkeeper.infrastructure.providers.gemini import GeminiProvider
from turnkeeper.infrastructure.providers.gemini_answer import GeminiAnswer
from turnkeeper.infrastructure.providers.gemini_request import draft_of
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.wall.behaviour import CutAfter, Refuse, Replay
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect
from turnkeeper.infrastructure.wall.server import Wall


def provider_at(http: HttpClient, url: str, trailer_grace_s: float = 5.0) -> ChatProvider:
    return GeminiProvider(
        http=http,
        clock=SystemClock(),
        base_url=f"{url}/v1beta",
        trailer_grace_s=trailer_grace_s,
    )


def body_of(*items: Item, model: Model | None = None, **more: Any) -> dict[str, Any]:
    call = call_of(*items, model=model or a_model("gemini-2.5-flash"), **more)
    return body_in(draft_of(call, base_url="https://host", key=None))


def contents_of(*items: Item, **more: Any) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = body_of(*items, **more)["contents"]
    return contents


def config_of(sampling: Sampling, model: Model | None = None, **more: Any) -> dict[str, Any]:
    hello = Item.said(Role.USER, "hello")
    config: dict[str, Any] = body_of(hello, model=model, sampling=sampling, **more)[
        "generationConfig"
    ]
    return config


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": model(*parts), "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


def streamed(*chunks: dict[str, Any]) -> Replay:
    return Replay(body=b"".join(b"data: %b\r\n\r\n" % json.dumps(one).encode() for one in chunks))


class TestGeminiProvider(ChatProviderContract):
    dialects = (GeminiDialect(),)

    @pytest.fixture
    def provider(self, wall: Wall, http: HttpClient) -> ChatProvider:
        return provider_at(http, wall.url)

    @pytest.fixture
    def unreachable(self, http: HttpClient) -> ChatProvider:
        return provider_at(http, "http://127.0.0.1:1")

    def test_the_key_goes_into_a_header_and_never_into_the_address(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(HELLO)

        self.events(provider)

        seen = wall.seen[0]
        assert seen.target == "/v1beta/models/alpha:streamGenerateContent?alt=sse"
        assert seen.headers["x-goog-api-key"] == CANARY
        assert CANARY not in seen.target

    def test_a_whole_answer_that_did_not_stream_is_read(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        body = json.dumps(chunk(text("all of it"), finish="STOP")).encode()
        wall.script(Replay(body=body, headers=(("Content-Type", "application/json"),)))

        assert text_of(self.events(provider)) == "all of it"

    def test_a_list_of_chunks_is_read_as_an_answer(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        chunks = [chunk(text("one ")), chunk(text("two"), finish="STOP")]
        wall.script(Replay(body=json.dumps(chunks).encode()))

        assert text_of(self.events(provider)) == "one two"

    @pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
    @pytest.mark.parametrize("is_listed", [False, True])
    def test_an_error_in_bare_json_is_recognised(
        self, provider: ChatProvider, wall: Wall, content_type: str, is_listed: bool
    ) -> None:
        error = {"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}
        body = json.dumps([error] if is_listed else error).encode()
        wall.script(Replay(body=body, headers=(("Content-Type", content_type),)))

        assert self.failure(provider).kind is FailureKind.RATE_LIMIT

    def test_text_behind_a_first_end_counts(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(streamed(chunk(text("one "), finish="STOP"), chunk(text("two"), finish="STOP")))

        events = self.events(provider)

        assert text_of(events) == "one two"
        assert events[-1] == Finished(reason=FinishReason.STOP, raw=("STOP", "STOP"))

    @pytest.mark.parametrize("gap_s", [0.01, 60.0], ids=["with comments", "in silence"])
    def test_an_answer_whose_body_stays_open_ends_all_the_same(
        self, wall: Wall, http: HttpClient, gap_s: float
    ) -> None:
        end = streamed(chunk(text("whole"), finish="STOP")).body
        comment = b":%b\n\n" % (b"x" * (len(end) - 3))
        wall.script(Replay(body=end + comment * 999, slice_bytes=len(end), gap_s=gap_s))
        provider = provider_at(http, wall.url, trailer_grace_s=0.05)

        assert self.events(provider) == [
            TextDelta("whole"),
            Finished(reason=FinishReason.STOP, raw=("STOP",)),
        ]

    def test_pieces_of_one_chunk_of_the_network_come_as_one_event(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        thought = {"text": "hm", "thought": True}
        wall.script(
            streamed(
                chunk(thought), chunk(thought), chunk(text("a")), chunk(text("b"), finish="STOP")
            )
        )

        events = self.events(provider)

        assert events[:2] == [ReasoningDelta("hmhm"), TextDelta("ab")]

    def test_thoughts_and_text_come_in_the_order_in_which_they_were_said(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        thought = {"text": "hm", "thought": True}
        wall.script(streamed(chunk(text("a"), thought, text("b"), thought, finish="STOP")))

        events = self.events(provider)

        assert events[:4] == [
            TextDelta("a"),
            ReasoningDelta("hm"),
            TextDelta("b"),
            ReasoningDelta("hm"),
        ]

    def test_the_model_that_really_answers_is_named_once(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        chunks = (chunk(text(word), modelVersion="beta") for word in "ab")
        wall.script(streamed(*chunks, chunk(finish="STOP", modelVersion="beta")))

        named = [event for event in self.events(provider) if isinstance(event, ServingProvider)]

        assert named == [ServingProvider(model="beta")]

    def test_only_the_first_candidate_is_read(self, provider: ChatProvider, wall: Wall) -> None:
        other = {"content": model(text("B")), "index": 1, "finishReason": "SAFETY"}
        both = chunk(text("a"), finish="STOP")
        both["candidates"].append(other)
        wall.script(streamed(both))

        assert self.events(provider) == [
            TextDelta("a"),
            Finished(reason=FinishReason.STOP, raw=("STOP",)),
        ]

    def test_a_failure_says_how_the_connection_broke(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script([CutAfter(tokens=2, then="reset"), CutAfter(tokens=2, then="end")])

        assert [self.failure(provider).rule for _ in range(2)] == ["http-reset", "cut"]

    def test_a_last_event_without_its_blank_line_counts_if_it_is_whole(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        body = streamed(chunk(text("a")), chunk(text("b"), finish="STOP")).body.rstrip()
        wall.script([Replay(body=body), Replay(body=body[:-1])])

        assert text_of(self.events(provider)) == "ab"
        assert self.failure(provider).rule == "cut"

    @pytest.mark.parametrize(
        ("finish", "reason"),
        [
            ("STOP", FinishReason.STOP),
            ("NEVER_HEARD_OF", FinishReason.STOP),
            ("MAX_TOKENS", FinishReason.LENGTH),
            ("SAFETY", FinishReason.CONTENT_FILTER),
            ("RECITATION", FinishReason.CONTENT_FILTER),
            ("PROHIBITED_CONTENT", FinishReason.CONTENT_FILTER),
            ("IMAGE_SAFETY", FinishReason.CONTENT_FILTER),
        ],
    )
    def test_each_reason_for_the_end_has_its_meaning(
        self, provider: ChatProvider, wall: Wall, finish: str, reason: FinishReason
    ) -> None:
        wall.script(streamed(chunk(text("so "), finish=finish)))

        assert self.events(provider)[-1] == Finished(reason=reason, raw=(finish,))

    @pytest.mark.parametrize(
        ("finish", "kind"),
        [
            ("MALFORMED_FUNCTION_CALL", FailureKind.MALFORMED_TOOL_CALL),
            ("UNEXPECTED_TOOL_CALL", FailureKind.MALFORMED_TOOL_CALL),
            ("TOO_MANY_TOOL_CALLS", FailureKind.MALFORMED_TOOL_CALL),
            ("OTHER", FailureKind.SERVER_ERROR),
        ],
    )
    def test_some_reasons_for_the_end_are_failures(
        self, provider: ChatProvider, wall: Wall, finish: str, kind: FailureKind
    ) -> None:
        wall.script(streamed(chunk(finish=finish)))

        failure = self.failure(provider)

        assert (failure.kind, failure.rule) == (kind, f"finish-{finish.lower().replace('_', '-')}")

    def test_a_prompt_that_is_blocked_is_a_filtered_answer(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(streamed({"promptFeedback": {"blockReason": "OTHER"}}))

        assert self.events(provider) == [
            Finished(reason=FinishReason.CONTENT_FILTER, raw=("OTHER",))
        ]

    def test_counts_that_a_later_chunk_leaves_out_are_kept(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        early = {"promptTokenCount": 7, "cachedContentTokenCount": 5, "thoughtsTokenCount": 2}
        late = {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 12}
        wall.script(
            streamed(
                chunk(text("a"), usageMetadata=early),
                chunk(text("b"), finish="STOP", usageMetadata=late),
            )
        )

        usages = [event for event in self.events(provider) if isinstance(event, Usage)]

        assert usages == [
            Usage(
                input_tokens=7,
                output_tokens=5,
                total_tokens=12,
                reasoning_tokens=2,
                cached_tokens=5,
            )
        ]

    def test_calls_without_ids_get_different_ones(self, provider: ChatProvider, wall: Wall) -> None:
        call = {"functionCall": {"name": "look", "args": {"at": "sea"}}}
        wall.script(streamed(chunk(call, call, finish="STOP")))

        events = self.events(provider)

        ids = [event.call_id for event in events if isinstance(event, ToolCallDelta)]
        assert calls_of(events) == [("look", '{"at":"sea"}')] * 2
        assert len(set(ids)) == 2
        assert None not in ids

    def test_an_own_id_of_a_call_is_kept(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(streamed(chunk({"functionCall": {"name": "look", "id": "f1"}}, finish="STOP")))

        calls = [event for event in self.events(provider) if isinstance(event, ToolCallDelta)]

        assert calls == [ToolCallDelta(index=0, call_id="f1", name="look", arguments="{}")]

    def test_what_a_call_was_signed_with_comes_with_it(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        signed = {"functionCall": {"name": "look", "id": "f1"}, "thoughtSignature": "c2ln"}
        wall.script(streamed(chunk(signed, finish="STOP")))

        calls = [event for event in self.events(provider) if isinstance(event, ToolCallDelta)]

        assert [call.signature for call in calls] == ["c2ln"]

    def test_what_text_was_signed_with_can_be_sent_back(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(streamed(chunk({"text": "Hi", "thoughtSignature": "c2ln"}, finish="STOP")))

        opaque = [
            event.opaque_json
            for event in self.events(provider)
            if isinstance(event, ReasoningDelta)
        ]

        part = ReasoningPart(text="", opaque_json=opaque[0])
        assert contents_of(said(Role.USER, TextPart(text="?")), said(Role.MODEL, part))[1] == (
            model({"text": "", "thoughtSignature": "c2ln"})
        )

    def test_arguments_that_are_nested_too_deeply_are_a_failure(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        deep = '{"a":' * 500 + "1" + "}" * 500
        body = json.dumps(chunk({"functionCall": {"name": "look", "args": 0}}, finish="STOP"))
        wall.script(Replay(body=b"data: %b\n\n" % body.replace("0", deep, 1).encode()))

        assert self.failure(provider).kind is FailureKind.MALFORMED_TOOL_CALL

    def test_code_that_was_run_is_no_text(self, provider: ChatProvider, wall: Wall) -> None:
        code = {"executableCode": {"code": "print(1)", "language": "PYTHON"}}
        ran = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
        wall.script(streamed(chunk(code), chunk(ran), chunk(text("one"), finish="STOP")))

        events = self.events(provider)

        assert (text_of(events), thoughts_of(events)) == ("one", "")

    def test_a_refused_parameter_is_left_out_at_once_and_from_then_on(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        refusal = "Invalid JSON payload received. Unknown name \"topK\" at 'generation_config'"
        wall.script([Refuse(status=400, body=error(refusal)), HELLO])

        texts = [text_of(self.ask(provider, Sampling(top_k=3, top_p=0.5))) for _ in range(2)]

        assert texts == ["Hello there"] * 2
        assert [seen.body["generationConfig"] for seen in wall.seen] == [
            {"topP": 0.5, "topK": 3},
            {"topP": 0.5},
            {"topP": 0.5},
        ]

    def test_penalties_that_a_model_does_not_take_are_left_out(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        refusal = Refuse(status=400, body=error("Penalty is not enabled for models/alpha"))
        wall.script([refusal, refusal, HELLO])

        events = self.ask(provider, Sampling(frequency_penalty=0.5, presence_penalty=0.5))

        assert text_of(events) == "Hello there"
        assert wall.seen[-1].body["generationConfig"] == {}

    def test_a_refusal_that_names_no_parameter_is_a_failure_at_once(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(Refuse(status=400, body=error("Request contains an invalid argument.")))

        events = self.ask(provider, Sampling(top_k=3))

        assert [kind_of(event) for event in events] == [FailureKind.BAD_REQUEST]
        assert len(wall.seen) == 1

    def test_a_refused_key_is_a_matter_of_the_key(self, provider: ChatProvider, wall: Wall) -> None:
        details = [{"@type": "google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
        body = error("API key not valid. Please pass a valid API key.", details=details)
        wall.script(Refuse(status=400, body=body))

        assert self.failure(provider).kind is FailureKind.AUTH

    def ask(self, provider: ChatProvider, sampling: Sampling) -> list[StreamEvent]:
        return asked(provider, replace(self.call(), sampling=sampling))


def error(message: str, **more: object) -> dict[str, object]:
    return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", **more}}


def test_a_plain_request_holds_only_what_was_said() -> None:
    assert body_of(SYSTEM, Item.said(Role.USER, "hello")) == {
        "contents": [user(text("hello"))],
        "systemInstruction": {"parts": [text("Be brief.")]},
        "generationConfig": {},
    }


def test_what_one_side_says_in_a_row_is_one_turn() -> None:
    contents = contents_of(
        Item.said(Role.USER, "one"),
        Item.said(Role.USER, "two"),
        Item.said(Role.MODEL, "three"),
        Item.said(Role.MODEL, "four"),
        Item.said(Role.USER, "five"),
    )

    assert contents == [
        user(text("one\n\ntwo")),
        model(text("three\n\nfour")),
        user(text("five")),
    ]


def test_the_user_has_the_first_and_the_last_word() -> None:
    contents = contents_of(SYSTEM, Item.said(Role.MODEL, "Welcome."))

    assert contents == [
        user(text("(the conversation begins)")),
        model(text("Welcome.")),
        user(text("(go on)")),
    ]


def test_a_conversation_of_nothing_is_still_a_request() -> None:
    assert contents_of(Item.said(Role.USER, " ")) == [user(text("(the conversation begins)"))]


def test_a_word_of_the_system_in_the_middle_stays_where_it_is() -> None:
    note = Item.said(Role.SYSTEM, "[It is late.]", Tag.NOTE)

    contents = contents_of(SYSTEM, Item.said(Role.USER, "hello"), note)

    assert contents == [user(text("hello\n\n[It is late.]"))]


def test_images_go_inline_or_by_their_address() -> None:
    parts = (
        TextPart(text="Look:"),
        ImagePart(uri=WHALE),
        ImagePart(uri="https://host/a.webp", mime_type="image/webp"),
        ImagePart(uri="https://host/b"),
        ImagePart(uri="data:image/svg+xml,%3Csvg/%3E"),
    )

    assert contents_of(said(Role.USER, *parts)) == [
        user(
            text("Look:"),
            {"inlineData": {"mimeType": "image/png", "data": "d2hhbGU="}},
            {"fileData": {"mimeType": "image/webp", "fileUri": "https://host/a.webp"}},
            {"fileData": {"fileUri": "https://host/b"}},
            {"inlineData": {"mimeType": "image/svg+xml", "data": "PHN2Zy8+"}},
        )
    ]


def test_a_video_is_sent_only_to_a_model_that_sees_it() -> None:
    item = said(Role.USER, VideoPart(uri="https://host/v"))

    blind, seeing = (
        contents_of(item, model=a_model("gemini-2.5-flash", videos=sees)) for sees in (False, True)
    )

    assert blind == [user(text("[a video is here, which this model cannot see]"))]
    assert seeing == [user({"fileData": {"fileUri": "https://host/v"}})]


def test_results_stand_alone_and_together_behind_their_calls() -> None:
    contents = contents_of(
        Item.said(Role.USER, "?"),
        said(Role.MODEL, called("c1", signature="c2ln"), called("c2")),
        said(Role.TOOL, ToolResultPart(call_id="c1", name="look", result_json='{"sees":"sea"}')),
        said(Role.TOOL, ToolResultPart(call_id="c2", name="look", result_json="[1]")),
        Item.said(Role.USER, "Well?"),
    )

    assert contents[1:] == [
        model(
            {
                "functionCall": {"id": "c1", "name": "look", "args": {"at": "sea"}},
                "thoughtSignature": "c2ln",
            },
            {"functionCall": {"id": "c2", "name": "look", "args": {"at": "sea"}}},
        ),
        user(
            {"functionResponse": {"id": "c1", "name": "look", "response": {"sees": "sea"}}},
            {"functionResponse": {"id": "c2", "name": "look", "response": {"result": [1]}}},
        ),
        user(text("Well?")),
    ]


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("gemini-3-pro-preview", "skip_thought_signature_validator"),
        ("gemini-flash-latest", "skip_thought_signature_validator"),
        ("gemini-2.5-flash", None),
        ("gemma-4-31b-it", None),
    ],
)
def test_a_foreign_call_is_marked_as_such_where_calls_must_be_signed(
    name: str, signature: str | None
) -> None:
    contents = contents_of(
        Item.said(Role.USER, "?"), said(Role.MODEL, called("c1")), model=a_model(name)
    )

    assert contents[1]["parts"][0].get("thoughtSignature") == signature


def test_only_the_first_of_several_foreign_calls_is_marked() -> None:
    contents = contents_of(
        Item.said(Role.USER, "?"),
        said(Role.MODEL, called("c1"), called("c2")),
        model=a_model("gemini-3-pro-preview"),
    )

    assert ["thoughtSignature" in part for part in contents[1]["parts"]] == [True, False]


def test_arguments_and_results_that_are_no_objects_are_made_ones() -> None:
    broken = ToolCallPart(call_id="c1", name="look", arguments_json='{"at":')
    contents = contents_of(
        Item.said(Role.USER, "?"),
        said(Role.MODEL, broken),
        said(Role.TOOL, ToolResultPart(call_id="c1", name="look", result_json="no JSON")),
    )

    assert contents[1]["parts"][0]["functionCall"]["args"] == {}
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"result": "no JSON"}


def test_deep_arguments_of_a_call_go_back_as_they_came() -> None:
    deep = '{"a":' * 500 + "1" + "}" * 500
    call = ToolCallPart(call_id="c1", name="look", arguments_json=deep)

    contents = contents_of(Item.said(Role.USER, "?"), said(Role.MODEL, call))

    assert contents[1]["parts"][0]["functionCall"]["args"] == json.loads(deep)


def test_the_walls_whole_answer_says_what_its_stream_says() -> None:
    assert (
        told_both_ways(GeminiDialect(), GeminiAnswer)
        == [
            (
                "I look.",
                "Hm.",
                [("look", '{"at":"sea"}')],
                Finished(reason=FinishReason.TOOL_CALLS, raw=("STOP",)),
            )
        ]
        * 2
    )


def test_the_wall_lists_its_models(http: HttpClient) -> None:
    with Wall(dialects=(GeminiDialect(),)) as wall:
        wall.script(HELLO, model="alpha")
        request = HttpRequest(url=f"{wall.url}/v1beta/models")

        listed = http.get_json(request, stop=ThreadStop(), limit_bytes=9999, timeout_s=WAIT_S)

    assert [model["name"] for model in listed.value["models"]] == ["models/alpha"]


def test_a_beginning_is_gone_on_with_by_a_model_that_can_and_asked_for_of_others() -> None:
    hello = Item.said(Role.USER, "hello")

    able, unable = (
        contents_of(hello, prefill="Once", model=a_model("gemini-2.5-flash", prefix_completion=can))
        for can in (True, False)
    )

    assert able == [user(text("hello")), model(text("Once"))]
    assert unable == [
        user(
            text(
                "hello\n\n[Go on from exactly this beginning of your answer,"
                " without repeating it: Once]"
            )
        )
    ]


def test_tools_are_declared_by_their_json_schema() -> None:
    spec = ToolSpec(name="look", description="Looks.", schema_json='{"type":"object"}')

    assert body_of(Item.said(Role.USER, "?"), tools=(spec,))["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "look",
                    "description": "Looks.",
                    "parametersJsonSchema": {"type": "object"},
                }
            ]
        }
    ]


def test_what_is_set_is_sent_under_the_apis_own_names() -> None:
    assert config_of(EVERYTHING, max_output_tokens=100) == {
        "maxOutputTokens": 100,
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 40,
        "frequencyPenalty": 0.2,
        "presencePenalty": 0.3,
        "stopSequences": ["a", "b", "c", "d", "e"],
    }


def test_what_is_disabled_is_never_sent() -> None:
    disabled = frozenset(
        {
            "temperature",
            "top_p",
            "top_k",
            "frequency_penalty",
            "presence_penalty",
            "stop",
            "max_output_tokens",
            "reasoning_effort",
        }
    )
    sampling = replace(EVERYTHING, disabled=disabled, reasoning_effort="high")

    assert config_of(sampling, a_model("gemini-2.5-flash", reasoning=True)) == {}


@pytest.mark.parametrize(
    ("name", "effort", "thinks", "config"),
    [
        ("gemini-2.5-flash", None, False, None),
        ("gemini-2.5-flash", None, True, {"includeThoughts": True}),
        ("gemini-2.5-flash", "auto", True, {"includeThoughts": True}),
        ("gemini-2.5-flash", "none", False, None),
        ("gemini-2.5-flash", "none", True, {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "none", True, {"thinkingBudget": 128}),
        ("gemini-2.5-flash", "low", True, {"includeThoughts": True, "thinkingBudget": 1024}),
        ("gemini-2.5-flash", "high", False, {"includeThoughts": True, "thinkingBudget": 24_576}),
        ("gemini-3-flash-preview", "none", True, {"thinkingLevel": "minimal"}),
        ("gemini-3-pro-preview", "none", True, {"thinkingLevel": "low"}),
        ("gemini-3.1-pro", "medium", True, {"includeThoughts": True, "thinkingLevel": "medium"}),
        ("gemini-flash-latest", "max", True, {"includeThoughts": True, "thinkingLevel": "high"}),
        ("gemini-2.0-flash", "high", True, None),
        ("gemma-4-31b-it", "high", True, None),
    ],
)
def test_an_effort_is_said_in_the_terms_of_the_models_version(
    name: str, effort: str | None, thinks: bool, config: dict[str, Any] | None
) -> None:
    sampling = Sampling(reasoning_effort=effort)

    assert config_of(sampling, a_model(name, reasoning=thinks)).get("thinkingConfig") == config


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("models/gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("tunedModels/mine", "tunedModels/mine"),
        ("../../v1/files?", "models/..%2F..%2Fv1%2Ffiles%3F"),
    ],
)
def test_a_models_name_is_one_step_of_the_address(name: str, path: str) -> None:
    call = ChatCall(model=a_model(name), conversation=Conversation.of("hello"))

    url = draft_of(call, base_url="https://host/v1beta", key=None).url

    assert url == f"https://host/v1beta/{path}:streamGenerateContent?alt=sse"


def test_half_a_character_is_replaced() -> None:
    assert contents_of(Item.said(Role.USER, "a\ud83d")) == [user(text("a?"))]


@pytest.fixture
def http() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper-tests")
    yield client
    client.close()
