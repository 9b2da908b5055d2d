"""The effects of one turn's steps: each performs a step and returns what to tell the turn."""

from datetime import datetime

from turnkeeper.application.open_server_route import OpenServerRoute as Open
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.key_ring import KeyRing, NoneFree
from turnkeeper.application.ports.ledger import Ledger
from turnkeeper.application.ports.providers import Providers
from turnkeeper.application.ports.spool import NoSpool, Spool
from turnkeeper.application.ports.tools import NoTools, Tools
from turnkeeper.application.ports.turn_store import Booked, Opened, TurnStore
from turnkeeper.application.poster import Poster
from turnkeeper.application.prepare_context import PrepareContext
from turnkeeper.application.run_invocation import RunInvocation as Run
from turnkeeper.application.stage import Stage
from turnkeeper.domain import events
from turnkeeper.domain.adjust import AsIs
from turnkeeper.domain.admission import Granted, Reservation
from turnkeeper.domain.answers import (
    Heard,
    Leased,
    NoKey,
    Prepared,
    RouteFailed,
    RouteOpened,
    RouteRefused,
    Signal,
    Unpreparable,
    Waited,
)
from turnkeeper.domain.choice import booked_as
from turnkeeper.domain.course import Course
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.finish import Finish, Nothing, Release, Settle
from turnkeeper.domain.frozen import frozen, maker
from turnkeeper.domain.outcome import (
    FAILED,
    Answered,
    Crashed,
    Delivery,
    Empty,
    Failed,
    Interrupted,
    Outcome,
    Stopped,
    StreamResult,
    TimedOut,
    Unreachable,
    ids_of,
)
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.redact import redact
from turnkeeper.domain.rotation import Booking, BookNeutral, Lease
from turnkeeper.domain.steps import (
    LeaseKey,
    OpenServerRoute,
    Prepare,
    RunInvocation,
    TurnState,
    Wait,
)
from turnkeeper.domain.stream import FinishReason

_new_key_leased = maker(events.KeyLeased)
_new_key_booked = maker(events.KeyBooked)
_new_invocation_ended = maker(events.InvocationEnded)
_new_attempt_prepared = maker(events.AttemptPrepared)
_new_leased = maker(Leased)
_new_booked = maker(Booked)

MAX_MODEL_CHARS = 128


@frozen
class StepTools:
    """What performing steps needs; shared by all turns."""

    keys: KeyRing
    turns: TurnStore
    ledger: Ledger
    providers: Providers
    clock: Clock
    context: PrepareContext
    run: Run
    open_server_route: Open
    unreachable_s: float = 900.0
    tools: Tools = NoTools()
    spool: Spool = NoSpool()


class PerformStep:
    """Performs the steps of one turn; used by the turn's own thread."""

    def __init__(self, tools: StepTools, stage: Stage, opened: Opened) -> None:
        self._tools = tools
        self._stage = stage
        self._monotonic, self._until_s = tools.clock.monotonic, stage.deadline.at_s
        self._opened = opened
        self._held_for_route: Reservation | None = None
        self._note = stage.recorder.note
        self._invocations = 0
        self.epoch = opened.epoch
        self.poster = Poster(
            stage=stage, ledger=tools.ledger, epoch=opened.epoch, spool=tools.spool
        )
        self.unbooked: list[Booked] = []
        self._lent: Lease | None = None
        self.standing: tuple[Delivery, ...] = ()

    def heard(self, state: TurnState) -> TurnState:
        """The state, told of a signal that has come."""
        signal = self._stage.mailbox.signal
        if signal is None:
            if self._monotonic() < self._until_s:
                return state
            signal = Signal.DEADLINE_PASSED
        if state.course.signal is not None:
            return state
        self._note(events.SignalHeard(signal=signal.value))
        self.give_back()
        return state.told(Heard(signal))

    def give_back(self) -> None:
        """A key that was lent and is not used after all: nothing is known of it."""
        if self._lent is not None:
            self.unbooked.append(_new_booked(lease=self._lent, booking=BookNeutral()))
            self._lent = None

    def prepare(self, step: Prepare, state: TurnState) -> Prepared | Unpreparable:
        """Make an attempt ready."""
        attempt = state.attempt(step.attempt_no)
        answer: Prepared | Unpreparable
        try:
            if attempt.cause is None:
                self._tools.providers.find(attempt.provider)
            course = state.course
            answer = (
                self._prepared_again(attempt, course)
                if course.earlier
                else self._tools.context(attempt, self._stage.request)
            )
        except Exception as error:  # noqa: BLE001 - a plug-in's bug ends the attempt, not the turn
            answer = Unpreparable(attempt_no=step.attempt_no, cause=redact(str(error)))
        if isinstance(answer, Unpreparable):
            self._note(events.AttemptUnpreparable(attempt_no=step.attempt_no, cause=answer.cause))
            return answer
        self._note(
            _new_attempt_prepared(
                attempt_no=step.attempt_no,
                input_tokens=answer.input_tokens,
                max_output_tokens=answer.max_output_tokens,
                dropped=answer.dropped,
                least_tokens=answer.least_tokens,
                has_media=answer.has_media,
            )
        )
        return answer

    def _prepared_again(self, attempt: Attempt, course: Course) -> Prepared | Unpreparable:
        """For a turn that is run again, as nothing came."""
        empty = course.earlier[-1]
        calls = empty.ran.stream_results
        return self._tools.context(
            attempt,
            self._stage.request,
            retries=course.retries,
            empty_finish=empty.finish if isinstance(empty, Empty) else None,
            empty_usage=calls[-1].usage if calls else None,
        )

    def lease(self, step: LeaseKey, state: TurnState) -> Leased | NoKey:
        """Lend a key."""
        attempt = state.attempt(step.attempt_no)
        try:
            lent = self._tools.keys.lease(
                attempt.owner, attempt.provider, model=attempt.model.name, without=step.without
            )
        except StoreError as error:
            lent = NoneFree(next_in_s=None, cause=redact(str(error)))
        if isinstance(lent, NoneFree):
            return self._no_key(step, lent)
        self._note(
            _new_key_leased(
                attempt_no=step.attempt_no,
                key_id=lent.key_id,
                is_main=lent.is_main,
                is_probe=lent.is_probe,
                without=tuple(sorted(step.without)) if step.without else (),
            )
        )
        self._lent = lent
        return _new_leased(attempt_no=step.attempt_no, lease=lent)

    def wait(self, step: Wait) -> Waited | Heard:
        """Wait, unless a signal or the deadline comes first."""
        clock = self._tools.clock
        now_s = clock.monotonic()
        for_s = min(step.until_s, self._stage.deadline.at_s) - now_s
        clock.wait(self._stage.mailbox.arrived, max(0.0, for_s))
        self._note(
            events.Waited(
                attempt_no=step.attempt_no,
                for_s=max(0.0, for_s),
                why=step.why,
                until_s=self._stage.recorder.at_s(step.until_s),
            )
        )
        signal = self._stage.mailbox.signal
        if signal is None and self._stage.deadline.passed(clock.monotonic()):
            signal = Signal.DEADLINE_PASSED
        if signal is None:
            return Waited()
        self._note(events.SignalHeard(signal=signal.value))
        return Heard(signal)

    def run(self, step: RunInvocation, state: TurnState) -> Outcome:
        """Run an invocation."""
        number, self._invocations = self._invocations, self._invocations + 1
        attempt = state.attempt(step.attempt_no)
        outcome = self._tools.run(step, attempt, self._stage, self.poster, number)
        if isinstance(step.adjust, AsIs) and not step.kept:
            self._tools.context.learn(attempt, step.prepared, outcome)
        self.standing = outcome.ran.delivered
        ended_at_s = self._stage.recorder.at_s(outcome.ran.ended_at_s)
        self._note(_ended(outcome, number, ended_at_s))
        return outcome

    def open(self, step: OpenServerRoute) -> RouteOpened | RouteRefused | RouteFailed:
        """Ask the server for its models."""
        stage, rests = self._stage, self._opened.resting
        answer = self._tools.open_server_route(
            stage.request, stage.turn_id, start_no=step.start_no, rests=rests
        )
        self._note(_asked(answer, self._tools.clock.now()))
        if isinstance(answer, RouteOpened) and answer.reservation is not None:
            self._held_for_route = answer.reservation
            self._note(events.QuotaReserved(trigger_key=answer.reservation.trigger_key))
        return answer

    def release(self) -> Settle:
        """Give back the unit that is held, for a turn that was thrown out of its course."""
        admission = self._opened.admission
        held = admission.reservation if isinstance(admission, Granted) else None
        held = self._held_for_route or held
        return Release(reservation=held) if held else Nothing()

    def book(self, state: TurnState) -> TurnState:
        """Note what the last outcome means for its key and model; the state is as it was."""
        booking, ran = state.booking, state.outcomes[-1].ran
        if booking is not None and ran.lease is not None:
            self._book_key(booking, ran.attempt_no, ran.lease, keeps_lease=state.keeps_lease)
        if state.is_answered:  # so it books with its end, and nothing rests
            return state
        if not isinstance(state.next_step(), Finish):
            self._book_now()
        self._rest_model(state)
        self._remember_unreachable(state)
        return state

    def _book_key(
        self, booking: Booking, attempt_no: int, lease: Lease, *, keeps_lease: bool
    ) -> None:
        word, error_class, rests, rest_s = booked_as(booking)
        self._note(
            _new_key_booked(
                attempt_no=attempt_no,
                invocation_no=self._invocations - 1,
                key_id=lease.key_id,
                booking=word,
                error_class=error_class,
                rests=rests,
                rest_s=rest_s,
            )
        )
        self.unbooked.append(_new_booked(lease=lease, booking=booking, keeps_lease=keeps_lease))
        if not keeps_lease:
            self._lent = None

    def _book_now(self) -> None:
        while self.unbooked:
            booked = self.unbooked[0]
            try:
                self._tools.keys.book(booked.lease, booked.booking, keeps_lease=booked.keeps_lease)
            except StoreError as error:  # it goes with the turn's end, or later
                self._note(events.EffectFailed(effect="booking", cause=redact(str(error))))
                return
            self.unbooked.pop(0)

    def _rest_model(self, state: TurnState) -> None:
        for_s = state.model_rest_s
        if for_s <= 0:
            return
        outcome = state.outcomes[-1]
        attempt = state.attempt(outcome.ran.attempt_no)
        kind = outcome.failure.kind.value if isinstance(outcome, Failed | TimedOut) else ""
        try:
            self._tools.turns.rest(attempt.rest_scope, for_s=for_s)
        except StoreError as error:
            self._note(events.EffectFailed(effect="model rest", cause=redact(str(error))))
            return
        self._note(events.ModelRested(attempt_no=attempt.number, for_s=for_s, cause=kind))

    def _remember_unreachable(self, state: TurnState) -> None:
        if not isinstance(state.outcomes[-1], Unreachable):
            return
        request = self._stage.request
        try:
            self._tools.turns.mark_unreachable(
                request.server, request.channel_id, for_s=self._tools.unreachable_s
            )
        except StoreError as error:
            self._note(events.EffectFailed(effect="unreachable mark", cause=redact(str(error))))

    def _no_key(self, step: LeaseKey, none: NoneFree) -> NoKey:
        self._note(
            events.NoKeyLeft(
                attempt_no=step.attempt_no,
                next_in_s=none.next_in_s,
                cause=none.cause,
                without=tuple(sorted(step.without)),
            )
        )
        now_s = self._tools.clock.monotonic()
        next_at_s = None if none.next_in_s is None else now_s + none.next_in_s
        return NoKey(attempt_no=step.attempt_no, next_at_s=next_at_s, now_s=now_s, cause=none.cause)


def _asked(
    answer: RouteOpened | RouteRefused | RouteFailed, now: datetime
) -> events.ServerRouteAsked:
    match answer:
        case RouteOpened(attempts=attempts, resting=resting):
            rests = tuple(sorted(resting))
            return events.ServerRouteAsked(answer="opened", attempts=attempts, resting=rests)
        case RouteRefused(kind=kind, refusal=refusal):
            next_in_s = refusal.next_in_s(now) if refusal else None
            return events.ServerRouteAsked(answer="refused", cause=kind.value, next_in_s=next_in_s)
        case RouteFailed(cause=cause):
            return events.ServerRouteAsked(answer="failed", cause=cause)


def _ended(outcome: Outcome, invocation_no: int, ended_at_s: float) -> events.InvocationEnded:
    ran = outcome.ran
    usage = ran.usage
    return _new_invocation_ended(
        attempt_no=ran.attempt_no,
        invocation_no=invocation_no,
        outcome=type(outcome).__name__,
        failure=outcome.failure if isinstance(outcome, FAILED) else None,
        detail=_detail_of(outcome),
        reply_chars=len(ran.reply_text),
        delivered_by_tool=isinstance(outcome, Answered) and outcome.delivered_by_tool,
        kept=ids_of(ran.delivered),
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        response_model=_response_model(ran.stream_results),
        ended_at_s=ended_at_s,
    )


def _response_model(results: tuple[StreamResult, ...]) -> str | None:
    for one in reversed(results):
        if one.serving and one.serving.model:
            return redact(one.serving.model, limit=MAX_MODEL_CHARS)
    return None


def _detail_of(outcome: Outcome) -> str:
    match outcome:
        case Answered():
            results = outcome.ran.stream_results
            return _said(results[-1].finish) if results else ""
        case Empty(finish=finish):
            return _said(finish)
        case Stopped(reason=reason):
            return reason.value
        case TimedOut(phase=phase):
            return phase.value
        case Unreachable(code=code):
            return code
        case Failed() | Interrupted() | Crashed():
            return ""


def _said(finish: FinishReason | None) -> str:
    return finish._value_ if finish else ""
