"""The use case: run one turn to its one end. Read `_steps` first; it is the product."""

from dataclasses import dataclass, replace
from typing import assert_never

from turnkeeper.application.conclude_turn import ConcludeTurn
from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.perform_step import PerformStep, StepTools
from turnkeeper.application.plan_turn import Planned, PlanTurn
from turnkeeper.application.ports.sink import Sink
from turnkeeper.application.ports.turn_store import AlreadyEnded, Closing
from turnkeeper.application.recorder import Recorder
from turnkeeper.application.settle_turn import SettleTurn
from turnkeeper.application.stage import Stage
from turnkeeper.domain.admission import Granted, RefusalKind, Refused
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import AlreadyRunning, StepLimitExceeded, StoreError, TurnFailed
from turnkeeper.domain.events import (
    CleanedUp,
    EffectFailed,
    Finalized,
    QuotaReserved,
    QuotaSettled,
    TurnEnded,
    TurnRefused,
    TurnStarted,
)
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.finish import Commit, Finish, Nothing, Release, Say, Settle
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import StreamResult, TurnStatus
from turnkeeper.domain.policy import TimeLimits, TurnPolicy
from turnkeeper.domain.redact import redact
from turnkeeper.domain.steps import (
    LeaseKey,
    OpenServerRoute,
    Prepare,
    RunInvocation,
    TurnState,
    Wait,
)
from turnkeeper.domain.turn import TurnRequest, TurnResult

MAX_STEPS = 1000
"""More than any plan can take; beyond it the state machine is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRules:
    """How all turns are run, unless a server says otherwise.

    Attributes:
        policy: How hard a turn tries.
        limits: How long things may take.
        channel_wait_s: How long a turn waits while another speaks in its channel.
    """

    policy: TurnPolicy = TurnPolicy()
    limits: TimeLimits = TimeLimits()
    channel_wait_s: float = 60.0


class RunGenerationTurn:
    """Runs turns. Each call is one turn, on its caller's thread; safe from several threads."""

    def __init__(
        self,
        *,
        plan: PlanTurn,
        tools: StepTools,
        conclude: ConcludeTurn,
        settle: SettleTurn,
        rules: TurnRules,
    ) -> None:
        self._plan = plan
        self._tools = tools
        self._conclude = conclude
        self._settle = settle
        self._rules = rules

    def __call__(
        self, request: TurnRequest, sink: Sink, *, recorder: Recorder, mailbox: Mailbox
    ) -> TurnResult:
        """Run one turn to its end: the sink is finalized once and cleaned up once.

        Raises:
            AlreadyRunning: The same turn runs elsewhere; nothing was said.
            TurnFailed: It ended without an answer, and only the caller may be told.
            Exception: Whatever `sink.prepare` raised.
        """
        try:
            stage = self._set_the_stage(request, sink, recorder, mailbox)
            return self._turn(stage)
        finally:
            self._clean_up(sink, recorder)

    def _turn(self, stage: Stage) -> TurnResult:
        try:
            planned = self._planned(stage)
        except AlreadyRunning:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, people are told once
            return self._crashed(error, stage, None, Nothing())
        if isinstance(planned, AlreadyEnded):
            return self._finalized(planned.result, stage)
        perform = PerformStep(
            self._tools, stage, epoch=planned.opened.epoch, rests=planned.opened.resting
        )
        try:
            state, finish = self._steps(self._begin(planned, stage), perform)
            result = self._conclude(finish, state, stage)
        except Exception as error:  # noqa: BLE001 - thrown errors end as returned ones do
            return self._crashed(error, stage, perform, _release(planned))
        return self._ended(result, finish, stage, perform)

    def _steps(self, state: TurnState, perform: PerformStep) -> tuple[TurnState, Finish]:
        """One step after the other until the turn is over."""
        for _ in range(MAX_STEPS):
            state = perform.heard(state)
            match state.next_step():
                case Prepare() as step:
                    state = state.told(perform.prepare(step, state))
                case LeaseKey() as step:
                    state = state.told(perform.lease(step, state))
                case Wait() as step:
                    state = state.told(perform.wait(step))
                case RunInvocation() as step:
                    state = perform.book(state.after(perform.run(step, state)))
                case OpenServerRoute() as step:
                    state = state.told(perform.open(step))
                case Finish() as finish:
                    return state, finish
                case unknown:
                    assert_never(unknown)
        raise StepLimitExceeded(f"the turn did not end within {MAX_STEPS} steps")

    # ── before ──────────────────────────────────────────────────────────────────────────────

    def _set_the_stage(
        self, request: TurnRequest, sink: Sink, recorder: Recorder, mailbox: Mailbox
    ) -> Stage:
        deadline = Deadline(self._tools.clock.monotonic() + self._rules.limits.turn_s)
        return Stage(
            request=request,
            sink=sink,
            target=sink.prepare(request),
            deadline=deadline,
            recorder=recorder,
            mailbox=mailbox,
        )

    def _planned(self, stage: Stage) -> Planned | AlreadyEnded:
        """Plan and open; while another turn speaks in the channel, wait for it to end."""
        clock = self._tools.clock
        patience = Deadline(clock.monotonic() + self._rules.channel_wait_s)
        while True:
            planned = self._plan(stage.request, stage.turn_id)
            if isinstance(planned, AlreadyEnded) or not _is_busy(planned):
                break
            if patience.earlier(stage.deadline).passed(clock.monotonic()):
                break
            if clock.wait(stage.mailbox.arrived, CHANNEL_POLL_S):
                break
        if isinstance(planned, Planned):
            _note_start(planned, stage)
        return planned

    def _begin(self, planned: Planned, stage: Stage) -> TurnState:
        return TurnState.begin(
            planned.plan,
            admission=planned.opened.admission,
            policy=replace(self._rules.policy, content_filter=planned.content_filter),
            audience=stage.request.audience,
            resting=planned.resting,
        )

    # ── after ───────────────────────────────────────────────────────────────────────────────

    def _ended(
        self, result: TurnResult, finish: Finish, stage: Stage, perform: PerformStep
    ) -> TurnResult:
        raises = finish.say is Say.RAISE
        if not raises:
            self._finalized(result, stage)
        _note_end(result, finish.settle, stage, raised=raises)
        self._close(result, finish.settle, stage, perform)
        if raises:
            raise TurnFailed(_why(result), status=result.status.value)
        return result

    def _crashed(
        self, error: Exception, stage: Stage, perform: PerformStep | None, settle: Settle
    ) -> TurnResult:
        """The end of a turn that a bug or a dead store ended: the same way as any failure."""
        failure = Failure(
            kind=FailureKind.STORE if isinstance(error, StoreError) else FailureKind.CRASH,
            message=redact(f"{type(error).__name__}: {error}"),
            rule="thrown",
        )
        stage.recorder.note(EffectFailed(effect="turn", cause=failure.message))
        thrown = StreamResult(status=TurnStatus.ERROR, failure=failure)
        result = TurnResult(
            status=TurnStatus.ERROR, turn_id=stage.turn_id, stream_results=(thrown,)
        )
        self._conclude.crash(error, stage)
        raises = stage.request.audience is Audience.CALLER
        if not raises:
            self._finalized(result, stage)
        _note_end(result, settle, stage, raised=raises)
        if perform is not None:
            self._close(result, settle, stage, perform)
        if raises:
            raise TurnFailed(_why(result), status=result.status.value) from error
        return result

    def _finalized(self, result: TurnResult, stage: Stage) -> TurnResult:
        """Tell the sink how the turn ended, once; its trouble does not change the result."""
        stage.recorder.note(Finalized(status=result.status.value))
        try:
            stage.sink.finalize(result)
        except Exception as error:  # noqa: BLE001 - a host's bug must not take the answer away
            stage.recorder.note(EffectFailed(effect="finalize", cause=redact(str(error))))
        return result

    def _close(
        self, result: TurnResult, settle: Settle, stage: Stage, perform: PerformStep
    ) -> None:
        closing = Closing(
            turn_id=stage.turn_id,
            epoch=perform.epoch,
            server=stage.request.server,
            channel_id=stage.request.channel_id,
            settle=settle,
            result=result,
            fates=perform.poster.fates(),
            bookings=tuple(perform.unbooked),
            entries=stage.recorder.take(),
        )
        cause = self._settle(closing)
        if cause is not None:
            stage.recorder.note(EffectFailed(effect="settle", cause=redact(cause)))

    def _clean_up(self, sink: Sink, recorder: Recorder) -> None:
        """Release the sink's resources, once; its trouble does not hide how the turn ended."""
        try:
            sink.cleanup()
        except Exception as error:  # noqa: BLE001 - nothing can be done about it any more
            recorder.note(EffectFailed(effect="cleanup", cause=redact(str(error))))
        recorder.note(CleanedUp())
        self._settle.later(recorder.take())


CHANNEL_POLL_S = 0.25


def _is_busy(planned: Planned) -> bool:
    admission = planned.opened.admission
    return isinstance(admission, Refused) and admission.kind is RefusalKind.CHANNEL_BUSY


def _release(planned: Planned) -> Settle:
    admission = planned.opened.admission
    if isinstance(admission, Granted) and admission.reservation is not None:
        return Release(reservation=admission.reservation)
    return Nothing()


def _note_start(planned: Planned, stage: Stage) -> None:
    admission = planned.opened.admission
    stage.recorder.note(
        TurnStarted(
            route=planned.plan.route,
            attempts=planned.plan.attempts,
            server_route=planned.plan.server_route.value,
            audience=stage.request.audience.value,
            resting=tuple(sorted(planned.resting)),
        )
    )
    if isinstance(admission, Refused):
        stage.recorder.note(
            TurnRefused(
                kind=admission.kind.value,
                where="planned route",
                already_said=admission.already_said,
                cause=admission.cause,
            )
        )
    elif admission.reservation is not None:
        stage.recorder.note(QuotaReserved(trigger_key=admission.reservation.trigger_key))


def _note_end(result: TurnResult, settle: Settle, stage: Stage, *, raised: bool) -> None:
    if not isinstance(settle, Nothing):
        stage.recorder.note(
            QuotaSettled(
                trigger_key=settle.reservation.trigger_key, committed=isinstance(settle, Commit)
            )
        )
    stage.recorder.note(
        TurnEnded(
            status=result.status.value,
            responses=len(result.persona_responses),
            delivered_by_tool=result.delivered_by_tool,
            kept=tuple(delivery.message_id for delivery in result.delivered),
            success_model=result.success_model.name if result.success_model else None,
            raised=raised,
        )
    )


def _why(result: TurnResult) -> str:
    """The turn's end in a sentence, for an exception; nothing of it is secret."""
    last = result.failures[-1].failure if result.failures else None
    if last is None and result.stream_results:
        last = result.stream_results[-1].failure
    said = f": {last.kind.value}: {last.message}" if last else ""
    return f"turn {result.turn_id} ended with {result.status.value}{said}"
