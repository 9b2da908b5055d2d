"""A whole answer as a value, whatever the dialect that renders it."""

import re
from typing import Literal

from turnkeeper.domain.frozen import frozen

Pairs = tuple[tuple[str, str], ...]

NO_PAIRS: Pairs = ()
WORD = re.compile(r"\S+\s*|\s+")


@frozen
class Usage:
    """The counts an answer reports."""

    input_tokens: int = 10
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0


@frozen
class ToolCall:
    """A call the answer asks for.

    Attributes:
        arguments: The JSON text in the pieces in which it streams; each is a token, and so is the
            announcement of the call.
        id: Empty for one made from the call's position.
    """

    name: str
    arguments: tuple[str, ...] = ("{}",)
    id: str = ""

    @property
    def token_count(self) -> int:
        """The announcement and the pieces."""
        return 1 + len(self.arguments)


@frozen
class Answer:
    """A whole answer: reasoning, then text, then tool calls, each piece an event.

    Attributes:
        text: Streamed word by word; give this or `tokens`.
        tokens: The text in the pieces in which it streams.
        model: The model the answer names; None for the one asked for.
        usage: None for one that counts the tokens.
        finish: The finish reason; "natural" is tool_calls after tool calls, else stop; None sends
            no finish reason at all.
        done: Whether the dialect's end marker is sent.
        final_usage: Whether usage is reported.
        before_s: Silence before the headers.
        gap_s: From token to token, kept on a schedule, so that lateness does not add up.
        burst: Everything in one write, if there are no gaps.
        framing: "close" lets the end of the connection end the body.
    """

    text: str = ""
    tokens: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    model: str | None = None
    usage: Usage | None = None
    finish: str | None = "natural"
    done: bool = True
    final_usage: bool = True
    headers: Pairs = NO_PAIRS
    before_s: float = 0.0
    gap_s: float = 0.0
    burst: bool = False
    framing: Literal["chunked", "close"] = "chunked"

    def __post_init__(self) -> None:
        if self.text and self.tokens:
            raise ValueError("an Answer has both text and tokens; give one of them")

    @property
    def pieces(self) -> tuple[str, ...]:
        """The visible text as it streams."""
        return self.tokens or tuple(WORD.findall(self.text))

    @property
    def whole_text(self) -> str:
        """The visible text."""
        return self.text or "".join(self.tokens)

    @property
    def token_count(self) -> int:
        """How many events carry content: reasoning, text and tool calls."""
        calls = sum(call.token_count for call in self.tool_calls)
        return len(self.reasoning) + len(self.pieces) + calls

    @property
    def finish_reason(self) -> str | None:
        """The finish reason that is sent."""
        if self.finish != "natural":
            return self.finish
        return "tool_calls" if self.tool_calls else "stop"

    @property
    def counts(self) -> Usage:
        """The usage that is reported."""
        return self.usage or Usage(
            output_tokens=self.token_count, reasoning_tokens=len(self.reasoning)
        )


SIXTY_TOKENS = Answer(tokens=tuple(f"word{number} " for number in range(1, 61)))
