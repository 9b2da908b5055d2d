"""What one provider call has brought so far, its text aside."""

from turnkeeper.domain.failure import Failure
from turnkeeper.domain.outcome import StreamResult, TurnStatus
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    ServingProvider,
    StreamEvent,
    StreamFailed,
    ToolCallDelta,
    Usage,
)


class Heard:
    """One provider call. Filled by one thread; others may look at what is there."""

    def __init__(self) -> None:
        self.reasoning: list[ReasoningDelta] = []
        self.asked_for: list[ToolCallDelta] = []
        self.usage: Usage | None = None
        self.serving: ServingProvider | None = None
        self.end: Finished | StreamFailed | None = None

    @property
    def finish(self) -> FinishReason | None:
        """Why it ended, or None where it did not, or failed."""
        return self.end.reason if isinstance(self.end, Finished) else None

    def note(self, event: StreamEvent) -> None:
        """Take in one event; text is the delivery's."""
        match event:
            case ReasoningDelta():
                self.reasoning.append(event)
            case ToolCallDelta():
                self.asked_for.append(event)
            case Usage():
                self.usage = event
            case ServingProvider():
                self.serving = event
            case Finished() | StreamFailed():
                self.end = event
            case _:
                raise TypeError(f"a stream does not hold {type(event).__name__}")

    def result(self, status: TurnStatus, text: str, failure: Failure | None = None) -> StreamResult:
        """How it ended.

        Args:
            text: What of its text was delivered.
        """
        return StreamResult(
            status=status,
            text=text,
            finish=self.finish,
            failure=failure,
            usage=self.usage,
            serving=self.serving,
        )
