"""Runs one attempt with one key, under watch, and says what it came to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from types import MappingProxyType

from turnkeeper.application.deliver_stream import DeliverStream
from turnkeeper.application.outlet import CLEAR_TO_POST_S, Outlet
from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.credential_window import CredentialWindow
from turnkeeper.application.ports.providers import Providers
from turnkeeper.application.ports.runner import Cancelled, Runner, StillRunning, Stop, Work
from turnkeeper.application.poster import Poster
from turnkeeper.application.prepare_context import PrepareContext
from turnkeeper.application.stage import Stage
from turnkeeper.application.tool_loop import Job, ToolLoop
from turnkeeper.domain.answers import Prepared, Signal
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import DestinationGone, SinkError, StoreError
from turnkeeper.domain.events import EffectFailed, FirstProgress, InvocationStarted
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.model import Model
from turnkeeper.domain.outcome import (
    Crashed,
    Failed,
    Interrupted,
    Outcome,
    Ran,
    Stopped,
    StopReason,
    StreamResult,
    TimedOut,
    TimeoutPhase,
    TurnStatus,
    Unreachable,
)
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.quotes import without_quotes
from turnkeeper.domain.redact import redact
from turnkeeper.domain.steps import RunInvocation as Step
from turnkeeper.domain.watch import Limit, Progress, next_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Invocation:
    """One invocation under way."""

    loop: ToolLoop
    delivery: DeliverStream
    outlet: Outlet
    progress: Progress
    before: Ran
    started_at_s: float
    may_be_slow: bool


_NO_WINDOWS: Mapping[str, CredentialWindow] = MappingProxyType({})


class RunInvocation:
    """Runs invocations. An invocation never speaks to people about failure: it returns it.

    Args:
        windows: By provider, for those whose windows depend on the key's plan.
    """

    def __init__(
        self,
        *,
        providers: Providers,
        runner: Runner,
        clock: Clock,
        context: PrepareContext,
        limits: TimeLimits,
        windows: Mapping[str, CredentialWindow] = _NO_WINDOWS,
    ) -> None:
        self._providers = providers
        self._runner = runner
        self._clock = clock
        self._context = context
        self._limits = limits
        self._windows = windows

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
            )
        )
        before = Ran(attempt_no=step.attempt_no, lease=step.lease, tool_results=step.tool_results)
        cleared = Event()
        outlet = Outlet(poster=poster, invocation_no=invocation_no, cleared=cleared)
        try:
            under_way = self._set_up(step, attempt, stage, outlet, before)
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
            cleared.set()
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
        self, step: Step, attempt: Attempt, stage: Stage, outlet: Outlet, before: Ran
    ) -> _Invocation:
        changed = step.prepared
        for change in (*step.kept, step.adjust):
            changed = self._context.adjusted(changed, change)
        prepared = self._within_window(changed, step, attempt)
        now_s = self._clock.monotonic()
        progress = Progress()
        delivery = DeliverStream(
            outlet=outlet,
            target=stage.target,
            clock=self._clock,
            holds=not stage.sink.can_take_back,
        )
        job = Job(
            call=_call(attempt, self._context.model_of(attempt), prepared),
            key=step.lease.secret if step.lease else None,
            provider=self._providers.find(attempt.provider),
            deadline=stage.deadline.earlier(Deadline(now_s + self._limits.attempt_s)),
            ran=before,
        )
        loop = ToolLoop(
            job=job,
            delivery=delivery,
            progress=progress,
            clock=self._clock,
            first_progress=partial(_note_first_progress, stage, outlet.invocation_no, now_s),
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

    def _within_window(self, prepared: Prepared, step: Step, attempt: Attempt) -> Prepared:
        """What a plan pays for is known only with the key."""
        window = self._windows.get(attempt.provider)
        if window is None or step.lease is None or attempt.model.limits.window_tokens:
            return prepared
        tokens = window.window_tokens(step.lease.secret, attempt.model.name)
        return self._context.within(prepared, tokens)

    # ── watching ────────────────────────────────────────────────────────────────────────────

    def _watched(self, work: Work[Outcome], under_way: _Invocation, stage: Stage) -> Outcome:
        forget = stage.mailbox.on_arrival(lambda: _ask_to_stop(work, under_way.outlet))
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

    def _heeded(self, outcome: Outcome, under_way: _Invocation, stage: Stage) -> Outcome:
        """A failure that a stop brought about is the stop."""
        signal = stage.mailbox.signal
        if isinstance(outcome, Failed) and signal is not None:
            return self._stopped(under_way, signal)
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
            left_s, limits.silence_s, limits.first_progress_s, limits.last_first_progress_s, LOOK_S
        )

    def _passed(self, work: Work[Outcome], under_way: _Invocation, stage: Stage) -> Outcome | None:
        """Abandon the work if a limit is really passed; what it still completes counts."""
        limit = self._next_limit(under_way, stage)
        if limit.at_s > self._clock.monotonic() and stage.mailbox.signal is None:
            return None
        settled = work.abandon(self._limits.settle_s)
        signal = stage.mailbox.signal
        if signal is not None:
            return self._stopped(under_way, signal)
        if settled and limit.phase is not TimeoutPhase.TURN:
            completed = self._completed(work)
            if completed is not None:
                return completed
        if not settled:
            stage.recorder.note(
                EffectFailed(
                    effect="settle",
                    cause=f"the stream did not end within {self._limits.settle_s} s",
                )
            )
        return self._timed_out(under_way, limit.phase)

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
        ran = replace(outcome.ran, delivered=delivered, ended_at_s=self._clock.monotonic())
        return replace(outcome, ran=ran)

    def _so_far(
        self, under_way: _Invocation, status: TurnStatus, failure: Failure | None = None
    ) -> Ran:
        """What an invocation that did not end by itself leaves behind."""
        under_way.outlet.shut()
        heard, text = under_way.loop.heard, under_way.delivery.delivered_text
        result = StreamResult(
            status=status, text=text, failure=failure, usage=heard.usage, serving=heard.serving
        )
        return replace(
            under_way.before,
            usage=heard.usage,
            reply_text=text,
            thought_log=heard.thought_log,
            stream_results=(result,),
        )

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


LOOK_S = 0.5
"""How late a signal may be heard where the work does not heed it."""

_TIMEOUT_TEXT = {
    TimeoutPhase.FIRST_PROGRESS: "the provider said nothing within the first-progress limit",
    TimeoutPhase.SILENCE: "the provider fell silent in the middle of the answer",
    TimeoutPhase.ATTEMPT: "the attempt took longer than it may",
    TimeoutPhase.TURN: "the turn took longer than it may",
}


def _crashed(ran: Ran, error: Exception) -> Crashed:
    secrets = (ran.lease.secret.reveal(),) if ran.lease is not None else ()
    failure = Failure(
        kind=FailureKind.CRASH,
        message=redact(f"{type(error).__name__}: {error}", secrets),
        rule="crash",
    )
    return Crashed(ran=ran, failure=failure)


def _discreet(outcome: Outcome, step: Step) -> Outcome:
    """The outcome without what its failure repeats of the conversation."""
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


def _call(attempt: Attempt, model: Model, prepared: Prepared) -> ChatCall:
    return ChatCall(
        model=model,
        conversation=prepared.conversation,
        sampling=attempt.sampling,
        max_output_tokens=prepared.max_output_tokens,
        endpoint=attempt.endpoint,
    )


def _note_first_progress(stage: Stage, invocation_no: int, began_s: float, at_s: float) -> None:
    stage.recorder.note(FirstProgress(invocation_no=invocation_no, after_s=at_s - began_s))
