"""The use case: run one turn to its one end. Read `_steps` first; it is the product."""

from typing import assert_never

from turnkeeper.application.end_turn import EndTurn
from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.perform_step import PerformStep, StepTools
from turnkeeper.application.plan_turn import Planned, PlanTurn
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.sink import Sink
from turnkeeper.application.ports.turn_store import AlreadyEnded
from turnkeeper.application.recorder import Recorder
from turnkeeper.application.stage import Stage
from turnkeeper.domain.admission import Admission, RefusalKind, Refused
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import AlreadyRunning, StepLimitExceeded
from turnkeeper.domain.events import (
    EffectFailed,
    QuotaReserved,
    TurnRefused,
    TurnStarted,
)
from turnkeeper.domain.finish import Finish, Nothing
from turnkeeper.domain.frozen import frozen, maker, replace
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

_new_turn_started = maker(TurnStarted)
_new_deadline = maker(Deadline)
_new_stage = maker(Stage)

MAX_STEPS = 1000
"""More than any plan can take; beyond it the state machine is broken."""


@frozen
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
        end: EndTurn,
        rules: TurnRules,
    ) -> None:
        self._plan = plan
        self._tools = tools
        self._end = end
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
            self._end.clean_up(sink, recorder)

    def _turn(self, stage: Stage) -> TurnResult:
        try:
            planned = self._planned(stage)
        except AlreadyRunning:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, people are told once
            return self._end.crashed(error, stage, None, Nothing())
        if isinstance(planned, AlreadyEnded):
            return self._end.again(planned.result, stage)
        if tools_off := planned.draft.tools_off:
            stage = replace(stage, request=stage.request.without_tools(tools_off))
        perform = PerformStep(self._tools, stage, planned.opened)
        try:
            state, finish = self._steps(self._begin(planned, stage), perform)
        except Exception as error:  # noqa: BLE001 - thrown errors end as returned ones do
            perform.give_back()
            return self._end.crashed(error, stage, perform, perform.release())
        except BaseException:
            self._end.abandoned(stage, perform)
            raise
        return self._end(finish, state, stage, perform)

    def _steps(self, state: TurnState, perform: PerformStep) -> tuple[TurnState, Finish]:
        """One step after the other until the turn is over."""
        for _ in range(MAX_STEPS):
            state = perform.heard(state)
            step = state.next_step()
            match step:
                case Prepare():
                    state = state.told(perform.prepare(step, state))
                case LeaseKey():
                    state = state.told(perform.lease(step, state))
                case RunInvocation():
                    state = perform.book(state.after(perform.run(step, state)))
                case Finish():
                    return state, step
                case Wait():
                    state = state.told(perform.wait(step))
                case OpenServerRoute():
                    state = state.told(perform.open(step))
                case unknown:
                    assert_never(unknown)
        raise StepLimitExceeded(f"the turn did not end within {MAX_STEPS} steps")

    # ── before ──────────────────────────────────────────────────────────────────────────────

    def _set_the_stage(
        self, request: TurnRequest, sink: Sink, recorder: Recorder, mailbox: Mailbox
    ) -> Stage:
        tools = self._tools
        deadline = _new_deadline(tools.clock.monotonic() + self._rules.limits.turn_s)
        # A `TellsTroubles`; isinstance takes fifty calls more for a protocol.
        if hasattr(sink, "tell_troubles"):
            sink.tell_troubles(lambda what, done: _note_trouble(what, done, recorder))
        return _new_stage(
            request=request.with_tools(tools.tools.offered(request)),
            sink=sink,
            target=sink.prepare(request),
            deadline=deadline,
            recorder=recorder,
            mailbox=mailbox,
        )

    def _planned(self, stage: Stage) -> Planned | AlreadyEnded:
        """Plan and open; while another turn speaks in the channel, wait for it to end."""
        planned = self._plan(stage.request, stage.turn_id)
        return self._once_free(planned, stage) if _is_busy(planned) else planned

    def _once_free(self, planned: Planned | AlreadyEnded, stage: Stage) -> Planned | AlreadyEnded:
        clock = self._tools.clock
        until_s = min(clock.monotonic() + self._rules.channel_wait_s, stage.deadline.at_s)
        while _is_busy(planned) and clock.monotonic() < until_s:
            # An end that is written now may be of one of those that held the channel.
            if not self._end.catch_up() and clock.wait(stage.mailbox.arrived, CHANNEL_POLL_S):
                return planned
            planned = self._plan(stage.request, stage.turn_id)
        return planned

    def _policy(self, planned: Planned) -> TurnPolicy:
        policy, content_filter = self._rules.policy, planned.draft.content_filter
        if policy.content_filter is content_filter:
            return policy
        return replace(policy, content_filter=content_filter)

    def _begin(self, planned: Planned, stage: Stage) -> TurnState:
        plan, opened, policy = planned.draft.plan, planned.opened, self._policy(planned)
        resting = plan.resting(opened.resting)
        request = stage.request
        audience = request.hears
        stage.recorder.note(
            _new_turn_started(
                route=plan.route,
                attempts=plan.attempts,
                server_route=plan.server_route._value_,
                audience=audience._value_,
                resting=tuple(sorted(resting)) if resting else (),
                policy=policy,
                server_id=request.server_id,
                channel_id=request.channel_id,
                user_id=request.user_id,
            )
        )
        _note_admission(opened.admission, stage.recorder, self._tools.clock)
        return TurnState.begin(
            plan,
            admission=opened.admission,
            policy=policy,
            audience=audience,
            resting=resting,
        )


CHANNEL_POLL_S = 0.25


def _is_busy(planned: Planned | AlreadyEnded) -> bool:
    if isinstance(planned, AlreadyEnded):
        return False
    admission = planned.opened.admission
    return isinstance(admission, Refused) and admission.kind is RefusalKind.CHANNEL_BUSY


def _note_trouble(what: str, done: str, recorder: Recorder) -> None:
    recorder.note(EffectFailed(effect="sink", cause=redact(f"{what}; done: {done}")))


def _note_admission(admission: Admission, recorder: Recorder, clock: Clock) -> None:
    if isinstance(admission, Refused):
        recorder.note(
            TurnRefused(
                kind=admission.kind.value,
                where="planned route",
                already_said=admission.already_said,
                cause=admission.cause,
                next_in_s=admission.next_in_s(clock.now()),
            )
        )
    elif admission.reservation is not None:
        recorder.note(QuotaReserved(trigger_key=admission.reservation.trigger_key))
