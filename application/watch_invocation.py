"""Sees to it that an invocation ends: by itself, by a limit, or because somebody stops it."""

from collections.abc import Callable
from functools import partial
from typing import cast

from turnkeeper.application.outlet import Outlet
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import (
    Cancelled,
    OwnWork,
    Runner,
    StillRunning,
    Work,
)
from turnkeeper.application.tool_loop import ToolLoop
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import DestinationGone, SinkError, StoreError
from turnkeeper.domain.events import EffectFailed
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.outcome import (
    Crashed,
    Failed,
    Interrupted,
    Outcome,
    Ran,
    Stopped,
    StopReason,
    TimedOut,
    TimeoutPhase,
    TurnStatus,
    Unreachable,
)
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.redact import redact
from turnkeeper.domain.watch import Limit, next_limit


class WatchInvocation:
    """Watches invocations; shared by all turns."""

    def __init__(self, *, runner: Runner, clock: Clock, limits: TimeLimits) -> None:
        self._runner = runner
        self._clock = clock
        self._limits = limits
        # How long nothing has to be looked at, as progress may bring a nearer limit at any time,
        # and work that heeds no stop does not wake whoever waits for it.
        self._patience_s = min(
            limits.silence_s,
            limits.first_progress_s,
            limits.last_first_progress_s,
            limits.pace_window_s,
            LOOK_S,
        )

    def begun(self, under_way: ToolLoop) -> Work[Outcome]:
        """Begin it; `outcome` says what it came to.

        Raises:
            RuntimeError: The machine has no thread left for it.
            Closed: The runner was closed.
        """
        job = under_way.job
        if not job.heeds_stop:
            return self._runner.start(under_way, f"invocation-{job.outlet.invocation_no}")
        return self._runner.here(
            under_way,
            partial(self._look, under_way),
            first_look_s=min(self._patience_s, job.stage.deadline.at_s - job.began_s),
        )

    def outcome(self, work: Work[Outcome], under_way: ToolLoop) -> Outcome:
        """See it to its end.

        It raises nothing but what is no `Exception`, and then nothing more is posted.
        """
        job = under_way.job
        mailbox = job.stage.mailbox
        forget = mailbox.on_arrival(partial(self._on_signal, work, under_way))
        try:
            if job.heeds_stop:
                return self._done(cast("OwnWork[Outcome]", work), under_way)
            return self._followed(work, under_way)
        except Cancelled:
            return self._stopped(under_way, mailbox.signal)
        except Exception as error:  # noqa: BLE001 - any bug below is one outcome of the attempt
            return self._raised(under_way, error)
        except BaseException:
            _ask_to_stop(work, job.outlet)
            raise
        finally:
            forget()

    def _on_signal(self, work: Work[Outcome], under_way: ToolLoop) -> None:
        if _heard(under_way) is not None:
            _ask_to_stop(work, under_way.job.outlet)

    def _heeded(self, outcome: Outcome, under_way: ToolLoop) -> Outcome:
        """A failure that a stop brought about is the stop, and so it is with a limit.

        A provider is told how much time it has, and may be the first to see that it is over.
        """
        if not isinstance(outcome, Failed):
            return outcome
        signal = _heard(under_way)
        if signal is not None:
            return self._stopped(under_way, signal)
        limit = self._next_limit(under_way)
        is_late = limit.at_s <= self._clock.monotonic()
        if is_late and outcome.failure.kind is FailureKind.TIMEOUT:
            return self._timed_out(under_way, limit.phase)
        return outcome

    def _next_limit(self, under_way: ToolLoop) -> Limit:
        job = under_way.job
        thinks_first = job.attempt.model.capabilities.reasoning
        return next_limit(
            job.progress,
            self._limits,
            started_at_s=job.began_s,
            turn_deadline_s=job.stage.deadline.at_s,
            may_be_slow=thinks_first or not job.step.another_may_answer,
        )

    def _is_to_end(self, limit: Limit, under_way: ToolLoop) -> bool:
        return limit.at_s <= self._clock.monotonic() or _heard(under_way) is not None

    def _look_in_s(self, limit: Limit) -> float:
        return min(max(0.0, limit.at_s - self._clock.monotonic()), self._patience_s)

    def _after_limit(
        self,
        work: Work[Outcome],
        under_way: ToolLoop,
        phase: TimeoutPhase,
        *,
        settled: bool,
    ) -> Outcome:
        """What it came to after it had run into a limit; what it still completed in time counts."""
        signal = _heard(under_way)
        if signal is not None:
            return self._stopped(under_way, signal)
        if settled and not under_way.job.stage.deadline.passed(self._clock.monotonic()):
            completed = self._completed(work)
            if completed is not None:
                return completed
        return self._timed_out(under_way, phase)

    # ── on the turn's own thread ────────────────────────────────────────────────────────────

    def _done(self, own: OwnWork[Outcome], under_way: ToolLoop) -> Outcome:
        """Do the work here, looked after by a thread of the runner."""
        own.run()
        cut = under_way.cut
        if cut is None:
            return self._heeded(own.result(0), under_way)
        settled = self._clock.monotonic() - cut.at_s < self._limits.settle_s
        return self._after_limit(own, under_way, cut.phase, settled=settled)

    def _look(self, under_way: ToolLoop, stop: Callable[[], None]) -> float:
        """Stop the work if it is to end, and let nothing more through once it had its time to."""
        limit, cut, job = self._next_limit(under_way), under_way.cut, under_way.job
        if cut is None and not self._is_to_end(limit, under_way):
            return self._look_in_s(limit)
        now_s = self._clock.monotonic()
        if cut is None:
            cut = under_way.cut = Limit(at_s=now_s, phase=limit.phase)
            stop()
        left_s = cut.at_s + self._limits.settle_s - now_s
        if left_s <= 0 or job.stage.deadline.passed(now_s):
            job.outlet.shut()
        return min(max(left_s, SHORTEST_S), LOOK_S)

    # ── on a thread that can be left behind ─────────────────────────────────────────────────

    def _followed(self, work: Work[Outcome], under_way: ToolLoop) -> Outcome:
        while True:
            limit = self._next_limit(under_way)
            try:
                return self._heeded(work.result(self._look_in_s(limit)), under_way)
            except StillRunning:
                passed = self._passed(work, under_way)
                if passed is not None:
                    return passed

    def _passed(self, work: Work[Outcome], under_way: ToolLoop) -> Outcome | None:
        """Abandon the work if it is really to end."""
        limit = self._next_limit(under_way)
        if not self._is_to_end(limit, under_way):
            return None
        settled = self._settled(work, under_way)
        if not settled:
            cause = "the stream was told to end and has not yet; it runs on, unheard"
            recorder = under_way.job.stage.recorder
            recorder.note(EffectFailed(effect=ABANDONED, cause=cause))
        return self._after_limit(work, under_way, limit.phase, settled=settled)

    def _settled(self, work: Work[Outcome], under_way: ToolLoop) -> bool:
        """Tell the work to end and give it the time to.

        Once the turn is stopped, or has no time left, nothing more is posted and no more than one
        look is waited for.
        """
        job, left_s = under_way.job, self._limits.settle_s
        while True:
            turn_s = job.stage.deadline.remaining_s(self._clock.monotonic())
            if turn_s == 0:
                job.outlet.shut()
            hurries = _heard(under_way) is not None or turn_s == 0
            look_s = min(left_s, LOOK_S if hurries else min(max(turn_s, SHORTEST_S), LOOK_S))
            if work.abandon(look_s):
                return True
            left_s -= look_s
            if hurries or left_s <= 0:
                return False

    # ── what it came to ─────────────────────────────────────────────────────────────────────

    @staticmethod
    def _completed(work: Work[Outcome]) -> Outcome | None:
        """What the work came to while it was given time to settle; None if it was only stopped."""
        try:
            outcome = work.result(0)
        except Exception:  # noqa: BLE001 - it was told to stop; how it complained is of no use
            return None
        return None if isinstance(outcome, Failed) else outcome

    def _so_far(
        self, under_way: ToolLoop, status: TurnStatus, failure: Failure | None = None
    ) -> Ran:
        """What an invocation that did not end by itself leaves behind."""
        under_way.job.outlet.shut()
        return under_way.so_far(status, failure)

    def _stopped(self, under_way: ToolLoop, signal: Signal | None) -> Outcome:
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

    def _timed_out(self, under_way: ToolLoop, phase: TimeoutPhase) -> TimedOut:
        failure = Failure(
            kind=FailureKind.TIMEOUT,
            message=_TIMEOUT_TEXT[phase],
            rule=f"timeout.{phase.value}",
            evidence=f"calls={under_way.job.progress.calls}",
        )
        ran = self._so_far(under_way, TurnStatus.TIMEOUT, failure)
        return TimedOut(ran=ran, phase=phase, failure=failure)

    def _raised(self, under_way: ToolLoop, error: Exception) -> Outcome:
        if isinstance(error, DestinationGone):
            ran = self._so_far(under_way, TurnStatus.ERROR)
            return Unreachable(ran=ran, code=error.code)
        if isinstance(error, SinkError | StoreError):
            kind = FailureKind.SINK if isinstance(error, SinkError) else FailureKind.STORE
            failure = Failure(kind=kind, message=redact(str(error)), rule=kind.value)
            return Failed(ran=self._so_far(under_way, TurnStatus.ERROR, failure), failure=failure)
        return crashed(self._so_far(under_way, TurnStatus.ERROR), error)


ABANDONED = "abandoned stream"
"""What the journal calls it when something of an invocation runs on without it."""
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


def _heard(under_way: ToolLoop) -> Signal | None:
    """The signal that ends the invocation; a chain of tools is not left for a follow-up."""
    signal = under_way.job.stage.mailbox.signal
    if signal is Signal.FOLLOW_UP_REQUESTED and under_way.in_tool_chain:
        return None
    return signal


def crashed(ran: Ran, error: Exception) -> Crashed:
    """What a bug below comes to."""
    secrets = (ran.lease.secret.reveal(),) if ran.lease is not None else ()
    failure = Failure(
        kind=FailureKind.CRASH,
        message=redact(f"{type(error).__name__}: {error}", secrets),
        rule="crash",
    )
    return Crashed(ran=ran, failure=failure)


def _ask_to_stop(work: Work[Outcome], outlet: Outlet) -> None:
    """What was shown stays; nothing more is."""
    outlet.shut()
    work.abandon(0)
