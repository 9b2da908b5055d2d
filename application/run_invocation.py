"""Runs one attempt with one key, under watch, and says what it came to."""

from collections.abc import Mapping
from dataclasses import field
from functools import partial
from threading import Event

from turnkeeper.application.deliver_stream import DeliverStream
from turnkeeper.application.measured_provider import measured
from turnkeeper.application.outlet import CLEAR_TO_POST_S, Outlet
from turnkeeper.application.ports.catalogue import Catalogue
from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.credential_window import CredentialWindow
from turnkeeper.application.ports.providers import Providers
from turnkeeper.application.ports.runner import Cancelled, Runner, StillRunning, Stop, Work
from turnkeeper.application.ports.tools import NoTools, Tools
from turnkeeper.application.poster import Poster
from turnkeeper.application.prepare_context import PrepareContext
from turnkeeper.application.run_tools import RunTools, Workbench
from turnkeeper.application.stage import Stage
from turnkeeper.application.tool_loop import Cues, Job, ToolLoop
from turnkeeper.domain.adjust import tokens_of
from turnkeeper.domain.answers import Prepared, Signal
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import DestinationGone, SinkError, StoreError
from turnkeeper.domain.events import EffectFailed, FirstProgress, InvocationStarted
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Model
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import (
    Crashed,
    Delivery,
    Failed,
    Interrupted,
    Origin,
    Outcome,
    Ran,
    Stopped,
    StopReason,
    ThoughtLog,
    TimedOut,
    TimeoutPhase,
    ToolRecord,
    TurnStatus,
    Unreachable,
)
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.policy import TimeLimits, ToolPolicy
from turnkeeper.domain.quotes import without_quotes
from turnkeeper.domain.redact import redact
from turnkeeper.domain.steps import RunInvocation as Step
from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.tool_calls import remembered
from turnkeeper.domain.watch import Limit, Progress, next_limit


@frozen
class _Invocation:
    """One invocation under way."""

    loop: ToolLoop
    delivery: DeliverStream
    outlet: Outlet
    progress: Progress
    before: Ran
    started_at_s: float
    may_be_slow: bool


@frozen
class InvocationPorts:
    """What running invocations needs; shared by all turns.

    Attributes:
        windows: By provider, for those whose windows depend on the key's plan.
        tools: The tools that models may call.
        words: What people are told while it goes on; None tells them nothing.
    """

    providers: Providers
    runner: Runner
    clock: Clock
    context: PrepareContext
    windows: Mapping[str, CredentialWindow] = field(default_factory=dict)
    tools: Tools = NoTools()
    words: Catalogue | None = None


class RunInvocation:
    """Runs invocations. An invocation never speaks to people about failure: it returns it.

    Args:
        tool_policy: How far model and tools may go on with each other.
        text_rules: What is shown of an answer, and when.
    """

    def __init__(
        self,
        ports: InvocationPorts,
        *,
        limits: TimeLimits,
        tool_policy: ToolPolicy = ToolPolicy(),
        text_rules: TextRules = TextRules(),
    ) -> None:
        self._providers = ports.providers
        self._runner = ports.runner
        self._clock = ports.clock
        self._context = ports.context
        self._windows = ports.windows
        self._words = ports.words
        self._limits = limits
        self._tool_policy = tool_policy
        self._text_rules = text_rules
        self._bench = Workbench(
            tools=ports.tools,
            runner=ports.runner,
            clock=ports.clock,
            limit_s=limits.tool_s,
            max_result_chars=tool_policy.max_result_chars,
        )

    def __call__(
        self, step: Step, attempt: Attempt, stage: Stage, poster: Poster, invocation_no: int
    ) -> Outcome:
        """Run the step. What goes wrong comes back as an outcome, not as an exception."""
        stage.recorder.note(
            InvocationStarted(
                attempt_no=step.attempt_no,
                invocation_no=invocation_no,
                key_id=step.lease.key_id if step.lease else None,
                adjust=type(step.adjust).__name__,
                tokens=tokens_of(step.adjust),
                take_back=tuple(delivery.message_id for delivery in step.take_back),
                another_may_answer=step.another_may_answer,
            )
        )
        before = Ran(attempt_no=step.attempt_no, lease=step.lease, tool_results=step.tool_results)
        cleared = Event() if step.take_back else _NOTHING_TO_CLEAR
        progress = Progress()
        outlet = Outlet(
            poster=poster,
            invocation_no=invocation_no,
            cleared=cleared,
            held=partial(_Held, progress, self._clock),
        )
        try:
            under_way = self._set_up(step, attempt, stage, outlet, before, progress)
            work = self._runner.start(under_way.loop, f"invocation-{invocation_no}")
        except Exception as error:  # noqa: BLE001 - a plug-in's bug ends the attempt, not the turn
            outlet.shut()
            # Nothing could take its place, so what stood still stands.
            crashed = _crashed(replace(before, delivered=step.take_back), error)
            return _discreet(crashed, step)
        self._clear_the_channel(step, poster, cleared)
        try:
            outcome = self._watched(work, under_way, stage)
        except BaseException:
            _ask_to_stop(work, outlet)
            raise
        return _discreet(self._ended(outcome, under_way, stage), step)

    # ── setting up ──────────────────────────────────────────────────────────────────────────

    def _clear_the_channel(self, step: Step, poster: Poster, cleared: Event) -> None:
        """Take back what the invocation before had posted, beside the new request."""
        if not step.take_back:
            return

        def take_back(stop: Stop | None) -> None:
            try:
                poster.take_back(step.take_back)
            finally:
                cleared.set()

        try:
            self._runner.start(take_back, "take-back")
        except Exception:  # noqa: BLE001 - no thread is left for it: it is done here
            take_back(None)

    def _set_up(
        self,
        step: Step,
        attempt: Attempt,
        stage: Stage,
        outlet: Outlet,
        before: Ran,
        progress: Progress,
    ) -> _Invocation:
        changed = step.prepared
        for change in (*step.kept, step.adjust):
            changed = self._context.adjusted(changed, change)
        prepared = self._within_window(changed, step, attempt)
        now_s = self._clock.monotonic()
        delivery = DeliverStream(
            outlet=outlet,
            target=stage.target,
            clock=self._clock,
            holds=not stage.sink.can_take_back,
            rules=self._rules_of(stage),
        )
        deadline = stage.deadline.earlier(Deadline(now_s + self._limits.attempt_s))
        job = Job(
            call=_call(attempt, self._context.model_of(attempt), prepared, step.tool_results),
            key=step.lease.secret if step.lease else None,
            provider=measured(
                self._providers.find(attempt.provider), progress, self._limits, self._clock
            ),
            deadline=deadline,
            ran=before,
            policy=self._tool_policy,
        )
        tools = RunTools(
            bench=self._bench,
            stage=stage,
            outlet=outlet,
            deadline=deadline,
            known=step.tool_results,
        )
        loop = ToolLoop(
            job=job,
            tools=tools,
            delivery=delivery,
            progress=progress,
            clock=self._clock,
            cues=Cues(
                first_progress=partial(_note_first_progress, stage, outlet.invocation_no, now_s),
                still_working=partial(self._say_still_working, stage, outlet),
            ),
        )
        return _Invocation(
            loop=loop,
            delivery=delivery,
            outlet=outlet,
            progress=progress,
            before=before,
            started_at_s=now_s,
            may_be_slow=attempt.model.capabilities.reasoning or not step.another_may_answer,
        )

    def _rules_of(self, stage: Stage) -> TextRules:
        speakers = stage.request.other_speakers
        return replace(self._text_rules, speakers=speakers) if speakers else self._text_rules

    def _say_still_working(self, stage: Stage, outlet: Outlet) -> None:
        """Tell people that it goes on, where they are told such things; it can be taken back."""
        if self._words is None or stage.request.hears is not Audience.PERSON:
            return
        if stage.sink.can_take_back:
            text = self._words.text("progress.still_working", stage.request.locale)
            outlet.post(text, origin=Origin.PROGRESS)

    def _within_window(self, prepared: Prepared, step: Step, attempt: Attempt) -> Prepared:
        """What a plan pays for is known only with the key."""
        window = self._windows.get(attempt.provider)
        if window is None or step.lease is None or attempt.model.limits.window_tokens:
            return prepared
        tokens = window.window_tokens(step.lease.secret, attempt.model.name)
        return self._context.within(prepared, tokens)

    # ── watching ────────────────────────────────────────────────────────────────────────────

    def _watched(self, work: Work[Outcome], under_way: _Invocation, stage: Stage) -> Outcome:
        forget = stage.mailbox.on_arrival(partial(self._on_signal, work, under_way, stage))
        try:
            while True:
                limit = self._next_limit(under_way, stage)
                try:
                    return self._heeded(work.result(self._patience_s(limit)), under_way, stage)
                except StillRunning:
                    passed = self._passed(work, under_way, stage)
                    if passed is not None:
                        return passed
        except Cancelled:
            return self._stopped(under_way, stage.mailbox.signal)
        except Exception as error:  # noqa: BLE001 - any bug below is one outcome of the attempt
            return self._raised(under_way, error)
        finally:
            forget()

    def _on_signal(self, work: Work[Outcome], under_way: _Invocation, stage: Stage) -> None:
        if _heard(under_way, stage) is not None:
            _ask_to_stop(work, under_way.outlet)

    def _heeded(self, outcome: Outcome, under_way: _Invocation, stage: Stage) -> Outcome:
        """A failure that a stop brought about is the stop, and so it is with a limit.

        A provider is told how much time it has, and may be the first to see that it is over.
        """
        signal = _heard(under_way, stage)
        if not isinstance(outcome, Failed):
            return outcome
        if signal is not None:
            return self._stopped(under_way, signal)
        limit = self._next_limit(under_way, stage)
        is_late = limit.at_s <= self._clock.monotonic()
        if is_late and outcome.failure.kind is FailureKind.TIMEOUT:
            return self._timed_out(under_way, limit.phase)
        return outcome

    def _next_limit(self, under_way: _Invocation, stage: Stage) -> Limit:
        return next_limit(
            under_way.progress,
            self._limits,
            started_at_s=under_way.started_at_s,
            turn_deadline_s=stage.deadline.at_s,
            may_be_slow=under_way.may_be_slow,
        )

    def _patience_s(self, limit: Limit) -> float:
        """How long nothing has to be looked at.

        Progress may bring a nearer limit at any time, and work that heeds no stop does not wake
        whoever waits for it.
        """
        limits, left_s = self._limits, max(0.0, limit.at_s - self._clock.monotonic())
        return min(
            left_s,
            limits.silence_s,
            limits.first_progress_s,
            limits.last_first_progress_s,
            limits.pace_window_s,
            LOOK_S,
        )

    def _passed(self, work: Work[Outcome], under_way: _Invocation, stage: Stage) -> Outcome | None:
        """Abandon the work if a limit is really passed; what it still completes counts."""
        limit = self._next_limit(under_way, stage)
        if limit.at_s > self._clock.monotonic() and _heard(under_way, stage) is None:
            return None
        settled = self._settled(work, under_way, stage)
        if not settled:
            cause = "the stream was told to end and has not yet; it runs on, unheard"
            stage.recorder.note(EffectFailed(effect="abandoned stream", cause=cause))
        signal = _heard(under_way, stage)
        if signal is not None:
            return self._stopped(under_way, signal)
        if settled and not stage.deadline.passed(self._clock.monotonic()):
            completed = self._completed(work)
            if completed is not None:
                return completed
        return self._timed_out(under_way, limit.phase)

    def _settled(self, work: Work[Outcome], under_way: _Invocation, stage: Stage) -> bool:
        """Tell the work to end and give it the time to.

        Once the turn is stopped, or has no time left, nothing more is posted and no more than one
        look is waited for.
        """
        left_s = self._limits.settle_s
        while True:
            turn_s = stage.deadline.remaining_s(self._clock.monotonic())
            if turn_s == 0:
                under_way.outlet.shut()
            hurries = _heard(under_way, stage) is not None or turn_s == 0
            look_s = min(left_s, LOOK_S if hurries else min(max(turn_s, SHORTEST_S), LOOK_S))
            if work.abandon(look_s):
                return True
            left_s -= look_s
            if hurries or left_s <= 0:
                return False

    @staticmethod
    def _completed(work: Work[Outcome]) -> Outcome | None:
        """What the work came to while it was given time to settle; None if it was only stopped."""
        try:
            outcome = work.result(0)
        except Exception:  # noqa: BLE001 - it was told to stop; how it complained is of no use
            return None
        return None if isinstance(outcome, Failed) else outcome

    # ── what it came to ─────────────────────────────────────────────────────────────────────

    def _ended(self, outcome: Outcome, under_way: _Invocation, stage: Stage) -> Outcome:
        """The outcome with what is in the channel; from here on nothing more can get there."""
        hurries = stage.mailbox.signal is not None or stage.deadline.passed(self._clock.monotonic())
        wait_s = self._limits.settle_s if hurries else CLEAR_TO_POST_S
        delivered = under_way.outlet.seal(wait_s)
        ran = replace(
            outcome.ran,
            delivered=delivered,
            thought_log=_with_url(outcome.ran.thought_log, delivered),
            ended_at_s=self._clock.monotonic(),
        )
        return replace(outcome, ran=ran)

    def _so_far(
        self, under_way: _Invocation, status: TurnStatus, failure: Failure | None = None
    ) -> Ran:
        """What an invocation that did not end by itself leaves behind."""
        under_way.outlet.shut()
        return under_way.loop.so_far(status, failure)

    def _stopped(self, under_way: _Invocation, signal: Signal | None) -> Outcome:
        match signal:
            case Signal.FOLLOW_UP_REQUESTED:
                ran = self._so_far(under_way, TurnStatus.FOLLOW_UP_INTERRUPT)
                return Interrupted(ran=ran)
            case Signal.DEADLINE_PASSED:
                return self._timed_out(under_way, TimeoutPhase.TURN)
            case _:
                by_user = signal is Signal.STOP_REQUESTED
                reason = StopReason.USER_REQUEST if by_user else StopReason.SYSTEM_REQUEST
                ran = self._so_far(under_way, TurnStatus.STOPPED_BY_USER)
                return Stopped(ran=ran, reason=reason)

    def _timed_out(self, under_way: _Invocation, phase: TimeoutPhase) -> TimedOut:
        failure = Failure(
            kind=FailureKind.TIMEOUT,
            message=_TIMEOUT_TEXT[phase],
            rule=f"timeout.{phase.value}",
            evidence=f"calls={under_way.progress.calls}",
        )
        ran = self._so_far(under_way, TurnStatus.TIMEOUT, failure)
        return TimedOut(ran=ran, phase=phase, failure=failure)

    def _raised(self, under_way: _Invocation, error: Exception) -> Outcome:
        if isinstance(error, DestinationGone):
            ran = self._so_far(under_way, TurnStatus.ERROR)
            return Unreachable(ran=ran, code=error.code)
        if isinstance(error, SinkError | StoreError):
            kind = FailureKind.SINK if isinstance(error, SinkError) else FailureKind.STORE
            failure = Failure(kind=kind, message=redact(str(error)), rule=kind.value)
            return Failed(ran=self._so_far(under_way, TurnStatus.ERROR, failure), failure=failure)
        return _crashed(self._so_far(under_way, TurnStatus.ERROR), error)


_NOTHING_TO_CLEAR = Event()
_NOTHING_TO_CLEAR.set()

LOOK_S = 0.5
"""How late a signal may be heard where the work does not heed it."""
SHORTEST_S = 0.01
"""The shortest wait, so that waiting gets somewhere."""

_TIMEOUT_TEXT = {
    TimeoutPhase.FIRST_PROGRESS: "the provider said nothing within the first-progress limit",
    TimeoutPhase.SILENCE: "the provider fell silent in the middle of the answer",
    TimeoutPhase.PACE: "the provider wrote more slowly than it may",
    TimeoutPhase.ATTEMPT: "the attempt took longer than it may",
    TimeoutPhase.TURN: "the turn took longer than it may",
    TimeoutPhase.TOOLS: "the model went on calling tools",
}


class _Held:
    """Nobody listens to the provider while a message is posted, so it cannot be late."""

    def __init__(self, progress: Progress, clock: Clock) -> None:
        self._progress = progress
        self._clock = clock

    def __enter__(self) -> None:
        self._progress.held(self._clock.monotonic())

    def __exit__(self, *_error: object) -> None:
        self._progress.resumed(self._clock.monotonic())


def _crashed(ran: Ran, error: Exception) -> Crashed:
    secrets = (ran.lease.secret.reveal(),) if ran.lease is not None else ()
    failure = Failure(
        kind=FailureKind.CRASH,
        message=redact(f"{type(error).__name__}: {error}", secrets),
        rule="crash",
    )
    return Crashed(ran=ran, failure=failure)


def _heard(under_way: _Invocation, stage: Stage) -> Signal | None:
    """The signal that ends the invocation; a chain of tools is not left for a follow-up."""
    signal = stage.mailbox.signal
    if signal is Signal.FOLLOW_UP_REQUESTED and under_way.loop.in_tool_chain:
        return None
    return signal


def _discreet(outcome: Outcome, step: Step) -> Outcome:
    """The outcome without what its failure repeats of the conversation."""
    if not any(result.failure for result in outcome.ran.stream_results) and not isinstance(
        outcome, Failed | TimedOut | Crashed
    ):
        return outcome
    conversation = step.prepared.conversation
    results = tuple(
        replace(result, failure=without_quotes(result.failure, conversation))
        if result.failure
        else result
        for result in outcome.ran.stream_results
    )
    ran = replace(outcome.ran, stream_results=results)
    if isinstance(outcome, Failed | TimedOut | Crashed):
        failure = without_quotes(outcome.failure, conversation)
        return replace(outcome, ran=ran, failure=failure)
    return replace(outcome, ran=ran)


def _ask_to_stop(work: Work[Outcome], outlet: Outlet) -> None:
    """What was shown stays; nothing more is."""
    outlet.shut()
    work.abandon(0)


def _call(
    attempt: Attempt, model: Model, prepared: Prepared, done: tuple[ToolRecord, ...]
) -> ChatCall:
    conversation = prepared.conversation
    if done:
        known = remembered(done, with_tools=bool(conversation.tools))
        conversation = replace(conversation, items=(*conversation.items, *known))
    return ChatCall(
        model=model,
        conversation=conversation,
        sampling=attempt.sampling,
        max_output_tokens=prepared.max_output_tokens,
        endpoint=attempt.endpoint,
    )


def _with_url(log: ThoughtLog | None, delivered: tuple[Delivery, ...]) -> ThoughtLog | None:
    """The thoughts with where the answer begins."""
    urls = [one.url for one in delivered if one.origin is Origin.STREAM and one.url]
    return replace(log, first_reply_url=urls[0]) if log and urls else log


def _note_first_progress(stage: Stage, invocation_no: int, began_s: float, at_s: float) -> None:
    stage.recorder.note(FirstProgress(invocation_no=invocation_no, after_s=at_s - began_s))
