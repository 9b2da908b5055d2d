"""What a provider's stream is made of."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from turnkeeper.domain.failure import Failure
from turnkeeper.domain.frozen import frozen


class FinishReason(Enum):
    """Why a call ended well, in one vocabulary for all providers."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"


@dataclass(slots=True)
class TextDelta:
    """Some more of the visible answer. Not frozen: one is made for each piece of a stream."""

    text: str


@dataclass(slots=True)
class ReasoningDelta:
    """Some more of the thinking, and the provider's own form of it where it must be sent back."""

    text: str
    opaque_json: str | None = None


@dataclass(slots=True)
class ToolCallDelta:
    """A fragment of a tool call; fragments of one call share the index.

    Attributes:
        index: Which call of the answer.
        call_id: Set on the first fragment.
        name: Set on the first fragment.
        arguments: Some more of the arguments' JSON.
        signature: What must be sent back unchanged with the call, or None.
    """

    index: int
    call_id: str | None = None
    name: str | None = None
    arguments: str = ""
    signature: str | None = None


@frozen
class Usage:
    """Tokens that a call used; None is not reported.

    Attributes:
        input_tokens: The whole prompt, cached tokens included.
        output_tokens: The whole answer, reasoning included.
        total_tokens: As reported.
        reasoning_tokens: The part of the output that was thinking.
        cached_tokens: The part of the input that was cached.
        cost_usd: As reported by the provider.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None

    def plus(self, other: "Usage") -> "Usage":
        """Both together; what only one reports counts as it is."""
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            total_tokens=_sum(self.total_tokens, other.total_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
            cached_tokens=_sum(self.cached_tokens, other.cached_tokens),
            cost_usd=_sum(self.cost_usd, other.cost_usd),
        )


@frozen
class ServingProvider:
    """Who really serves the call, and under which model name."""

    provider: str | None = None
    model: str | None = None


@frozen
class Finished:
    """The call ended; the last event of a stream that did not fail.

    Attributes:
        reason: Why.
        raw: The provider's own words for it, in the order seen.
        refusal: The refusal's text where the model refused, else None.
        confirmed: False where text and a clean end came without any reason.
        continuation: NovelAI's unfinished trailing fragment, or None.
    """

    reason: FinishReason
    raw: tuple[str, ...] = ()
    refusal: str | None = None
    confirmed: bool = True
    continuation: str | None = None


@frozen
class StreamFailed:
    """The call failed; the last event of a stream that did."""

    failure: Failure


StreamEvent = (
    TextDelta | ReasoningDelta | ToolCallDelta | Usage | ServingProvider | Finished | StreamFailed
)


Number = TypeVar("Number", int, float)


def _sum(mine: Number | None, other: Number | None) -> Number | None:
    if mine is None or other is None:
        return other if mine is None else mine
    return mine + other
