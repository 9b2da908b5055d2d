"""What bytes an answer is made of: the Gemini dialect.

Source: Google's reference of generateContent; answers as recorded.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.wall.answer import Answer, ToolCall, Usage
from turnkeeper.infrastructure.wall.dialect import Asked, Kind, Rendered

STATUSES: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
FINISHES: Mapping[str, str] = {
    "stop": "STOP",
    "tool_calls": "STOP",  # calls end as any answer does
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}

_METHOD = re.compile(r"/models/(?P<model>[^/:]+):(?P<streams>stream)?[gG]enerateContent")


@frozen
class GeminiDialect:
    """Contents as the Gemini API streams them. A call comes whole, and so is one token.

    Attributes:
        base_path: What comes before the routes.
    """

    base_path: str = "/v1beta"

    def asked(self, method: str, path: str, body: Mapping[str, Any]) -> Asked | None:
        found = _METHOD.fullmatch(path.removeprefix(self.base_path))
        if method != "POST" or found is None or not path.startswith(self.base_path):
            return None
        return Asked(model=found["model"], streamed=found["streams"] is not None)

    def lists_models(self, method: str, path: str) -> bool:
        return (method, path) == ("GET", f"{self.base_path}/models")

    def models(self, names: tuple[str, ...]) -> bytes:
        entries = [
            {"name": f"models/{name}", "supportedGenerationMethods": ["generateContent"]}
            for name in names
        ]
        return orjson.dumps({"models": entries})

    def rendered(self, answer: Answer, asked: Asked) -> Rendered:
        return _rendered(answer, asked)

    def delta(self, text: str, asked: Asked, kind: Kind) -> bytes:
        return _event(_chunk(asked.model, [_text(text, kind)]))

    def error(self, status: int, message: str) -> bytes:
        return orjson.dumps(_error(status, message))

    def error_event(self, status: int, message: str) -> bytes:
        """A refusal within a stream: bare JSON, which is no event at all."""
        lines = orjson.dumps(_error(status, message), option=orjson.OPT_INDENT_2)
        return lines.replace(b"\n", b"\r\n") + b"\r\n"


# Rendering is pure, and a benchmark asks for the same answer thousands of times.
@lru_cache(maxsize=256)
def _rendered(answer: Answer, asked: Asked) -> Rendered:
    model = answer.model or asked.model
    if not asked.streamed:
        body = orjson.dumps(_last(answer, model, list(_parts(answer))))
        return Rendered(content_type="application/json", opening=(), tokens=(), closing=(body,))
    says_end = answer.finish_reason is not None or answer.final_usage
    return Rendered(
        content_type="text/event-stream",
        opening=(),
        tokens=tuple(_event(_chunk(model, [part])) for part in _parts(answer)),
        closing=(_event(_last(answer, model, [_text("", "text")])),) if says_end else (),
    )


def _parts(answer: Answer) -> Iterator[dict[str, Any]]:
    for thought in answer.reasoning:
        yield _text(thought, "reasoning")
    for piece in answer.pieces:
        yield _text(piece, "text")
    for call in answer.tool_calls:
        yield {"functionCall": _call(call)}


def _text(text: str, kind: Kind) -> dict[str, Any]:
    return {"text": text, "thought": True} if kind == "reasoning" else {"text": text}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = orjson.Fragment("".join(call.arguments))
    return {"name": call.name, "args": arguments, **({"id": call.id} if call.id else {})}


def _chunk(model: str, parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = FINISHES.get(finish, finish)
    return {"candidates": [candidate], "modelVersion": model, "responseId": "wall"}


def _last(answer: Answer, model: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"usageMetadata": _usage(answer.counts)} if answer.final_usage else {}
    return {**_chunk(model, parts, answer.finish_reason), **usage}


def _usage(counts: Usage) -> dict[str, Any]:
    return {
        "promptTokenCount": counts.input_tokens,
        "candidatesTokenCount": counts.output_tokens - counts.reasoning_tokens,
        "thoughtsTokenCount": counts.reasoning_tokens,
        "cachedContentTokenCount": counts.cached_tokens,
        "totalTokenCount": counts.input_tokens + counts.output_tokens,
    }


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: %b\r\n\r\n" % orjson.dumps(chunk)


def _error(status: int, message: str) -> dict[str, Any]:
    word = STATUSES.get(status, "INTERNAL" if status >= 500 else "FAILED_PRECONDITION")
    return {"error": {"code": status, "message": message, "status": word}}
