"""An answer of Anthropic's messages.

Source: Anthropic's reference of streaming messages; answers as recorded.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    StreamEvent,
    ToolCallDelta,
    Usage,
)
from turnkeeper.infrastructure.providers.anthropic_messages import Block, is_signed
from turnkeeper.infrastructure.providers.native_answer import (
    Document,
    NativeAnswer,
    count_in,
    sum_of,
)
from turnkeeper.infrastructure.providers.speaker import Speaker

_REASONS = {
    "refusal": FinishReason.CONTENT_FILTER,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
}
_KNOWN = frozenset(
    {
        "message",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
    }
)
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicAnswer(NativeAnswer):
    """Read from events that start blocks, go on with them, and end the message."""

    def __init__(self, speaker: Speaker) -> None:
        super().__init__(speaker)
        self._counts: Document = {}
        self._word: str | None = None
        self._explanation: str | None = None
        self._thinking: dict[object, _Thinking] = {}  # by the block's index
        self._calls: dict[object, int] = {}  # by the block's index
        self._call_count = 0
        self._empty: set[int] = set()

    def knows(self, document: Document) -> bool:
        kind = document.get("type")
        return isinstance(kind, str) and kind in _KNOWN

    def take(self, document: Document) -> None:
        match document.get("type"):
            case "message":
                self._take_message(document)
            case "message_start":
                self._take_head(_mapping(document.get("message")))
            case "content_block_start":
                self._start(_index_of(document), _mapping(document.get("content_block")))
            case "content_block_delta":
                self._go_on(_index_of(document), _mapping(document.get("delta")))
            case "message_delta":
                self._count(document.get("usage"))
                self._end_with(_mapping(document.get("delta")))
            case "message_stop":
                self.is_over = self.is_finished

    def finished(self) -> Finished:
        reason = _REASONS.get(self._word or "", FinishReason.STOP)
        if reason is FinishReason.STOP and self._calls:
            reason = FinishReason.TOOL_CALLS
        raw = (self._word,) if self._word else ()
        return Finished(reason=reason, raw=raw, refusal=self._explanation)

    def closing(self, finished: Finished) -> Iterator[StreamEvent]:
        if finished.reason is FinishReason.TOOL_CALLS:
            for index in sorted(self._empty):
                yield ToolCallDelta(index=index, arguments="{}")
        blocks = [thinking.block for thinking in self._thinking.values()]
        if signed := [block for block in blocks if is_signed(block)]:
            yield ReasoningDelta(text="", opaque_json=orjson.dumps(signed).decode())

    def _take_message(self, message: Document) -> None:
        """Take in a whole message that did not stream."""
        self._take_head(message)
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            self._start(index, _mapping(block))
        self._end_with(message)

    def _take_head(self, message: Document) -> None:
        self.served_by(message.get("model"))
        self._count(message.get("usage"))

    def _start(self, index: object, block: Block) -> None:
        match block.get("type"):
            case "text":
                self.add_text(block.get("text"))
            case "thinking" | "redacted_thinking":
                self._thinking[index] = _Thinking(block)
                self.add_thoughts(block.get("thinking"))
            case "tool_use":
                self._start_call(index, block)

    def _start_call(self, index: object, block: Block) -> None:
        number = self._calls[index] = self._call_count
        self._call_count += 1
        arguments = self.written(block.get("input"))
        if not arguments:
            self._empty.add(number)
        self.add(
            ToolCallDelta(
                index=number,
                call_id=str(block.get("id") or f"toolu_{number}"),
                name=str(block.get("name") or ""),
                arguments=arguments,
            )
        )

    def _go_on(self, index: object, delta: Block) -> None:
        match delta.get("type"):
            case "text_delta":
                self.add_text(delta.get("text"))
            case "thinking_delta":
                self.add_thoughts(delta.get("thinking"))
                self._go_on_thinking(index, delta)
            case "signature_delta":
                self._go_on_thinking(index, delta)
            case "input_json_delta":
                self._go_on_with_call(index, delta.get("partial_json"))

    def _go_on_thinking(self, index: object, delta: Block) -> None:
        if (thinking := self._thinking.get(index)) is not None:
            thinking.add(delta)

    def _go_on_with_call(self, index: object, arguments: object) -> None:
        number = self._calls.get(index)
        if number is not None and arguments and isinstance(arguments, str):
            self._empty.discard(number)
            self.add(ToolCallDelta(index=number, arguments=arguments))

    def _end_with(self, end: Document) -> None:
        """Note why it ended; until then the reason is null."""
        if reason := end.get("stop_reason"):
            self.is_finished = True
            self._word = str(reason)
            explanation = _mapping(end.get("stop_details")).get("explanation")
            self._explanation = explanation if isinstance(explanation, str) else None

    def _count(self, usage: object) -> None:
        self._counts |= _mapping(usage)  # they are sums so far, but not each report has them all
        self.usage = _usage_of(self._counts) if self._counts else None


def _index_of(document: Document) -> int | str | None:
    """The block that it is about; None for what can be no index."""
    index = document.get("index")
    return index if isinstance(index, int | str) else None


class _Thinking:
    """A block of thinking, put together as it has to go back."""

    def __init__(self, start: Block) -> None:
        self._start = start
        self._texts: list[str] = []
        self._signatures: list[str] = []
        self.add(start)

    def add(self, delta: Block) -> None:
        """Go on with what of it is in the delta."""
        for name, pieces in (("thinking", self._texts), ("signature", self._signatures)):
            if isinstance(piece := delta.get(name), str):
                pieces.append(piece)

    @property
    def block(self) -> Block:
        """All of it."""
        if self._start.get("type") == "redacted_thinking":
            return {"type": "redacted_thinking", "data": str(self._start.get("data") or "")}
        said = {"thinking": "".join(self._texts), "signature": "".join(self._signatures)}
        return {"type": "thinking", **said}


def _usage_of(counts: Document) -> Usage:
    """The counts of one report; what was read from a cache, or written to it, is input too."""
    given = sum_of(*(count_in(counts, name) for name in _INPUT))
    answered = count_in(counts, "output_tokens")
    details = _mapping(counts.get("output_tokens_details"))
    return Usage(
        input_tokens=given,
        output_tokens=answered,
        total_tokens=None if given is None or answered is None else given + answered,
        reasoning_tokens=count_in(details, "thinking_tokens"),
        cached_tokens=count_in(counts, "cache_read_input_tokens"),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
