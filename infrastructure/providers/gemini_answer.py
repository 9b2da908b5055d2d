"""An answer of the Gemini API.

Source: Google's reference of GenerateContentResponse; answers as recorded.
"""

from collections.abc import Iterator
from uuid import uuid4

import orjson

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    StreamEvent,
    ToolCallDelta,
    Usage,
)
from turnkeeper.infrastructure.providers.gemini_contents import SIGNATURE
from turnkeeper.infrastructure.providers.native_answer import (
    Document,
    NativeAnswer,
    count_in,
    sum_of,
)
from turnkeeper.infrastructure.providers.speaker import Speaker

_KNOWN = frozenset({"candidates", "promptFeedback", "usageMetadata"})
_FILTERS = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "MODEL_ARMOR",
    }
)
_FAILURES = {
    "MALFORMED_FUNCTION_CALL": FailureKind.MALFORMED_TOOL_CALL,
    "UNEXPECTED_TOOL_CALL": FailureKind.MALFORMED_TOOL_CALL,
    "TOO_MANY_TOOL_CALLS": FailureKind.MALFORMED_TOOL_CALL,
    "MISSING_THOUGHT_SIGNATURE": FailureKind.BAD_REQUEST,
    "MALFORMED_RESPONSE": FailureKind.SERVER_ERROR,
    "NO_IMAGE": FailureKind.SERVER_ERROR,
    "IMAGE_OTHER": FailureKind.SERVER_ERROR,
    "OTHER": FailureKind.SERVER_ERROR,
}


class GeminiAnswer(NativeAnswer):
    """Read from chunks that each may hold parts, a reason for the end, and counts so far."""

    def __init__(self, speaker: Speaker) -> None:
        super().__init__(speaker)
        self._counts: Document = {}
        self._words: list[str] = []
        self._is_blocked = False
        self._call_count = 0
        self._signed: list[Document] = []

    def knows(self, document: Document) -> bool:
        return not _KNOWN.isdisjoint(document)

    def take(self, document: Document) -> None:
        self.served_by(document.get("modelVersion"))
        if isinstance(counts := document.get("usageMetadata"), dict):
            self._counts |= counts  # they are sums so far, but not each chunk has them all
            self.usage = _usage_of(self._counts)
        feedback = document.get("promptFeedback")
        if isinstance(feedback, dict) and (reason := feedback.get("blockReason")):
            self._is_blocked = True
            self._end_with(reason)
        candidates = document.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else ():
            if isinstance(candidate, dict) and not candidate.get("index"):
                self._take_candidate(candidate)

    def finished(self) -> Finished:
        failing = next((word for word in self._words if word in _FAILURES), None)
        if failing and not self._is_blocked:
            rule = f"finish-{failing.lower().replace('_', '-')}"
            self.fail(_FAILURES[failing], rule, f"the answer ended with {failing}")
        return Finished(reason=self._reason(), raw=tuple(self._words))

    def closing(self, finished: Finished) -> Iterator[StreamEvent]:
        if self._signed:
            yield ReasoningDelta(text="", opaque_json=orjson.dumps(self._signed).decode())

    def _take_candidate(self, candidate: Document) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                self._take_part(part)
        if reason := candidate.get("finishReason"):
            self._end_with(reason)

    def _take_part(self, part: Document) -> None:
        """Take in a part; code that was run, and what it gave, is not for people to read."""
        if isinstance(call := part.get("functionCall"), dict):
            self._take_call(call, part.get(SIGNATURE))
            return
        if part.get("thought"):
            self.add_thoughts(part.get("text"))
        else:
            self.add_text(part.get("text"))
        if signature := _text(part.get(SIGNATURE)):
            self._signed.append({"text": "", SIGNATURE: signature})

    def _take_call(self, call: Document, signature: object) -> None:
        self.add(
            ToolCallDelta(
                index=self._call_count,
                call_id=_text(call.get("id")) or f"call_{uuid4().hex[:24]}",
                name=_text(call.get("name")) or "",
                arguments=self.written(call.get("args")) or "{}",
                signature=_text(signature),
            )
        )
        self._call_count += 1

    def _end_with(self, word: object) -> None:
        self.is_finished = True
        self._words.append(str(word))

    def _reason(self) -> FinishReason:
        """What all the reasons together mean; a word that nobody knows is an ordinary end."""
        if self._is_blocked or not _FILTERS.isdisjoint(self._words):
            return FinishReason.CONTENT_FILTER
        if "MAX_TOKENS" in self._words:
            return FinishReason.LENGTH
        return FinishReason.TOOL_CALLS if self._call_count else FinishReason.STOP


def _usage_of(counts: Document) -> Usage:
    thoughts = count_in(counts, "thoughtsTokenCount")
    return Usage(
        input_tokens=count_in(counts, "promptTokenCount"),
        output_tokens=sum_of(count_in(counts, "candidatesTokenCount"), thoughts),
        total_tokens=count_in(counts, "totalTokenCount"),
        reasoning_tokens=thoughts,
        cached_tokens=count_in(counts, "cachedContentTokenCount"),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
