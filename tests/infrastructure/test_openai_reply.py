"""Replies of status 200 in all the forms that break naive readers."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    ServingProvider,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from turnkeeper.infrastructure.providers import openai_reply
from turnkeeper.infrastructure.providers.openai_reply import OpenAIReply
from turnkeeper.infrastructure.providers.speaker import Speaker

SPEAKER = Speaker(provider="custom", status=200, now=datetime(2026, 1, 1, tzinfo=UTC))
DONE = "data: [DONE]\n\n"


def chunk(delta: dict[str, Any] | None = None, **fields: Any) -> str:
    choice = {"index": 0, "delta": delta or {}, **fields}
    return event({"choices": [choice]})


def event(data: object, name: str = "") -> str:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n"


def text(piece: object) -> str:
    return chunk({"content": piece})


def end(reason: str = "stop", **fields: Any) -> str:
    return chunk(finish_reason=reason, **fields)


def events_of(*parts: str) -> list[StreamEvent]:
    reply = OpenAIReply(lambda: SPEAKER)
    events: list[StreamEvent] = []
    for part in parts:
        if not reply.is_over:
            events += reply.feed(part.encode())
    return [*events, *reply.end()]


def failure_of(*parts: str) -> Failure:
    last = events_of(*parts)[-1]
    assert isinstance(last, StreamFailed)
    return last.failure


def finished(*parts: str) -> Finished:
    last = events_of(*parts)[-1]
    assert isinstance(last, Finished)
    return last


STOPPED = Finished(reason=FinishReason.STOP, raw=("stop",))


def test_pieces_of_one_arrival_are_one_delta() -> None:
    assert events_of(text("a") + text("b"), text("c"), end()) == [
        TextDelta("ab"),
        TextDelta("c"),
        STOPPED,
    ]


def test_thinking_and_text_stay_in_their_order() -> None:
    thought = chunk({"reasoning_content": "hm"})

    assert events_of(thought + text("a") + thought + text("b") + end()) == [
        ReasoningDelta("hm"),
        TextDelta("a"),
        ReasoningDelta("hm"),
        TextDelta("b"),
        STOPPED,
    ]


@pytest.mark.parametrize(
    ("delta", "events"),
    [
        ({"content": None}, []),
        ({"content": ""}, []),
        ({"content": 7}, []),
        ({"content": ["a", {"type": "text", "text": "b"}]}, [TextDelta("ab")]),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
            [ReasoningDelta("hm")],
        ),
        (
            {"content": [{"type": "thinking", "thinking": "hm"}, "a"]},
            [ReasoningDelta("hm"), TextDelta("a")],
        ),
        ({"reasoning": "hm", "content": "a"}, [ReasoningDelta("hm"), TextDelta("a")]),
        ({"tool_calls": None}, []),
        ({"unknown": {"field": 1}}, []),
    ],
)
def test_a_delta_is_read_in_any_of_its_forms(
    delta: dict[str, Any], events: list[StreamEvent]
) -> None:
    assert events_of(chunk(delta) + end()) == [*events, STOPPED]


def test_other_choices_are_not_read() -> None:
    other = event(
        {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}]}
    )
    both = event(
        {
            "choices": [
                {"index": 1, "delta": {"content": "no"}},
                {"index": 0, "delta": {"content": "a"}},
            ]
        }
    )

    assert events_of(other + both + end()) == [TextDelta("a"), STOPPED]


def test_the_model_that_serves_is_named_once() -> None:
    first = event({"model": "m", "provider": "P", "choices": []})

    assert events_of(first + first + end()) == [ServingProvider(provider="P", model="m"), STOPPED]


def test_the_last_count_is_the_one_that_counts() -> None:
    counts = [{"prompt_tokens": 1, "completion_tokens": count} for count in (1, 2)]
    trailers = [event({"choices": [], "usage": count}) for count in counts]

    assert events_of(end(), *trailers, DONE) == [Usage(input_tokens=1, output_tokens=2), STOPPED]


@pytest.mark.parametrize(
    ("total", "output"),
    [(30, 12), (37, 19)],
    ids=["reasoning is part of the output", "reasoning comes on top"],
)
def test_output_has_the_reasoning_in_it(total: int, output: int) -> None:
    usage = {
        "prompt_tokens": 18,
        "completion_tokens": 12,
        "total_tokens": total,
        "completion_tokens_details": {"reasoning_tokens": 7},
        "cost": 0.25,
    }

    assert events_of(end() + event({"choices": [], "usage": usage}))[0] == Usage(
        input_tokens=18,
        output_tokens=output,
        total_tokens=total,
        reasoning_tokens=7,
        cost_usd=0.25,
    )


@pytest.mark.parametrize(
    ("reason", "native", "expected"),
    [
        ("stop", None, FinishReason.STOP),
        ("eos", None, FinishReason.STOP),
        ("length", None, FinishReason.LENGTH),
        ("model_length", None, FinishReason.LENGTH),
        ("model_context_window_exceeded", None, FinishReason.LENGTH),
        ("stop", "MAX_TOKENS", FinishReason.LENGTH),
        ("tool_calls", "max_output_tokens", FinishReason.LENGTH),
        ("content_filter", None, FinishReason.CONTENT_FILTER),
        ("sensitive", None, FinishReason.CONTENT_FILTER),
        ("stop", "SAFETY", FinishReason.CONTENT_FILTER),
        ("tool_calls", None, FinishReason.STOP),
    ],
)
def test_a_finish_is_read_by_whoever_says_it(
    reason: str, native: str | None, expected: FinishReason
) -> None:
    ended = finished(text("a") + end(reason, native_finish_reason=native))

    words = (reason,) if native is None else (reason, native)
    assert (ended.reason, ended.raw) == (expected, words)


@pytest.mark.parametrize(
    ("reason", "native", "kind"),
    [
        ("error", None, FailureKind.SERVER_ERROR),
        ("stop", "error", FailureKind.SERVER_ERROR),
        ("network_error", None, FailureKind.SERVER_ERROR),
        ("insufficient_system_resource", None, FailureKind.OVERLOADED),
        ("error", "MALFORMED_FUNCTION_CALL", FailureKind.MALFORMED_TOOL_CALL),
    ],
)
def test_a_finish_that_means_failure_is_one(
    reason: str, native: str | None, kind: FailureKind
) -> None:
    assert failure_of(text("a") + end(reason, native_finish_reason=native)).kind is kind


def test_an_empty_finish_is_none() -> None:
    assert failure_of(chunk({"content": "a"}, finish_reason="")).rule == "cut"


def test_text_and_a_clean_end_are_an_answer_though_no_reason_came() -> None:
    assert finished(text("a") + DONE) == Finished(reason=FinishReason.STOP, confirmed=False)


def test_an_end_without_any_word_is_a_cut() -> None:
    assert failure_of(text("a")) == Failure(
        kind=FailureKind.NETWORK,
        message="the answer broke off before its end",
        provider="custom",
        status=200,
        rule="cut",
        in_band=True,
    )


def test_a_refusal_without_text_is_a_block() -> None:
    refusals = chunk({"refusal": "I "}) + chunk({"refusal": "won't."})

    ended = finished(refusals + end())

    assert (ended.reason, ended.refusal) == (FinishReason.CONTENT_FILTER, "I won't.")


def test_half_a_chunk_at_the_end_is_a_cut() -> None:
    assert failure_of(text("a"), 'data: {"choices":[{"ind').rule == "cut"


def test_half_a_trailer_behind_the_finish_does_no_harm() -> None:
    assert finished(text("a") + end(), 'data: {"choices":[],"usa') == STOPPED


def test_a_last_chunk_without_its_blank_line_is_read() -> None:
    assert events_of(text("a"), end().rstrip()) == [TextDelta("a"), STOPPED]


def test_a_broken_chunk_is_a_failure_though_the_answer_goes_on() -> None:
    assert failure_of(text("a"), "data: {broken\n\n", text("b") + end() + DONE).rule == (
        "broken-event"
    )


def test_noise_under_another_name_is_no_text() -> None:
    noise = "event: ping\ndata: ping\n\n" + event({"type": "ping"}, "ping") + "data:\n\n"

    assert events_of(noise + text("a") + end()) == [TextDelta("a"), STOPPED]


def test_nothing_is_read_behind_the_last_word() -> None:
    assert events_of(text("a") + DONE + text("b")) == [
        TextDelta("a"),
        Finished(reason=FinishReason.STOP, confirmed=False),
    ]


@pytest.mark.parametrize("mark", ["[DONE]", " [DONE] ", "[DONE]\nid: 1"])
def test_the_end_mark_is_known_however_it_is_written(mark: str) -> None:
    assert finished(text("a") + f"data: {mark}\n\n" + text("b") + end("length")) == Finished(
        reason=FinishReason.STOP, confirmed=False
    )


def test_who_speaks_is_asked_for_nothing_but_an_error() -> None:
    asked: list[Speaker] = []

    def speaker() -> Speaker:
        asked.append(SPEAKER)
        return SPEAKER

    reply = OpenAIReply(speaker)
    reply.feed((text("a") + end() + DONE).encode())
    assert (reply.end()[-1], asked) == (STOPPED, [])

    reply = OpenAIReply(speaker)
    reply.feed(event({"error": ERROR}).encode())
    assert isinstance(reply.end()[-1], StreamFailed)
    assert asked


def test_broken_utf8_in_a_text_is_replaced() -> None:
    reply = OpenAIReply(lambda: SPEAKER)
    broken = b'data: {"choices":[{"index":0,"delta":{"content":"a\xff"}}]}\n\n'

    assert reply.feed(broken + broken) == [TextDelta("a\ufffda\ufffd")]


ERROR = {"message": "Oh", "code": 503}


class ReadInFull(OpenAIReply):
    """Takes no chunk for a plain one."""

    def takes(self, chunk: dict[str, Any]) -> bool:
        return False


PLAIN = st.sampled_from(({"content": "a"}, {"content": "bc "}, {"role": "assistant"}, {}))
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant"),
        "content": st.sampled_from(("a", "bc ", "", None, 7, ["d"])),
        "reasoning": st.sampled_from(("hm", None)),
        "refusal": st.sampled_from(("no", None)),
        "tool_calls": st.sampled_from(([], [{"index": 0, "id": "c", "function": {"name": "f"}}])),
    },
)
CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from((0, 0, None, 1)),
        "delta": st.one_of(PLAIN, PLAIN, PLAIN, DELTAS, st.sampled_from((None, "x"))),
        "message": PLAIN,
        "finish_reason": st.sampled_from((None, None, "stop", "length", "error", "", 3)),
        "native_finish_reason": st.sampled_from((None, "MAX_TOKENS", "stop", 3)),
    },
)
CHUNKS = st.fixed_dictionaries(
    {"choices": st.one_of(CHOICES.map(lambda one: [one]), st.lists(CHOICES, max_size=2))},
    optional={
        "model": st.sampled_from(("m", "n", None, 7)),
        "usage": st.sampled_from((None, {"prompt_tokens": 3})),
        "error": st.sampled_from((None, None, "", ERROR)),
    },
)


@given(st.lists(CHUNKS, max_size=8), st.booleans())
def test_a_plain_chunk_means_what_it_means_to_those_who_read_in_full(
    chunks: list[dict[str, Any]], is_burst: bool
) -> None:
    events = [event(chunk).encode() for chunk in chunks]
    pieces = [b"".join(events)] if is_burst else events

    def heard(reply: OpenAIReply) -> list[list[StreamEvent]]:
        told = [reply.feed(piece) for piece in pieces if not reply.is_over]
        return [*told, reply.end()]

    assert heard(OpenAIReply(lambda: SPEAKER)) == heard(ReadInFull(lambda: SPEAKER))


@pytest.mark.parametrize(
    "failing",
    [
        event({"error": ERROR, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}),
        event({"error": ERROR, "choices": []}),
        event({"error": ERROR}),
        event({"error": ERROR}) + DONE,
        event({"error": ERROR}, "error"),
        event(ERROR, "error"),
        event([{"error": ERROR}]),
        event({"object": "error", **ERROR}),
        json.dumps({"error": ERROR}, indent=1) + "\n",
        "event: error\ndata: overloaded\n\n",
    ],
)
@pytest.mark.parametrize("before", ["", text("a")], ids=["at once", "behind text"])
def test_an_error_within_an_answer_wins_in_any_form(failing: str, before: str) -> None:
    failure = failure_of(before, failing)

    assert (failure.kind, failure.in_band) == (FailureKind.OVERLOADED, True)


def test_an_error_behind_the_finish_wins_too() -> None:
    assert failure_of(text("a") + end() + event({"error": ERROR})).kind is FailureKind.OVERLOADED


def test_an_error_that_is_only_a_text_is_one() -> None:
    assert failure_of(event({"error": "boom"})).message == "boom"


def test_counts_that_come_with_text_are_kept() -> None:
    choices = [{"index": 0, "delta": {"content": "b"}}]
    counted = event({"choices": choices, "usage": {"prompt_tokens": 3}})

    assert events_of(text("a"), counted, end())[2] == Usage(input_tokens=3)


def test_counts_that_come_with_an_error_are_kept() -> None:
    events = events_of(event({"error": ERROR, "usage": {"prompt_tokens": 3}}))

    assert events[0] == Usage(input_tokens=3)


def test_a_used_up_output_is_an_end_and_no_error() -> None:
    limit = event({"error": {"message": "Token limit reached", "code": 400}})

    assert finished(text("a") + limit).reason is FinishReason.LENGTH


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("<!DOCTYPE html><html></html>", "html"),
        ('{"choices":[{"message":', "broken-body"),
        ('{"error":{"message":"Oh","code":503}}', "status-overloaded"),
        ('[{"error":{"message":"Oh","code":503}}]', "status-overloaded"),
        ('{"code":500,"msg":"404 NOT_FOUND","success":false}', "status-server"),
        ("{}", "unknown"),
        ("nothing but text", "cut"),
        ("", "cut"),
        ("  \r\n", "cut"),
    ],
)
def test_a_body_that_is_no_answer_is_a_failure(body: str, rule: str) -> None:
    assert failure_of(body).rule == rule
    assert failure_of(*body).rule == rule


def test_a_whole_answer_is_read_like_a_stream() -> None:
    message = {
        "content": None,
        "reasoning": "hm",
        "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": {"at": "sea"}}}],
    }
    body = {
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1},
    }

    assert events_of(json.dumps(body)) == [
        ServingProvider(model="m"),
        ReasoningDelta("hm"),
        ToolCallDelta(index=0, call_id="c1", name="look", arguments='{"at":"sea"}'),
        Usage(input_tokens=1),
        Finished(reason=FinishReason.TOOL_CALLS, raw=("tool_calls",)),
    ]


def test_a_body_larger_than_allowed_is_a_failure() -> None:
    reply = OpenAIReply(lambda: SPEAKER)
    size = 0
    while not reply.is_over and size < 2 * openai_reply.MOST_BODY_BYTES:
        reply.feed(b"{" + b" " * 1_000_000)
        size += 1_000_001

    assert [event.failure.rule for event in reply.end() if isinstance(event, StreamFailed)] == [
        "too-large"
    ]


class TestToolCalls:
    def fragment(self, index: int | None, call_id: str | None, name: str | None, args: Any) -> str:
        function = {"name": name, "arguments": args}
        return chunk({"tool_calls": [{"index": index, "id": call_id, "function": function}]})

    def calls(self, *parts: str, reason: str = "tool_calls") -> list[tuple[str, str, str]]:
        calls: dict[int, tuple[str, str, str]] = {}
        for delta in events_of(*parts, end(reason)):
            if isinstance(delta, ToolCallDelta):
                call_id, name, arguments = calls.get(delta.index, ("", "", ""))
                calls[delta.index] = (
                    call_id + (delta.call_id or ""),
                    name + (delta.name or ""),
                    arguments + delta.arguments,
                )
        return [calls[index] for index in sorted(calls)]

    def test_pieces_go_to_their_call(self) -> None:
        assert self.calls(
            self.fragment(0, "a", "look", ""),
            self.fragment(1, "b", "wait", '{"s"'),
            self.fragment(0, None, None, '{"at":1}'),
            self.fragment(1, None, None, ":2}"),
        ) == [("a", "look", '{"at":1}'), ("b", "wait", '{"s":2}')]

    def test_an_id_and_a_name_that_are_repeated_belong_to_the_same_call(self) -> None:
        assert self.calls(
            self.fragment(0, "a", "look", '{"at"'), self.fragment(0, "a", "look", ":1}")
        ) == [("a", "look", '{"at":1}')]

    def test_calls_that_share_an_index_are_told_apart_by_their_ids(self) -> None:
        assert self.calls(
            self.fragment(0, "a", "look", "{}"), self.fragment(0, "b", "wait", "{}")
        ) == [("a", "look", "{}"), ("b", "wait", "{}")]

    def test_calls_without_index_are_told_apart_by_their_ids(self) -> None:
        assert self.calls(
            self.fragment(None, "a", "look", "{}"), self.fragment(None, "b", "wait", "{}")
        ) == [("a", "look", "{}"), ("b", "wait", "{}")]

    @pytest.mark.parametrize("nothing", ["", None, "null"])
    def test_no_arguments_are_an_empty_object(self, nothing: str | None) -> None:
        assert self.calls(self.fragment(0, "a", "look", nothing)) == [("a", "look", "{}")]

    def test_no_arguments_of_a_call_that_was_cut_stay_none(self) -> None:
        assert self.calls(self.fragment(0, "a", "look", ""), reason="length") == [("a", "look", "")]

    def test_an_object_is_written_out(self) -> None:
        assert self.calls(self.fragment(0, "a", "look", {"at": "sea"})) == [
            ("a", "look", '{"at":"sea"}')
        ]

    def test_a_call_without_id_is_given_one(self) -> None:
        ((call_id, name, _),) = self.calls(self.fragment(0, None, "look", "{}"))

        assert call_id.startswith("call_")
        assert name == "look"

    def test_a_call_that_ends_with_stop_is_a_call_all_the_same(self) -> None:
        assert finished(self.fragment(0, "a", "look", "{}") + end()).reason is (
            FinishReason.TOOL_CALLS
        )

    def test_a_call_and_a_clean_end_are_a_call_though_no_reason_came(self) -> None:
        ended = finished(self.fragment(0, "a", "look", "{}") + DONE)

        assert (ended.reason, ended.confirmed) == (FinishReason.TOOL_CALLS, False)

    def test_a_call_that_breaks_off_is_a_failure(self) -> None:
        assert failure_of(self.fragment(0, "a", "look", '{"at')).rule == "cut"

    def test_reasoning_comes_whole_with_the_calls_it_belongs_to(self) -> None:
        def thought(**fields: Any) -> str:
            return chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, **fields}]})

        events = events_of(
            thought(text="I "),
            thought(text="look."),
            thought(text="", signature="s1"),
            chunk(
                {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "id": "r1"}]}
            ),
            self.fragment(0, "a", "look", "{}"),
            end("tool_calls"),
        )

        opaque = [event.opaque_json for event in events if isinstance(event, ReasoningDelta)]
        assert [json.loads(text or "") for text in opaque] == [
            [
                {"type": "reasoning.text", "index": 0, "text": "I look.", "signature": "s1"},
                {"type": "reasoning.encrypted", "data": "x", "id": "r1"},
            ]
        ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            [
                "choices", "delta", "message", "content", "tool_calls", "function", "arguments",
                "index", "id", "name", "error", "code", "type", "usage", "finish_reason", "model",
                "provider", "reasoning_details", "refusal", "metadata", "details", "detail",
                "prompt_tokens", "completion_tokens_details", "reasoning_tokens", "text",
            ]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=15,
)  # fmt: skip


@given(st.lists(JSON, max_size=4), st.lists(st.binary(max_size=20), max_size=3))
def test_whatever_comes_the_end_comes_once_and_last(
    chunks: list[object], noise: list[bytes]
) -> None:
    reply = OpenAIReply(lambda: SPEAKER)
    events: list[StreamEvent] = []
    for part in [*(event(data).encode() for data in chunks), *noise]:
        if not reply.is_over:
            events += reply.feed(part)
    events += reply.end()

    ends = [isinstance(event, Finished | StreamFailed) for event in events]
    assert ends == [False] * (len(events) - 1) + [True]
