"""Model and tools in turn until there is an answer: what one invocation does on its thread."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from turnkeeper.application.deliver_stream import DeliverStream
from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.outcome import (
    Answered,
    Empty,
    Failed,
    Outcome,
    Ran,
    StreamResult,
    ThoughtLog,
    TurnStatus,
)
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    ServingProvider,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from turnkeeper.domain.watch import Progress

NO_TERMINAL = Failure(
    kind=FailureKind.CRASH,
    message="the provider adapter ended its stream without saying how",
    rule="no_terminal",
)


class Heard:
    """What one provider call said so far. Filled by one thread."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.asked_for: list[ToolCallDelta] = []
        self.usage: Usage | None = None
        self.serving: ServingProvider | None = None
        self.end: Finished | StreamFailed | None = None

    @property
    def thought_log(self) -> ThoughtLog | None:
        """What was thought, or None."""
        raw = "".join(self.reasoning)
        provider = self.serving.provider if self.serving else None
        return ThoughtLog(raw=raw, serving_provider=provider) if raw else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one invocation needs.

    Attributes:
        call: The request.
        key: The key, or None where none is needed.
        provider: Who is asked.
        deadline: By when the invocation has ended.
        ran: What the outcome starts from: attempt, lease, the turn's tool runs.
    """

    call: ChatCall
    key: Secret | None
    provider: ChatProvider
    deadline: Deadline
    ran: Ran


class ToolLoop:
    """Runs one invocation's provider calls.

    Args:
        first_progress: Called once, with the monotonic instant of the first progress.
    """

    def __init__(
        self,
        *,
        job: Job,
        delivery: DeliverStream,
        progress: Progress,
        clock: Clock,
        first_progress: Callable[[float], None],
    ) -> None:
        self._job = job
        self._delivery = delivery
        self._progress = progress
        self._clock = clock
        self._first_progress = first_progress
        self.heard = Heard()

    def __call__(self, stop: Stop) -> Outcome:
        """Ask, deliver what comes, and say what it came to.

        Raises:
            Cancelled: The stop was set.
            SinkError: A message could not be posted.
            StoreError: An intent could not be written.
        """
        heard = self.heard
        self._listen(heard, stop)
        self._progress.closed()
        end = heard.end
        if isinstance(end, Finished) and _is_answer(heard, end):
            self._delivery.finish()
        else:
            self._delivery.drop()
        return self._outcome(heard, end)

    def _listen(self, heard: Heard, stop: Stop) -> None:
        job = self._job
        self._progress.opened(self._clock.monotonic())
        stream = job.provider.stream(job.call, key=job.key, stop=stop, deadline=job.deadline)
        try:
            self._take(stream, heard, stop)
        finally:  # also where a message could not be posted: nobody listens any more
            getattr(stream, "close", _nothing)()

    def _take(self, stream: Iterator[StreamEvent], heard: Heard, stop: Stop) -> None:
        is_first = True
        for event in stream:
            kind = type(event)
            if kind is TextDelta or kind is ReasoningDelta or kind is ToolCallDelta:
                now_s = self._clock.monotonic()
                self._progress.last_at_s = now_s
                if is_first:
                    is_first = False
                    self._first_progress(now_s)
            if isinstance(event, TextDelta):
                heard.text.append(event.text)
                self._delivery.text(event.text)
            else:
                _note(heard, event)
            if heard.end is None:  # what is whole although it was told to stop is still whole
                stop.check()

    def _outcome(self, heard: Heard, end: Finished | StreamFailed | None) -> Outcome:
        match end:
            case Finished(reason=FinishReason.CONTENT_FILTER) as finished:
                return self._failed(heard, _blocked(finished))
            case Finished(reason=FinishReason.TOOL_CALLS):
                return self._failed(heard, _unoffered(heard))
            case Finished(reason=reason) if not "".join(heard.text).strip():
                result = _result(heard, TurnStatus.EMPTY_RESPONSE, "")
                return Empty(ran=self._ran(heard, result, ""), finish=reason)
            case Finished():
                text = "".join(heard.text).strip()
                result = _result(heard, TurnStatus.COMPLETED, text)
                return Answered(ran=self._ran(heard, result, text))
            case StreamFailed(failure=failure):
                return self._failed(heard, failure)
            case None:
                return self._failed(heard, NO_TERMINAL)

    def _failed(self, heard: Heard, failure: Failure) -> Failed:
        shown = self._delivery.delivered_text
        status = TurnStatus.TIMEOUT if failure.kind is FailureKind.TIMEOUT else TurnStatus.ERROR
        result = _result(heard, status, shown, failure)
        return Failed(ran=self._ran(heard, result, shown), failure=failure)

    def _ran(self, heard: Heard, result: StreamResult, reply_text: str) -> Ran:
        before = self._job.ran
        return Ran(
            attempt_no=before.attempt_no,
            lease=before.lease,
            tool_results=before.tool_results,
            usage=heard.usage,
            reply_text=reply_text,
            thought_log=heard.thought_log,
            stream_results=(result,),
        )


def _nothing() -> None:
    """An iterator that has nothing to close."""


def _note(heard: Heard, event: object) -> None:
    match event:
        case ReasoningDelta(text=text):
            heard.reasoning.append(text)
        case ToolCallDelta():
            heard.asked_for.append(event)
        case Usage():
            heard.usage = event
        case ServingProvider():
            heard.serving = event
        case Finished() | StreamFailed():
            heard.end = event
        case _:
            raise TypeError(f"a stream does not hold {type(event).__name__}")


def _is_answer(heard: Heard, end: Finished) -> bool:
    return end.reason in (FinishReason.STOP, FinishReason.LENGTH) and any(heard.text)


def _blocked(finished: Finished) -> Failure:
    raw = ",".join(finished.raw) or "content_filter"
    return Failure(
        kind=FailureKind.CONTENT_FILTER,
        message="the provider refused the content",
        rule="finish.content_filter",
        evidence=f"finish={raw}",
        in_band=True,
    )


def _unoffered(heard: Heard) -> Failure:
    names = sorted({call.name for call in heard.asked_for if call.name})
    return Failure(
        kind=FailureKind.MALFORMED_TOOL_CALL,
        message=f"the model called {', '.join(names) or 'a tool'}, which it was not offered",
        rule="tool.not_offered",
        in_band=True,
    )


def _result(
    heard: Heard, status: TurnStatus, text: str, failure: Failure | None = None
) -> StreamResult:
    end = heard.end
    return StreamResult(
        status=status,
        text=text,
        finish=end.reason if isinstance(end, Finished) else None,
        failure=failure,
        usage=heard.usage,
        serving=heard.serving,
    )
