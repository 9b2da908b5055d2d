"""What providers may send, well-formed or not, becomes events with one end, and never a bug."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache, partial
from itertools import pairwise
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import Reply, kept, read_json, recording

from turnkeeper.domain.failure import Failure
from turnkeeper.domain.stream import Finished, StreamEvent, StreamFailed
from turnkeeper.infrastructure.providers.anthropic_answer import AnthropicAnswer
from turnkeeper.infrastructure.providers.gemini_answer import GeminiAnswer
from turnkeeper.infrastructure.providers.native_answer import NativeAnswer
from turnkeeper.infrastructure.providers.native_reply import NativeReply
from turnkeeper.infrastructure.providers.novelai_answer import Expected, NovelAiAnswer
from turnkeeper.infrastructure.providers.openai_reply import OpenAIReply
from turnkeeper.infrastructure.providers.provider_errors import reply_failure
from turnkeeper.infrastructure.providers.speaker import Speaker

NOW = datetime(2026, 4, 1, tzinfo=UTC)
SPEAKER = Speaker(provider="wall", status=200, now=NOW)
EXPECTED = Expected(max_length=8, stops=("###",))


def native(answer: Callable[[Speaker], NativeAnswer]) -> Reply:
    return NativeReply(answer(SPEAKER))


REPLIES: dict[str, Callable[[], Reply]] = {
    "openai": partial(OpenAIReply, lambda: SPEAKER),
    "anthropic": partial(native, AnthropicAnswer),
    "gemini": partial(native, GeminiAnswer),
    "novelai": partial(native, partial(NovelAiAnswer, expected=EXPECTED)),
}

# Names and words that the readers look for, so that what is random goes deep.
NAMES = st.sampled_from(
    (
        *("id", "model", "provider", "choices", "index", "delta", "message", "content", "role"),
        *("reasoning", "reasoning_content", "reasoning_details", "tool_calls", "function", "name"),
        *(
            "arguments",
            "refusal",
            "finish_reason",
            "native_finish_reason",
            "usage",
            "prompt_tokens",
        ),
        *("error", "code", "type", "status", "metadata", "raw", "detail", "details", "loc", "msg"),
        *("headers", "text", "thinking", "signature", "data", "content_block", "partial_json"),
        *("stop_reason", "input_tokens", "output_tokens", "candidates", "parts", "functionCall"),
        *("args", "finishReason", "promptFeedback", "blockReason", "usageMetadata", "thought"),
        *("thoughtSignature", "modelVersion", "token", "output", "final"),
    )
)
WORDS = st.sampled_from(
    (
        *("text_delta", "thinking_delta", "input_json_delta", "signature_delta", "message_start"),
        *("content_block_start", "content_block_delta", "content_block_stop", "message_delta"),
        *("message_stop", "error", "text", "thinking", "tool_use", "stop", "length", "tool_calls"),
        *("content_filter", "end_turn", "STOP", "MAX_TOKENS", "SAFETY", "{}", "[]", "###"),
    )
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8), WORDS
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=24,
)
EVENT_NAMES = st.sampled_from(("", "error", "ping", "message_stop", "content_block_delta"))
STREAMS = st.lists(st.tuples(EVENT_NAMES, ANYTHING), max_size=6)
CUTS = st.lists(st.integers(min_value=0, max_value=2_000), max_size=6)
SEEDS = st.integers(min_value=0, max_value=2**32)


# A quarter of what other properties are given, as each of these is tried for every dialect.
FEWER = hypothesis.settings(max_examples=hypothesis.settings().max_examples // 4)


def bytes_of(documents: list[tuple[str, Any]]) -> bytes:
    named = ((f"event: {name}\n" if name else "", json.dumps(value)) for name, value in documents)
    return "".join(f"{event}data: {data}\n\n" for event, data in named).encode()


def heard(reply: Reply, pieces: list[bytes]) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    for piece in pieces:
        events += reply.feed(piece)
        if reply.is_over:
            break
    return [*events, *reply.end()]


def in_pieces(body: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]


def has_one_end(events: list[StreamEvent]) -> bool:
    ends = [isinstance(event, Finished | StreamFailed) for event in events]
    return ends.count(True) == 1 and ends[-1]


def told(events: list[StreamEvent]) -> object:
    """What is the same however the bytes were cut: the end, and how much text."""
    return events[-1], "".join(getattr(event, "text", "") for event in events)


@pytest.mark.parametrize("dialect", REPLIES)
@FEWER
@given(STREAMS, CUTS)
def test_any_json_has_one_end_and_the_same_however_it_is_cut(
    dialect: str, documents: list[tuple[str, Any]], cuts: list[int]
) -> None:
    body = bytes_of(documents)

    whole = heard(REPLIES[dialect](), [body])

    assert has_one_end(whole)
    assert told(heard(REPLIES[dialect](), in_pieces(body, cuts))) == told(whole)


@pytest.mark.parametrize("dialect", REPLIES)
@FEWER
@given(ANYTHING)
def test_any_json_as_a_whole_body_has_one_end(dialect: str, document: Any) -> None:
    assert has_one_end(heard(REPLIES[dialect](), [json.dumps(document).encode()]))


@pytest.mark.parametrize("dialect", REPLIES)
@FEWER
@given(st.binary(max_size=300), CUTS)
def test_any_bytes_have_one_end(dialect: str, body: bytes, cuts: list[int]) -> None:
    assert has_one_end(heard(REPLIES[dialect](), in_pieces(body, cuts)))


@given(st.integers(min_value=400, max_value=599), ANYTHING, st.text(max_size=20))
def test_any_error_is_a_failure(status: int, body: Any, hint: str) -> None:
    headers = {"Retry-After": hint, "x-ratelimit-reset-requests": hint}
    sent = json.dumps(body).encode()

    failure = reply_failure(status, headers, sent, provider="wall", now=NOW)

    assert isinstance(failure, Failure)
    assert failure.retry_after_s is None or failure.retry_after_s >= 0


# ── a whole answer, with one value of another type ──────────────────────────────────────────

ODD: tuple[Any, ...] = (None, True, -1, 2**70, 0.5, "", "x", [], {}, [{}], [[]], {"a": []}, ["x"])
TOOL = {"name": "look", "arguments": "{}"}
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {"id": "1", "model": "m", "provider": "p", "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": "Hello", "reasoning": "Hm",
                "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "index": 0}]}}]},
        {"model": "m", "choices": [{"index": 0, "delta": {"tool_calls": [
            {"index": 0, "id": "c", "type": "function", "function": TOOL}]}}]},
        {"model": "m", "choices": [{"index": 0, "delta": {"content": [
            {"type": "text", "text": "a"}, {"type": "thinking", "thinking": [
                {"type": "text", "text": "b"}]}]}}]},
        {"model": "m", "choices": [{"index": 0, "delta": {"refusal": "no"},
            "finish_reason": "stop", "native_finish_reason": "eos"}]},
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 1}}},
        {"error": {"message": "no", "code": 429, "type": "t", "param": "p", "metadata": {
            "raw": "r", "provider_name": "n", "headers": {"a": "b"}, "reasons": ["x"]}}},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"id": "1", "model": "m", "usage": {
            "input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {
            "type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {
            "type": "thinking_delta", "thinking": "Hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {
            "type": "signature_delta", "signature": "s"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {
            "type": "text_delta", "text": "Hello"}},
        {"type": "content_block_start", "index": 2, "content_block": {
            "type": "tool_use", "id": "c", "name": "look", "input": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {
            "type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_start", "index": 3, "content_block": {
            "type": "redacted_thinking", "data": "d"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None,
            "stop_details": {"explanation": "e"}}, "usage": {"output_tokens": 2}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
    ],
    "gemini": [
        {"modelVersion": "m", "candidates": [{"index": 0, "content": {"role": "model", "parts": [
            {"text": "Hm", "thought": True, "thoughtSignature": "s"}, {"text": "Hello"},
            {"functionCall": {"id": "c", "name": "look", "args": {"a": 1}}}]},
            "finishReason": "STOP", "finishMessage": "f", "safetyRatings": [{"blocked": False}]}],
         "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2,
            "thoughtsTokenCount": 1, "totalTokenCount": 4, "cachedContentTokenCount": 0}},
        {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no"}},
        {"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED", "details": [
            {"reason": "r", "violations": [{"quotaId": "q"}], "retryDelay": "1s"}]}},
    ],
    "novelai": [
        {"token": "Hello", "ptr": 0, "final": False},
        {"token": " all.", "ptr": 1, "final": True},
        {"statusCode": 429, "message": "no"},
    ],
}  # fmt: skip


def with_odd_values(documents: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The documents with every value, one after the other, in the form of every odd one."""
    for place in range(len(list(_places(documents)))):
        for odd in ODD:
            made = copy.deepcopy(documents)
            holder, name = list(_places(made))[place]
            holder[name] = odd
            yield made


@pytest.mark.parametrize("form", ["stream", "event", "whole"])
@pytest.mark.parametrize("dialect", REPLIES)
def test_a_value_of_another_type_is_no_bug(dialect: str, form: str) -> None:
    whole = ANSWERS[dialect]
    answers = [whole] if form == "stream" else [[document] for document in whole]
    for answer in answers:
        for documents in with_odd_values(answer):
            if form == "whole":
                body = json.dumps(documents[0]).encode()
            else:
                body = bytes_of([("", document) for document in documents])
            events = heard(REPLIES[dialect](), [body])
            assert has_one_end(events), documents


# ── recordings of real answers, changed ─────────────────────────────────────────────────────


@cache
def corpus() -> tuple[tuple[str, bytes], ...]:
    """The dialect and the body of every recorded answer."""
    shapes = {"anthropic": "anthropic", "gemini": "gemini"}
    found = []
    for folder in kept():
        case = recording(folder.parent, folder.name)
        shape = str(read_json(folder / "meta.json").get("api_shape", ""))
        dialect = next((name for key, name in shapes.items() if key in shape), "openai")
        found.append((dialect, case.body))
    return tuple(found)


def changed(body: bytes, dice: random.Random) -> bytes:
    """A body with some of its events lost, doubled, moved, or changed within."""
    events = body.replace(b"\r\n", b"\n").split(b"\n\n")
    for _ in range(dice.randrange(1, 4)):
        place = dice.randrange(len(events))
        match dice.randrange(5):
            case 0:
                del events[place : place + 1]
                events = events or [b""]
            case 1:
                events.insert(place, events[place])
            case 2:
                events.insert(dice.randrange(len(events)), events.pop(place))
            case 3:
                events[place] = _with_other_bytes(events[place], dice)
            case _:
                events[place] = _with_other_values(events[place], dice)
    return b"\n\n".join(events)


def _with_other_bytes(event: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(event) + 1)
    return event[:at] + dice.randbytes(dice.randrange(4)) + event[at + dice.randrange(4) :]


def _with_other_values(event: bytes, dice: random.Random) -> bytes:
    head, mark, data = event.partition(b"data:")
    try:
        document = json.loads(data)
    except ValueError:
        return event
    places = list(_places(document))
    if places:
        holder, name = dice.choice(places)
        holder[name] = dice.choice((None, True, -1, 2**70, "", "x", [], {}, [{}], {"a": []}))
    return head + mark + json.dumps(document).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place within a document that holds a value."""
    if isinstance(value, dict | list):
        for name in value if isinstance(value, dict) else range(len(value)):
            yield value, name
            yield from _places(value[name])


@pytest.mark.recording
@given(SEEDS, CUTS)
def test_a_recorded_answer_that_was_changed_has_one_end(seed: int, cuts: list[int]) -> None:
    if not corpus():
        pytest.skip("TURNKEEPER_RECORDINGS names no recordings")
    dice = random.Random(seed)
    dialect, recorded = dice.choice(corpus())
    body = changed(recorded, dice)

    whole = heard(REPLIES[dialect](), [body])

    assert has_one_end(whole)
    assert told(heard(REPLIES[dialect](), in_pieces(body, cuts))) == told(whole)
