"""What bytes an answer is made of: the OpenAI-compatible chat-completions dialect."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, Protocol

import orjson

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.wall.answer import Answer, ToolCall, Usage

Kind = Literal["text", "reasoning"]
DONE = b"data: [DONE]\n\n"
ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "bad_request"),
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("permission_error", "permission_denied"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}


@frozen
class Asked:
    """What a request on one of the dialect's chat routes asks for."""

    model: str
    streamed: bool


@frozen
class Rendered:
    """An answer's body in the pieces in which it may be sent.

    Attributes:
        opening: Events before the first token.
        tokens: One piece a token; a whole (not streamed) body has none.
        closing: Finish, usage and end marker, or the whole body.
    """

    content_type: str
    opening: tuple[bytes, ...]
    tokens: tuple[bytes, ...]
    closing: tuple[bytes, ...]


class Dialect(Protocol):
    """What bytes answers are made of. Hashable and without state; bytes are never framed."""

    def asked(self, method: str, path: str, body: Mapping[str, Any]) -> Asked | None:
        """Return what is asked, or None if this is none of the dialect's chat routes."""
        ...

    def lists_models(self, method: str, path: str) -> bool:
        """Whether the request asks which models there are."""
        ...

    def models(self, names: tuple[str, ...]) -> bytes:
        """The list of models."""
        ...

    def rendered(self, answer: Answer, asked: Asked) -> Rendered:
        """The answer, as a stream or whole."""
        ...

    def delta(self, text: str, asked: Asked, kind: Kind) -> bytes:
        """One event of a stream."""
        ...

    def error(self, status: int, message: str) -> bytes:
        """The body of a refusal."""
        ...

    def error_event(self, status: int, message: str) -> bytes:
        """A refusal within a stream."""
        ...


@frozen
class OpenAiDialect:
    """Chat completions as OpenAI and those who follow it stream them.

    Attributes:
        base_path: What comes before the routes; providers differ.
        reasoning_field: Where a delta carries reasoning; providers differ.
    """

    base_path: str = "/v1"
    reasoning_field: str = "reasoning_content"

    def asked(self, method: str, path: str, body: Mapping[str, Any]) -> Asked | None:
        if (method, path) != ("POST", f"{self.base_path}/chat/completions"):
            return None
        return Asked(model=str(body.get("model", "")), streamed=body.get("stream") is True)

    def lists_models(self, method: str, path: str) -> bool:
        return (method, path) == ("GET", f"{self.base_path}/models")

    def models(self, names: tuple[str, ...]) -> bytes:
        entries = [
            {"id": name, "object": "model", "created": 0, "owned_by": "wall"} for name in names
        ]
        return orjson.dumps({"object": "list", "data": entries})

    def rendered(self, answer: Answer, asked: Asked) -> Rendered:
        return _rendered(self, answer, asked)

    def delta(self, text: str, asked: Asked, kind: Kind) -> bytes:
        return _chunk(asked.model, {"content" if kind == "text" else self.reasoning_field: text})

    def error(self, status: int, message: str) -> bytes:
        return orjson.dumps({"error": _error(status, message)})

    def error_event(self, status: int, message: str) -> bytes:
        return b"data: %b\n\n" % self.error(status, message)


# Rendering is pure, and a benchmark asks for the same answer thousands of times.
@lru_cache(maxsize=256)
def _rendered(dialect: OpenAiDialect, answer: Answer, asked: Asked) -> Rendered:
    model = answer.model or asked.model
    if not asked.streamed:
        body = orjson.dumps(_completion(dialect, answer, model))
        return Rendered(content_type="application/json", opening=(), tokens=(), closing=(body,))
    return Rendered(
        content_type="text/event-stream",
        opening=(_chunk(model, {"role": "assistant", "content": ""}),),
        tokens=tuple(_chunk(model, delta) for delta in _deltas(dialect, answer)),
        closing=tuple(_closing(answer, model)),
    )


def _deltas(dialect: OpenAiDialect, answer: Answer) -> Iterator[dict[str, Any]]:
    for thought in answer.reasoning:
        yield {dialect.reasoning_field: thought}
    for piece in answer.pieces:
        yield {"content": piece}
    for index, call in enumerate(answer.tool_calls):
        yield {"tool_calls": [{"index": index, **_call(call, index, arguments="")}]}
        for part in call.arguments:
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def _closing(answer: Answer, model: str) -> Iterator[bytes]:
    if answer.finish_reason is not None:
        yield _chunk(model, {}, answer.finish_reason)
    if answer.final_usage:
        last = {**_head(model, "chat.completion.chunk"), "choices": []}
        yield b"data: %b\n\n" % orjson.dumps({**last, "usage": _usage(answer.counts)})
    if answer.done:
        yield DONE


def _chunk(model: str, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: %b\n\n" % orjson.dumps(
        {**_head(model, "chat.completion.chunk"), "choices": [choice]}
    )


def _completion(dialect: OpenAiDialect, answer: Answer, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.whole_text}
    if answer.reasoning:
        message[dialect.reasoning_field] = "".join(answer.reasoning)
    if answer.tool_calls:
        message["tool_calls"] = [
            _call(call, index, arguments="".join(call.arguments))
            for index, call in enumerate(answer.tool_calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    usage = {"usage": _usage(answer.counts)} if answer.final_usage else {}
    return {**_head(model, "chat.completion"), "choices": [choice], **usage}


def _head(model: str, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-wall", "object": kind, "created": 0, "model": model}


def _call(call: ToolCall, index: int, *, arguments: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id or f"call_{index + 1}", "type": "function", "function": function}


def _usage(counts: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": counts.input_tokens,
        "completion_tokens": counts.output_tokens,
        "total_tokens": counts.input_tokens + counts.output_tokens,
        "prompt_tokens_details": {"cached_tokens": counts.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": counts.reasoning_tokens},
    }


def _error(status: int, message: str) -> dict[str, Any]:
    kind, code = ERRORS.get(status, ("server_error", "server_error"))
    return {"message": message, "type": kind, "param": None, "code": code}
