"""What bytes an answer is made of: the dialect of Anthropic's Messages.

Source: Anthropic's reference of the Messages API; answers as recorded.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.wall.answer import Answer, Usage
from turnkeeper.infrastructure.wall.dialect import Asked, Kind, Rendered

TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    503: "overloaded_error",
    529: "overloaded_error",
}
STOPS: Mapping[str, str] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}

Block = dict[str, Any]


@frozen
class AnthropicDialect:
    """Messages as Anthropic streams them, in blocks of thinking, text and calls.

    Attributes:
        base_path: What comes before the routes.
    """

    base_path: str = "/v1"

    def asked(self, method: str, path: str, body: Mapping[str, Any]) -> Asked | None:
        if (method, path) != ("POST", f"{self.base_path}/messages"):
            return None
        return Asked(model=str(body.get("model", "")), streamed=body.get("stream") is True)

    def lists_models(self, method: str, path: str) -> bool:
        return (method, path) == ("GET", f"{self.base_path}/models")

    def models(self, names: tuple[str, ...]) -> bytes:
        entries = [{"type": "model", "id": name, "display_name": name} for name in names]
        return orjson.dumps({"data": entries, "has_more": False})

    def rendered(self, answer: Answer, asked: Asked) -> Rendered:
        return _rendered(answer, asked)

    def delta(self, text: str, asked: Asked, kind: Kind) -> bytes:
        return _delta(0, _said(text, kind))

    def error(self, status: int, message: str) -> bytes:
        return orjson.dumps(_error(status, message))

    def error_event(self, status: int, message: str) -> bytes:
        return _event("error", _error(status, message))


# Rendering is pure, and a benchmark asks for the same answer thousands of times.
@lru_cache(maxsize=256)
def _rendered(answer: Answer, asked: Asked) -> Rendered:
    model = answer.model or asked.model
    if not asked.streamed:
        body = orjson.dumps(_message(answer, model))
        return Rendered(content_type="application/json", opening=(), tokens=(), closing=(body,))
    started = {**_empty(model), "usage": _usage(Usage(input_tokens=answer.counts.input_tokens))}
    return Rendered(
        content_type="text/event-stream",
        opening=(_event("message_start", {"message": started}), _event("ping", {})),
        tokens=tuple(_tokens(answer)),
        closing=tuple(_closing(answer)),
    )


def _tokens(answer: Answer) -> Iterator[bytes]:
    """One piece a token; the first of a block also ends the block before and opens its own."""
    for index, (block, deltas) in enumerate(_blocks(answer)):
        before = _stop(index - 1) if index else b""
        start = _event("content_block_start", {"index": index, "content_block": block})
        if block["type"] == "tool_use":
            yield before + start
            yield from (_delta(index, delta) for delta in deltas)
            continue
        first, *others = deltas
        yield before + start + _delta(index, first)
        yield from (_delta(index, delta) for delta in others)


def _blocks(answer: Answer) -> Iterator[tuple[Block, list[Block]]]:
    """Each block as it starts, and its deltas."""
    if answer.reasoning:
        empty = {"type": "thinking", "thinking": "", "signature": ""}
        yield empty, [_said(thought, "reasoning") for thought in answer.reasoning]
    if answer.pieces:
        yield {"type": "text", "text": ""}, [_said(piece, "text") for piece in answer.pieces]
    for number, call in enumerate(answer.tool_calls, start=1):
        called = {"type": "tool_use", "id": call.id or f"toolu_{number}", "name": call.name}
        pieces = [{"type": "input_json_delta", "partial_json": part} for part in call.arguments]
        yield {**called, "input": {}}, pieces


def _closing(answer: Answer) -> Iterator[bytes]:
    blocks = len(list(_blocks(answer)))
    if blocks:
        yield _stop(blocks - 1)
    if answer.finish_reason is not None:
        usage = {"usage": _usage(answer.counts)} if answer.final_usage else {}
        yield _event("message_delta", {"delta": _end(answer), **usage})
    if answer.done:
        yield _event("message_stop", {})


def _message(answer: Answer, model: str) -> dict[str, Any]:
    content: list[Block] = []
    if answer.reasoning:
        content.append({"type": "thinking", "thinking": "".join(answer.reasoning), "signature": ""})
    if answer.whole_text:
        content.append({"type": "text", "text": answer.whole_text})
    for block, deltas in _blocks(answer):
        if block["type"] == "tool_use":
            written = "".join(delta["partial_json"] for delta in deltas)
            content.append({**block, "input": orjson.Fragment(written)})
    usage = {"usage": _usage(answer.counts)} if answer.final_usage else {}
    return {**_empty(model), "content": content, **_end(answer), **usage}


def _empty(model: str) -> dict[str, Any]:
    head = {"id": "msg_wall", "type": "message", "role": "assistant", "model": model}
    return {**head, "content": [], "stop_reason": None, "stop_sequence": None}


def _end(answer: Answer) -> dict[str, Any]:
    reason = answer.finish_reason
    return {"stop_reason": STOPS.get(reason, reason) if reason else None, "stop_sequence": None}


def _said(text: str, kind: Kind) -> Block:
    if kind == "reasoning":
        return {"type": "thinking_delta", "thinking": text}
    return {"type": "text_delta", "text": text}


def _delta(index: int, delta: Block) -> bytes:
    return _event("content_block_delta", {"index": index, "delta": delta})


def _stop(index: int) -> bytes:
    return _event("content_block_stop", {"index": index})


def _usage(counts: Usage) -> dict[str, Any]:
    return {
        "input_tokens": counts.input_tokens - counts.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": counts.cached_tokens,
        "output_tokens": counts.output_tokens,
    }


def _event(name: str, fields: Mapping[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps({"type": name, **fields}))


def _error(status: int, message: str) -> dict[str, Any]:
    error = {"type": TYPES.get(status, "api_error"), "message": message}
    return {"type": "error", "error": error, "request_id": "req_wall"}
