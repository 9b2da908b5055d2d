"""Model and tools in turn until there is an answer: what one invocation does on its thread."""

from collections.abc import Callable, Iterator

from turnkeeper.application.deliver_stream import DeliverStream
from turnkeeper.application.heard import Heard
from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.application.run_tools import RunTools, ToolAnswer
from turnkeeper.domain.conversation import Item, ToolCallPart
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.frozen import frozen, maker, replace
from turnkeeper.domain.outcome import (
    Answered,
    Empty,
    Failed,
    Outcome,
    Ran,
    StreamResult,
    ThoughtLog,
    TimedOut,
    TimeoutPhase,
    ToolRecord,
    TurnStatus,
)
from turnkeeper.domain.policy import ToolPolicy
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from turnkeeper.domain.tool_calls import assembled, exchange
from turnkeeper.domain.watch import Progress

_new_ran = maker(Ran)
_new_answered = maker(Answered)

_CUT = Finished(reason=FinishReason.STOP, raw=("cut here",))
"""The end of an answer that is not listened to any further."""
_WITH_TEXT = (FinishReason.STOP, FinishReason.LENGTH)
_MAY_ASK = (FinishReason.TOOL_CALLS, FinishReason.LENGTH, FinishReason.STOP)
_PROGRESS = frozenset({TextDelta, ReasoningDelta, ToolCallDelta})
DETAILS = "[Scene Metadata]"
"""What stands before the details in the reply's text; people do not see them."""
NO_TERMINAL = Failure(
    kind=FailureKind.CRASH,
    message="the provider adapter ended its stream without saying how",
    rule="no_terminal",
)


@frozen
class Job:
    """What one invocation needs.

    Attributes:
        call: The first request.
        key: The key, or None where none is needed.
        provider: Who is asked.
        deadline: By when the invocation has ended.
        ran: What the outcome starts from: attempt and lease.
        still_working: Called once, when it has gone on for long.
        policy: How far model and tools may go on with each other.
    """

    call: ChatCall
    key: Secret | None
    provider: ChatProvider
    deadline: Deadline
    ran: Ran
    still_working: Callable[[], None]
    policy: ToolPolicy = ToolPolicy()


class ToolLoop:
    """Runs one invocation's provider calls, and the tools between them.

    Args:
        tools: Makes what runs the tools; called once the model asks for one.
        first_progress: Called once, with the monotonic instant of the first progress.
    """

    def __init__(
        self,
        *,
        job: Job,
        tools: Callable[[], RunTools],
        delivery: DeliverStream,
        progress: Progress,
        clock: Clock,
        first_progress: Callable[[float], None],
    ) -> None:
        self._job = job
        self._make_tools = tools
        self._tools: RunTools | None = None
        self._delivery = delivery
        self._progress = progress
        self._clock = clock
        self._first_progress = first_progress
        self._began_s = clock.monotonic()
        self._history: tuple[Item, ...] = ()
        self._spent: frozenset[str] = frozenset()  # tools that are offered no more
        self._said_chars = 0  # of the visible text, what earlier provider calls said
        self._fetched: list[str] = []
        self._results: list[StreamResult] = []
        self._heard: list[Heard] = []
        self._failures = 0  # in a row
        self._has_progress = False
        self.in_tool_chain = False

    def __call__(self, stop: Stop) -> Outcome:
        """Ask, deliver what comes, run what is asked for, and say what it came to.

        Raises:
            Cancelled: The stop was set.
            SinkError: A message could not be posted.
            StoreError: An intent could not be written.
        """
        answers: tuple[ToolAnswer, ...] = ()
        for number in range(self._job.policy.max_calls):
            if number == self._job.policy.still_working_at:
                self._job.still_working()
            heard = self._listened(stop)
            calls = assembled(heard.asked_for) if _asks_for_tools(heard) else ()
            if not calls or not self._job.call.conversation.tools:
                return self._outcome(heard, answers)
            answers = self._called(heard, calls, stop)
            if self._failures >= self._job.policy.max_failures:
                return self._failed(_TOOLS_FAIL)
            if _may_end(answers, has_said=self._has_said):
                return self._answered()
        ran = self.so_far(TurnStatus.TIMEOUT, _NO_END)
        return TimedOut(ran=ran, phase=TimeoutPhase.TOOLS, failure=_NO_END)

    def so_far(self, status: TurnStatus, failure: Failure | None = None) -> Ran:
        """What is left of it if it ends now and like this. Safe from another thread."""
        heard = self._heard[-1] if self._heard else Heard()
        text = self._delivery.delivered_text
        results = (*self._results[: len(self._heard) - 1], heard.result(status, text, failure))
        return self._ran(results, text)

    # ── the model ───────────────────────────────────────────────────────────────────────────

    @property
    def _offered(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self._job.call.conversation.tools) - self._spent

    def _listened(self, stop: Stop) -> Heard:
        """One provider call, heard to its end."""
        heard, job = Heard(), self._job
        self._heard.append(heard)
        self._progress.opened(self._clock.monotonic())
        stream = job.provider.stream(self._call(), key=job.key, stop=stop, deadline=job.deadline)
        try:
            self._take(stream, heard, stop)
        finally:  # also where a message could not be posted: nobody listens any more
            getattr(stream, "close", _nothing)()
        self._progress.closed()
        return heard

    def _call(self) -> ChatCall:
        if not self._history and not self._spent:
            return self._job.call
        before = self._job.call.conversation
        tools = tuple(tool for tool in before.tools if tool.name not in self._spent)
        conversation = replace(before, items=(*before.items, *self._history), tools=tools)
        return replace(self._job.call, conversation=conversation)

    def _take(self, stream: Iterator[StreamEvent], heard: Heard, stop: Stop) -> None:
        monotonic, progress, delivery = self._clock.monotonic, self._progress, self._delivery
        for event in stream:
            if type(event) in _PROGRESS:
                now_s = progress.last_at_s = monotonic()
                if not self._has_progress:
                    self._has_progress = True
                    self._first_progress(now_s)
            if isinstance(event, TextDelta):
                delivery.text(event.text)
                if delivery.takes_no_more:
                    heard.end = _CUT
                    return
            else:
                heard.note(event)
            # What is whole although it was told to stop is still whole.
            if stop.is_set and heard.end is None:
                stop.check()

    # ── the tools ───────────────────────────────────────────────────────────────────────────

    def _called(
        self, heard: Heard, calls: tuple[ToolCallPart, ...], stop: Stop
    ) -> tuple[ToolAnswer, ...]:
        """Run what the model asked for, and let it know what came of it."""
        self.in_tool_chain = True
        self._delivery.before_tool()
        said = self._keep(heard, TurnStatus.FUNCTION_CALL)
        was_cut = heard.finish is FinishReason.LENGTH
        if self._tools is None:
            self._tools = self._make_tools()
        answers = self._tools(calls, offered=self._offered, was_cut=was_cut, stop=stop)
        plain = [one for one in answers if not one.record.context]
        self._history += exchange(
            said, heard.reasoning, [(one.call, one.record.result_json) for one in plain]
        )
        for one in answers:
            self._note(one)
        return answers

    def _note(self, answer: ToolAnswer) -> None:
        self._failures = 0 if answer.is_done else self._failures + 1
        self._history += answer.record.context
        if answer.fetched:
            self._fetched.append(answer.fetched)
        if answer.is_done and (answer.rules.once or answer.record.context):
            self._spent |= {answer.record.name}

    # ── what it came to ─────────────────────────────────────────────────────────────────────

    def _outcome(self, heard: Heard, before: tuple[ToolAnswer, ...]) -> Outcome:
        end = heard.end
        if not isinstance(end, Finished) or end.reason not in _WITH_TEXT:
            self._delivery.drop()
            return self._failed(_failure_of(end, heard))
        self._delivery.finish()
        if self._says_now or self._is_settled(before, end.reason):
            self._keep(heard, TurnStatus.COMPLETED)
            return self._answered()
        self._keep(heard, TurnStatus.EMPTY_RESPONSE)
        return Empty(ran=self._ran(tuple(self._results), ""), finish=end.reason)

    def _is_settled(self, before: tuple[ToolAnswer, ...], reason: FinishReason) -> bool:
        """Whether nothing more needs to be said: people have their answer already."""
        if reason is FinishReason.LENGTH:
            return False
        return self._has_delivered or (self._has_said and _need_nothing(before))

    @property
    def _has_delivered(self) -> bool:
        return any([record.delivered for record in self._records])

    @property
    def _records(self) -> tuple[ToolRecord, ...]:
        """The turn's tool runs so far."""
        return self._job.ran.tool_results if self._tools is None else self._tools.records

    def _answered(self) -> Answered:
        text = self._reply_text
        ran = self._ran(tuple(self._results), text)
        by_tool = self._has_delivered or not text
        return _new_answered(ran=ran, delivered_by_tool=by_tool)

    def _failed(self, failure: Failure) -> Failed:
        status = TurnStatus.TIMEOUT if failure.kind is FailureKind.TIMEOUT else TurnStatus.ERROR
        return Failed(ran=self.so_far(status, failure), failure=failure)

    @property
    def _has_said(self) -> bool:
        return bool(self._delivery.visible_text.strip())

    @property
    def _says_now(self) -> str:
        """What is visible of the provider call under way."""
        return self._delivery.visible_text[self._said_chars :].strip()

    @property
    def _reply_text(self) -> str:
        """What was said in all, with the details that were kept back."""
        delivery = self._delivery
        text = delivery.delivered_text if delivery.is_full else delivery.visible_text.strip()
        return f"{text}\n\n{DETAILS}\n{delivery.details}" if delivery.details else text

    def _keep(self, heard: Heard, status: TurnStatus) -> str:
        """Note a provider call that ended as it should; what it said."""
        shown = self._delivery.visible_text
        text = shown[self._said_chars :].strip()
        self._said_chars = len(shown)
        self._results.append(heard.result(status, text))
        return text

    def _ran(self, results: tuple[StreamResult, ...], reply_text: str) -> Ran:
        start = self._job.ran
        return _new_ran(
            attempt_no=start.attempt_no,
            lease=start.lease,
            tool_results=self._records,
            usage=_usage_of(self._heard),
            reply_text=reply_text,
            thought_log=self._thought_log(),
            stream_results=results,
        )

    def _thought_log(self) -> ThoughtLog | None:
        """What was thought and fetched, or None."""
        reasoned = "".join([delta.text for heard in self._heard for delta in heard.reasoning])
        raw = "\n\n".join([text for text in (reasoned, self._delivery.thoughts) if text])
        fetched = "\n\n".join(self._fetched)
        if not raw and not fetched:
            return None
        serving = next((one.serving for one in reversed(self._heard) if one.serving), None)
        return ThoughtLog(
            raw=raw or None,
            fetched_content=fetched or None,
            generation_ms=round((self._clock.monotonic() - self._began_s) * 1000),
            serving_provider=serving.provider if serving else None,
        )


_NO_END = Failure(
    kind=FailureKind.TOOLS_EXHAUSTED,
    message="the model went on calling tools without coming to an answer",
    rule="tools.no_end",
)
_TOOLS_FAIL = Failure(
    kind=FailureKind.TOOLS_EXHAUSTED,
    message="too many of the model's tool calls failed one after the other",
    rule="tools.failures",
)


def _nothing() -> None:
    """An iterator that has nothing to close."""


def _asks_for_tools(heard: Heard) -> bool:
    return bool(heard.asked_for) and heard.finish in _MAY_ASK


def _need_nothing(answers: tuple[ToolAnswer, ...]) -> bool:
    """Whether the model need not speak after these calls."""
    return bool(answers) and all(one.is_done and not one.rules.needs_follow_up for one in answers)


def _may_end(answers: tuple[ToolAnswer, ...], *, has_said: bool) -> bool:
    """Whether the turn ends with these calls."""
    if any(one.is_done and one.rules.ends_turn for one in answers):
        return True
    delivered = any(one.record.delivered for one in answers)
    return _need_nothing(answers) and (has_said or delivered)


def _usage_of(heard: list[Heard]) -> Usage | None:
    """The tokens of all calls, or None if none reported any."""
    total: Usage | None = None
    for one in heard:
        if one.usage is not None:
            total = one.usage if total is None else total.plus(one.usage)
    return total


def _failure_of(end: Finished | StreamFailed | None, heard: Heard) -> Failure:
    """Why a provider call without a text to its end gave nothing."""
    match end:
        case StreamFailed(failure=failure):
            return failure
        case Finished(reason=FinishReason.TOOL_CALLS):
            return _unoffered(heard)
        case Finished() as finished:
            return _blocked(finished)
        case None:
            return NO_TERMINAL


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
