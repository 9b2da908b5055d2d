"""A provider that is asked for more than a sign of life: what it says is measured."""

from collections.abc import Iterator

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import ReasoningDelta, StreamEvent, TextDelta, ToolCallDelta
from turnkeeper.domain.watch import Progress


def is_measured(limits: TimeLimits) -> bool:
    """Whether a limit asks for it; it costs, so nothing else does."""
    return not limits.reasoning_is_progress or bool(limits.min_chars_per_s)


class MeasuredProvider(ChatProvider):
    """Notes when a provider spoke and at which pace; used for one invocation."""

    def __init__(
        self, provider: ChatProvider, *, progress: Progress, limits: TimeLimits, clock: Clock
    ) -> None:
        self._provider = provider
        self._progress = progress
        self._counts_reasoning = limits.reasoning_is_progress
        self._stint_chars = limits.min_chars_per_s * limits.pace_window_s
        self._clock = clock

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        stream = self._provider.stream(call, key=key, stop=stop, deadline=deadline)
        missing = self._stint_chars
        try:
            for event in stream:
                chars = self._chars_of(event)
                if chars is not None:
                    missing = self._spoke(chars, missing)
                yield event
        finally:
            getattr(stream, "close", _nothing)()

    def _spoke(self, chars: int, missing: float) -> float:
        """Note it, and return how many characters the stint under way still lacks."""
        progress, now_s = self._progress, self._clock.monotonic()
        progress.spoke_at_s = now_s
        if not self._stint_chars:
            return 0.0
        if progress.stint_began_at_s is not None and chars < missing:
            return missing - chars
        progress.stint_began_at_s = now_s  # the first, or the one before is full
        return self._stint_chars

    def _chars_of(self, event: StreamEvent) -> int | None:
        """How much progress an event is; None for none at all."""
        match event:
            case TextDelta(text=text):
                return len(text)
            case ToolCallDelta(arguments=arguments):
                return len(arguments)
            case ReasoningDelta(text=text) if self._counts_reasoning:
                return len(text)
            case _:
                return None


def _nothing() -> None:
    """An iterator that has nothing to close."""
