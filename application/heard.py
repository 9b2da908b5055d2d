"""What one provider call has brought so far, its text aside."""

from turnkeeper.domain.failure import Failure
from turnkeeper.domain.frozen import maker
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

_new_stream_result = maker(StreamResult)


class Heard:
    """One provider call. Filled by one thread; others may look at what is there.

    Args:
        number: How many calls of its invocation came before it.

    Attributes:
        end: How it ended, or None where it has not.
        finish: Why it ended, or None where it has not, or failed.
    """

    usage: Usage | None = None
    serving: ServingProvider | None = None
    end: Finished | StreamFailed | None = None
    finish: FinishReason | None = None

    def __init__(self, number: int) -> None:
        self.number = number
        self.reasoning: list[ReasoningDelta] = []
        self.asked_for: list[ToolCallDelta] = []

    def note(self, event: StreamEvent) -> None:
        """Take in one event that is no progress."""
        if isinstance(event, Usage):
            self.usage = event
        elif isinstance(event, ServingProvider):
            self.serving = event
        elif isinstance(event, Finished):
            self.end, self.finish = event, event.reason
        elif isinstance(event, StreamFailed):
            self.end, self.finish = event, None
        else:
            raise TypeError(f"a stream does not hold {type(event).__name__}")

    def result(self, status: TurnStatus, text: str, failure: Failure | None = None) -> StreamResult:
        """How it ended.

        Args:
            text: What of its text was delivered.
        """
        return _new_stream_result(
            status=status,
            text=text,
            finish=self.finish,
            failure=failure,
            usage=self.usage,
            serving=self.serving,
        )
