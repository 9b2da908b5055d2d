"""Model and tools in turn until there is an answer: what one invocation does on its thread."""

from collections.abc import Callable, Iterator

from turnkeeper.application.deliver_stream import DeliverStream
from turnkeeper.application.heard import Heard
from turnkeeper.application.outlet import Outlet
from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.application.run_tools import RunTools, ToolAnswer, Workbench
from turnkeeper.application.stage import Stage
from turnkeeper.application.tool_chain import ToolChain
from turnkeeper.domain.conversation import ToolCallPart
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.events import FirstProgress
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.frozen import frozen, maker, replace
from turnkeeper.domain.outcome import (
    Answered,
    Delivery,
    Empty,
    Failed,
    Origin,
    Outcome,
    Ran,
    StreamResult,
    ThoughtLog,
    TimedOut,
    TimeoutPhase,
    TurnStatus,
)
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.policy import ToolPolicy
from turnkeeper.domain.steps import RunInvocation as Step
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
from turnkeeper.domain.tool_calls import assembled
from turnkeeper.domain.watch import Limit, Progress

_new_ran, _new_answered, _new_first_progress = maker(Ran), maker(Answered), maker(FirstProgress)

_CUT = Finished(reason=FinishReason.STOP, raw=("cut here",))
"""The end of an answer that is not listened to any further."""
_WITH_TEXT = (FinishReason.STOP, FinishReason.LENGTH)
_MAY_ASK = (FinishReason.TOOL_CALLS, FinishReason.LENGTH, FinishReason.STOP)
_PROGRESS = (TextDelta, ReasoningDelta, ToolCallDelta)
DETAILS = "[Scene Metadata]"
"""What stands before the details in the reply's text; people do not see them."""
NO_TERMINAL = Failure(
    kind=FailureKind.CRASH,
    message="the provider adapter ended its stream without saying how",
    rule="no_terminal",
)


@frozen
class Means:
    """What tool loops need; shared by all invocations.

    Attributes:
        policy: How far model and tools may go on with each other.
        bench: What the tools run with.
        still_working: Called once an invocation, when it has gone on for long.
    """

    clock: Clock
    policy: ToolPolicy
    bench: Workbench
    still_working: Callable[[Stage, Outlet], None]


@frozen
class Job:
    """What one invocation works on, and with.

    Attributes:
        step: What it is to do.
        call: The first request.
        provider: Who is asked.
        heeds_stop: Whether all of it ends soon once it is told to, so that the turn's own thread
            may do it; any other gets a thread that can be left behind.
        outlet: What it posts through.
        progress: How far it is.
        began_s: When it was set up.
        deadline: By when it has ended.
    """

    step: Step
    attempt: Attempt
    stage: Stage
    call: ChatCall
    provider: ChatProvider
    heeds_stop: bool
    outlet: Outlet
    progress: Progress
    began_s: float
    deadline: Deadline


class ToolLoop:
    """Runs one invocation's provider calls, and the tools between them.

    Attributes:
        job: What it works on.
        cut: The limit that ended it on the turn's own thread, and when; written by who looks.
    """

    cut: Limit | None = None
    _chain: ToolChain | None = None
    _has_progress = False

    def __init__(self, job: Job, delivery: DeliverStream, means: Means) -> None:
        self.job = job
        self._delivery = delivery
        self._means = means
        self._heard = Heard(0)

    def __call__(self, stop: Stop) -> Outcome:
        """Ask, deliver what comes, run what is asked for, and say what it came to.

        Raises:
            Cancelled: The stop was set.
            SinkError: A message could not be posted.
            StoreError: An intent could not be written.
        """
        job, policy = self.job, self._means.policy
        answers: tuple[ToolAnswer, ...] = ()
        for number in range(policy.max_calls):
            if number == policy.still_working_at:
                self._means.still_working(job.stage, job.outlet)
            heard = self._listened(stop)
            asks = heard.asked_for and heard.finish in _MAY_ASK
            calls = assembled(heard.asked_for) if asks else ()
            if not calls or not job.call.conversation.tools:
                return self._outcome(heard, answers)
            chain = self._chain_with_tools()
            answers = self._called(chain, heard, calls, stop)
            if chain.failures >= policy.max_failures:
                return self._failed(_TOOLS_FAIL)
            if _may_end(answers, has_said=self._has_said):
                return self._answered(heard, self._delivery.seen.shown, tuple(chain.results))
        ran = self.so_far(TurnStatus.TIMEOUT, _NO_END)
        return TimedOut(ran=ran, phase=TimeoutPhase.TOOLS, failure=_NO_END)

    @property
    def in_tool_chain(self) -> bool:
        """Whether the model has called tools."""
        return self._chain is not None

    def so_far(self, status: TurnStatus, failure: Failure | None = None) -> Ran:
        """What is left of it if it ends now and like this. Safe from another thread."""
        heard, text = self._heard, self._delivery.delivered_text
        result = heard.result(status, text, failure)
        before = self._chain.results[: heard.number] if self._chain is not None else ()
        return self._ran(heard, (*before, result), text)

    # ── the model ───────────────────────────────────────────────────────────────────────────

    def _listened(self, stop: Stop) -> Heard:
        """One provider call, heard to its end."""
        job, chain = self.job, self._chain
        if chain is not None:
            self._heard = Heard(len(chain.heard))
        heard, lease = self._heard, job.step.lease
        job.progress.opened(self._means.clock.monotonic())
        stream = job.provider.stream(
            job.call if chain is None else chain.next_call(job.call),
            key=lease.secret if lease is not None else None,
            stop=stop,
            deadline=job.deadline,
        )
        try:
            self._take(stream, heard, stop)
        finally:  # also where a message could not be posted: nobody listens any more
            getattr(stream, "close", _nothing)()
        job.progress.closed()
        return heard

    def _take(self, stream: Iterator[StreamEvent], heard: Heard, stop: Stop) -> None:
        monotonic, progress = self._means.clock.monotonic, self.job.progress
        delivery = self._delivery
        for event in stream:
            if isinstance(event, _PROGRESS):
                now_s = progress.last_at_s = monotonic()
                if not self._has_progress:
                    self._note_first_progress(now_s)
                if isinstance(event, TextDelta):
                    delivery.text(event.text)
                    if delivery.takes_no_more:
                        heard.note(_CUT)
                        return
                elif isinstance(event, ReasoningDelta):
                    heard.reasoning.append(event)
                else:
                    heard.asked_for.append(event)
            else:
                heard.note(event)
            # What is whole although it was told to stop is still whole.
            if stop.is_set and heard.end is None:
                stop.check()

    def _note_first_progress(self, at_s: float) -> None:
        self._has_progress = True
        job = self.job
        job.stage.recorder.note(
            _new_first_progress(invocation_no=job.outlet.invocation_no, after_s=at_s - job.began_s)
        )

    # ── the tools ───────────────────────────────────────────────────────────────────────────

    def _chain_with_tools(self) -> ToolChain:
        """What the tools and the calls that ask for them leave behind."""
        if self._chain is None:
            job = self.job
            run = RunTools(
                bench=self._means.bench,
                stage=job.stage,
                outlet=job.outlet,
                deadline=job.deadline,
                known=job.step.tool_results,
            )
            self._chain = ToolChain(run)
        return self._chain

    def _called(
        self, chain: ToolChain, heard: Heard, calls: tuple[ToolCallPart, ...], stop: Stop
    ) -> tuple[ToolAnswer, ...]:
        """Run what the model asked for, and let it know what came of it."""
        self._delivery.before_tool()
        said = chain.keep(heard, self._delivery.seen.shown)
        was_cut = heard.finish is FinishReason.LENGTH
        offered = chain.offered(self.job.call)
        answers = chain.run(calls, offered=offered, was_cut=was_cut, stop=stop)
        chain.note(said, heard, answers)
        return answers

    # ── what it came to ─────────────────────────────────────────────────────────────────────

    def _outcome(self, heard: Heard, before: tuple[ToolAnswer, ...]) -> Outcome:
        finish = heard.finish
        if finish not in _WITH_TEXT:
            self._delivery.drop()
            return self._failed(_failure_of(heard))
        self._delivery.finish()
        chain, shown = self._chain, self._delivery.seen.shown
        said = shown.strip() if chain is None else chain.said_last(shown)
        earlier = () if chain is None else chain.results
        if said or self._is_settled(before, finish):
            result = heard.result(TurnStatus.COMPLETED, said)
            return self._answered(heard, shown, (*earlier, result))
        result = heard.result(TurnStatus.EMPTY_RESPONSE, said)
        return Empty(ran=self._ran(heard, (*earlier, result), ""), finish=finish)

    @property
    def _has_said(self) -> bool:
        return bool(self._delivery.seen.shown.strip())

    def _is_settled(self, before: tuple[ToolAnswer, ...], finish: FinishReason | None) -> bool:
        """Whether nothing more needs to be said: people have their answer already."""
        if finish is FinishReason.LENGTH:
            return False
        return self._has_delivered or (self._has_said and _need_nothing(before))

    @property
    def _has_delivered(self) -> bool:
        """Whether a tool answered in the model's place, in this invocation or before."""
        records = self.job.step.tool_results if self._chain is None else self._chain.run.records
        return bool(records) and any([record.delivered for record in records])

    def _answered(self, heard: Heard, shown: str, results: tuple[StreamResult, ...]) -> Answered:
        text = self._reply_text(shown)
        by_tool = not text or self._has_delivered
        ran = self._ran(heard, results, text, seals=True)
        return _new_answered(ran=ran, delivered_by_tool=by_tool)

    def _failed(self, failure: Failure) -> Failed:
        status = TurnStatus.TIMEOUT if failure.kind is FailureKind.TIMEOUT else TurnStatus.ERROR
        return Failed(ran=self.so_far(status, failure), failure=failure)

    def _reply_text(self, shown: str) -> str:
        """What was said in all, with the details that were kept back."""
        delivery = self._delivery
        text = delivery.delivered_text if delivery.is_full else shown.strip()
        details = delivery.seen.details
        return f"{text}\n\n{DETAILS}\n{details}" if details else text

    def _ran(
        self,
        heard: Heard,
        results: tuple[StreamResult, ...],
        reply_text: str,
        *,
        seals: bool = False,
    ) -> Ran:
        """What it leaves behind.

        Args:
            seals: Whether it needs to post nothing more. Then it says what is in the channel,
                unless that is to be waited for.
        """
        job, chain = self.job, self._chain
        thought_log = self._thought_log(heard)
        delivered: tuple[Delivery, ...] = ()
        ended_at_s = 0.0
        if seals and job.outlet.cleared is None:
            delivered = job.outlet.seal()
            if thought_log is not None:
                thought_log = with_url(thought_log, delivered)
            ended_at_s = self._means.clock.monotonic()
        return _new_ran(
            attempt_no=job.step.attempt_no,
            lease=job.step.lease,
            delivered=delivered,
            tool_results=job.step.tool_results if chain is None else chain.run.records,
            usage=heard.usage if chain is None else _usage_of(chain.calls_to(heard)),
            reply_text=reply_text,
            thought_log=thought_log,
            stream_results=results,
            ended_at_s=ended_at_s,
        )

    def _thought_log(self, heard: Heard) -> ThoughtLog | None:
        """What was thought and fetched, or None."""
        chain, thoughts = self._chain, self._delivery.seen.thoughts
        if chain is None and not (heard.reasoning or thoughts):
            return None
        calls = [heard] if chain is None else chain.calls_to(heard)
        reasoned = "".join([delta.text for one in calls for delta in one.reasoning])
        raw = "\n\n".join([text for text in (reasoned, thoughts) if text])
        fetched = "" if chain is None else "\n\n".join(chain.fetched)
        if not raw and not fetched:
            return None
        serving = next((one.serving for one in reversed(calls) if one.serving), None)
        return ThoughtLog(
            raw=raw or None,
            fetched_content=fetched or None,
            generation_ms=round((self._means.clock.monotonic() - self.job.began_s) * 1000),
            serving_provider=serving.provider if serving else None,
        )


def with_url(log: ThoughtLog, delivered: tuple[Delivery, ...]) -> ThoughtLog:
    """The thoughts with where the answer begins."""
    urls = [one.url for one in delivered if one.origin is Origin.STREAM and one.url]
    return replace(log, first_reply_url=urls[0]) if urls else log


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


def _failure_of(heard: Heard) -> Failure:
    """Why a provider call without a text to its end gave nothing."""
    match heard.end:
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
