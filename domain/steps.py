"""What the turn does next. A pure decision: answers and outcomes go in, one step comes out.

`TurnState.next_step` decides, `after` and `told` are the only transitions. The picture:

    Choosing ──Prepare──> Leasing ──LeaseKey──> Ready ──RunInvocation──> (after)
       ▲                     ▲ │ NoKey            ▲                         │
       │                     │ └──> Waiting ──Wait┘ another key, same key ──┤
       └───────────────── the next attempt, or OpenServerRoute ─────────────┤
                                                           Over ──Finish────┘
"""

from functools import lru_cache
from typing import Any, assert_never

from turnkeeper.domain import retry
from turnkeeper.domain.adjust import Adjust, AsIs, Repeat
from turnkeeper.domain.admission import Admission, Granted, Refused
from turnkeeper.domain.answers import (
    Answer,
    Heard,
    Leased,
    NoKey,
    Prepared,
    RouteFailed,
    RouteOpened,
    RouteRefused,
    RouteWithheld,
    Signal,
    Unpreparable,
    Waited,
)
from turnkeeper.domain.course import Course
from turnkeeper.domain.failure import REACTIONS, CooldownScope, Failure, FailureKind
from turnkeeper.domain.finish import Finish, finish
from turnkeeper.domain.frozen import frozen, maker, replace
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import (
    ENDED_BY_ITSELF,
    Answered,
    Crashed,
    Delivery,
    Empty,
    Failed,
    Interrupted,
    Outcome,
    Stopped,
    TimedOut,
    TimeoutPhase,
    ToolRecord,
    Unreachable,
)
from turnkeeper.domain.phase import Choosing, Leasing, Over, Phase, Ready, Waiting
from turnkeeper.domain.plan import Attempt, Plan, ServerRoute
from turnkeeper.domain.policy import ContentFilterPolicy, TurnPolicy
from turnkeeper.domain.rotation import Booking, BookNeutral, BookSuccess, KeyId, Lease, booking_of
from turnkeeper.domain.turn import AttemptFailure

_new_book_success = lru_cache(maxsize=1024)(BookSuccess)  # of each model
_new_ready = maker(Ready)
_new_leasing = maker(Leasing)
_new_course = maker(Course)

_CHOOSING, _OVER = Choosing(), Over()
_MAY_OPEN = ServerRoute.MAY_OPEN  # looking it up takes as long as a call


@frozen(kw_only=False)
class Prepare:
    """Make an attempt ready: its provider's settings, and the conversation for its model."""

    attempt_no: int


_new_prepare = lru_cache(maxsize=64)(Prepare)  # of a turn's first attempts


@frozen(kw_only=False)
class LeaseKey:
    """Lend a key that is none of `without`."""

    attempt_no: int
    without: frozenset[KeyId]


_new_lease_key = lru_cache(maxsize=64)(LeaseKey)


KEY_RESTS = "its key is coming back"
NOTHING_CAME = "nothing came; the turn is run again"


@frozen
class Wait:
    """Wait until then, by the monotonic clock, or until a signal is heard."""

    attempt_no: int
    until_s: float
    why: str


@frozen
class RunInvocation:
    """Run an attempt with a key.

    Attributes:
        attempt_no: Which attempt.
        lease: The key, or None where none is needed.
        prepared: What it sends.
        take_back: What an earlier invocation had posted; gone before this one's first post.
        adjust: How this invocation differs from the one before.
        kept: How that one differed from what was prepared already, oldest first.
        tool_results: The turn's tool runs so far.
        another_may_answer: Whether anything is left to try if this one fails.
    """

    attempt_no: int
    lease: Lease | None
    prepared: Prepared
    take_back: tuple[Delivery, ...] = ()
    adjust: Adjust = AsIs()
    kept: tuple[Adjust, ...] = ()
    tool_results: tuple[ToolRecord, ...] = ()
    another_may_answer: bool = False


_new_run_invocation = maker(RunInvocation)


@frozen
class OpenServerRoute:
    """Ask whether the server lends its models; their numbers begin at `start_no`."""

    start_no: int


Step = Prepare | LeaseKey | Wait | RunInvocation | OpenServerRoute | Finish


@frozen(kw_only=False)
class TurnState:
    """All that the next decision depends on.

    Attributes:
        course: What stays from step to step, where nothing goes wrong.
        queue: Numbers of the attempts that were not begun yet, in the order of `plan_order`.
        at: Where the turn stands.
        outcomes: What ran, in order.
    """

    course: Course
    queue: tuple[int, ...]
    at: Phase
    outcomes: tuple[Outcome, ...] = ()

    @classmethod
    def begin(
        cls,
        plan: Plan,
        *,
        admission: Admission = Granted(),
        policy: TurnPolicy = TurnPolicy(),
        audience: Audience = Audience.PERSON,
        resting: frozenset[int] = frozenset(),
    ) -> "TurnState":
        """The state in which nothing was tried yet."""
        numbers = tuple(range(len(plan.attempts)))
        order = _deferred(numbers, resting) if resting else numbers
        refusal = admission if isinstance(admission, Refused) else None
        course = _new_course(
            plan=plan,
            policy=policy,
            audience=audience,
            plan_order=order,
            may_open=plan.server_route is _MAY_OPEN,
            reservation=admission.reservation if isinstance(admission, Granted) else None,
            refusal=refusal,
        )
        return _new_state(course, order, _OVER if refusal else _CHOOSING)

    # ── the decision ────────────────────────────────────────────────────────────────────────

    def next_step(self) -> Step:
        """Decide. The same state always gives the same step."""
        at = self.at
        match at:
            case Choosing() if self.queue:
                return _new_prepare(self.queue[0])
            case Leasing():
                return _new_lease_key(at.prepared.attempt_no, at.without)
            case Ready():
                return self._invocation(at)
            case Over():
                return self._end()
            case Choosing() if self.course.may_open and self._may_open_now():
                return OpenServerRoute(start_no=len(self.plan.attempts))
            case Choosing():
                return self._end()
            case Waiting(then=then, until_s=until_s):
                return Wait(attempt_no=then.prepared.attempt_no, until_s=until_s, why=KEY_RESTS)
            case unknown:
                assert_never(unknown)

    def _may_open_now(self) -> bool:
        """After failures and time-outs; after an empty answer only where it is set so."""
        if self.outcomes and isinstance(self.outcomes[-1], Empty):
            return self.policy.empty_opens_server_route
        return True

    def _end(self) -> Wait | Finish:
        """The end; but a turn in which nothing came is run again, a few times, after a moment."""
        course, outcomes = self.course, self.outcomes
        last = outcomes[-1] if outcomes else None
        if not isinstance(last, Empty) or course.signal is not None:
            return finish(course, outcomes or course.earlier)
        if course.retries >= course.policy.empty_retries:
            return finish(course, outcomes)
        until_s = last.ran.ended_at_s + course.policy.empty_retry_s
        return Wait(attempt_no=last.ran.attempt_no, until_s=until_s, why=NOTHING_CAME)

    def _invocation(self, ready: Ready) -> RunInvocation:
        earlier = self.outcomes or self.course.earlier
        last = earlier[-1].ran if earlier else None
        return _new_run_invocation(
            attempt_no=ready.prepared.attempt_no,
            lease=ready.lease,
            prepared=ready.prepared,
            take_back=last.superseded if last else (),
            adjust=ready.adjust,
            kept=ready.kept,
            tool_results=last.tool_results if last else (),
            another_may_answer=self.another_may_answer,
        )

    @property
    def plan(self) -> Plan:
        """What may be tried."""
        return self.course.plan

    @property
    def policy(self) -> TurnPolicy:
        """How hard to try."""
        return self.course.policy

    @property
    def ran(self) -> tuple[Outcome, ...]:
        """All that ran, before the turn was run again too."""
        return self.course.earlier + self.outcomes

    @property
    def another_may_answer(self) -> bool:
        """Whether another model may still be tried."""
        return bool(self.queue) or self.course.may_open

    @property
    def is_answered(self) -> bool:
        """Whether its next step is sure to be its end, since the last outcome is an answer."""
        return bool(self.outcomes) and isinstance(self.outcomes[-1], Answered)

    @property
    def booking(self) -> Booking | None:
        """What the last outcome books on the key that it used; None where it used none."""
        if not self.outcomes:
            return None
        last = self.outcomes[-1]
        ran = last.ran
        if ran.lease is None:
            return None
        model = self.attempt(ran.attempt_no).model.name
        match last:
            case Answered() | Empty():
                return _new_book_success(model=model)
            case Failed(failure=failure):
                return booking_of(failure, model=model, cools=not self._uses_lease_again)
            case Crashed() | Stopped() | Interrupted() | Unreachable() | TimedOut():
                return BookNeutral()
            case unknown:
                assert_never(unknown)

    @property
    def model_rest_s(self) -> float:
        """For how long the last outcome puts its model behind the others; 0 for not at all."""
        match self.outcomes[-1] if self.outcomes else None:
            case Answered() | TimedOut(phase=TimeoutPhase.TURN):
                return 0.0
            case Failed(failure=failure) | TimedOut(failure=failure):
                reaction = REACTIONS[failure.kind]
                return reaction.rest_s if reaction.rests is CooldownScope.MODEL else 0.0
            case _:
                return 0.0

    @property
    def keeps_lease(self) -> bool:
        """Whether booking the last outcome does not give its key back: it is used again at once
        without a new lease, or had been given back before it was used again."""
        return self.course.lease_is_back or self._uses_lease_again

    @property
    def _uses_lease_again(self) -> bool:
        at = self.at
        return (
            isinstance(at, Ready)
            and bool(self.outcomes)
            and at.lease is not None
            and at.lease == self.outcomes[-1].ran.lease
        )

    def attempt(self, number: int) -> Attempt:
        """The attempt of that number."""
        return self.course.plan.attempts[number]

    # ── transitions ─────────────────────────────────────────────────────────────────────────

    def told(self, answer: Answer) -> "TurnState":
        """The state once a step was answered or a signal heard."""
        match answer:
            case Prepared():
                return self._prepared(answer)
            case Leased():
                return self._leased(answer)
            case Heard(signal=signal):
                return self._heard(signal)
            case Unpreparable(attempt_no=number, cause=cause):
                failure = Failure(kind=FailureKind.UNPREPARABLE, message=cause)
                return self._gave_up(number, failure)
            case NoKey():
                return self._no_key(answer)
            case Waited() if isinstance(self.at, Waiting):
                return self._at(self.at.then)
            case Waited():
                return self._again()
            case RouteOpened(attempts=attempts, reservation=reservation, resting=resting):
                opened = _deferred(tuple(attempt.number for attempt in attempts), resting)
                plan = self.plan.longer_by(attempts)
                course = replace(
                    self.course,
                    plan=plan,
                    plan_order=self.course.plan_order + opened,
                    may_open=False,
                    reservation=reservation,
                )
                return replace(self, course=course, queue=opened)
            case RouteRefused(refusal=refusal):
                return self._with(may_open=False, refusal=refusal)
            case RouteWithheld() | RouteFailed():
                return self._with(may_open=False)
            case unknown:
                assert_never(unknown)

    def after(self, outcome: Outcome) -> "TurnState":
        """The state once an invocation has ended."""
        outcomes = (*self.outcomes, outcome)
        if isinstance(outcome, ENDED_BY_ITSELF):
            return _new_state(self.course, self.queue, _OVER, outcomes)
        seen = replace(self, outcomes=outcomes)
        match outcome:
            case Empty(finish=reason):
                text = f"nothing came; finish {reason.value if reason else 'unsaid'}"
                failed = seen._noted(outcome, Failure(kind=FailureKind.EMPTY, message=text))
                return failed._at(_CHOOSING if self.policy.empty_fails_over else _OVER)
            case TimedOut(phase=phase, failure=failure):
                failed = seen._noted(outcome, failure)
                over = phase in (TimeoutPhase.TURN, TimeoutPhase.TOOLS)
                return failed._at(_OVER if over else _CHOOSING)
            case Crashed(failure=failure):
                return seen._noted(outcome, failure)._at(_CHOOSING)
            case Failed(failure=failure):
                return seen._noted(outcome, failure)._reacted(outcome)
            case unknown:
                assert_never(unknown)

    def _at(self, at: Phase) -> "TurnState":
        return _new_state(self.course, self.queue, at, self.outcomes)

    def _with(self, **changed: Any) -> "TurnState":
        """The state with another course."""
        return replace(self, course=replace(self.course, **changed))

    def _again(self) -> "TurnState":
        """The same plan from its beginning; keys and invocations are counted anew."""
        course = self.course
        earlier, retries = course.earlier + self.outcomes, course.retries + 1
        again = replace(course, earlier=earlier, retries=retries)
        return _new_state(again, course.plan_order, _CHOOSING)

    def _heard(self, signal: Signal) -> "TurnState":
        """The first signal counts; a turn that is over only remembers it."""
        if self.course.signal is not None:
            return self
        return self._with(signal=signal)._at(_OVER)

    def _prepared(self, prepared: Prepared) -> "TurnState":
        number = prepared.attempt_no
        needs_key = self.attempt(number).needs_key
        return _new_state(
            self.course,
            tuple(filter(number.__ne__, self.queue)),
            _new_leasing(prepared=prepared)
            if needs_key
            else _new_ready(prepared=prepared, lease=None),
            self.outcomes,
        )

    def _leased(self, leased: Leased) -> "TurnState":
        at = self.at
        assert isinstance(at, Leasing)
        state = self._with(lease_is_back=False) if self.course.lease_is_back else self
        return state._at(_new_ready(prepared=at.prepared, lease=leased.lease, kept=at.kept))

    def _gave_up(self, number: int, failure: Failure) -> "TurnState":
        """An attempt that is not run."""
        queue = tuple(filter(number.__ne__, self.queue))
        noted = self._with_failure(number, failure)
        return replace(noted, queue=queue, at=_CHOOSING)

    def _no_key(self, answer: NoKey) -> "TurnState":
        at, last = self.at, self._last_of(answer.attempt_no)
        assert isinstance(at, Leasing)
        if isinstance(last, Failed) and retry.may_repeat(self.outcomes, last, self.policy):
            lease = last.ran.lease
            again = _new_ready(prepared=at.prepared, lease=lease, adjust=Repeat(), kept=at.kept)
            return self._with(lease_is_back=True)._at(again)
        until_s = answer.next_at_s
        is_soon = until_s is not None and until_s - answer.now_s <= self.policy.key_wait_s
        if until_s is not None and is_soon and not at.has_waited:
            then = replace(at, without=self._unfit_keys(at), has_waited=True)
            return self._at(Waiting(then=then, until_s=until_s))
        if last is not None:
            return self._at(_CHOOSING)
        return self._gave_up(answer.attempt_no, _no_key_failure(answer))

    def _unfit_keys(self, at: Leasing) -> frozenset[KeyId]:
        """Keys that failed for other reasons than a limit that passes."""
        limited = {
            outcome.ran.lease.key_id
            for outcome in self.outcomes
            if isinstance(outcome, Failed)
            and outcome.ran.lease is not None
            and outcome.failure.kind is FailureKind.RATE_LIMIT
        }
        return at.without - limited

    def _reacted(self, outcome: Failed) -> "TurnState":
        failure, ran = outcome.failure, outcome.ran
        assert isinstance(self.at, Ready)
        prepared = self.at.prepared
        stop = self.policy.content_filter is ContentFilterPolicy.STOP
        if failure.kind is FailureKind.CONTENT_FILTER and stop:
            return self._at(_OVER)
        if not retry.next_model_may_help(failure):
            return self._at(_OVER)
        if not retry.invocations_left(self.outcomes, ran.attempt_no, self.policy):
            return self._at(_CHOOSING)
        kept = retry.kept(self.at.kept, self.at.adjust)
        adjust = retry.same_key(
            self.outcomes, outcome, prepared, self.policy, is_last=not self.another_may_answer
        )
        if adjust is not None:
            again = _new_ready(prepared=prepared, lease=ran.lease, adjust=adjust, kept=kept)
            return self._at(again)
        if ran.lease is None:
            return self._keyless_again(outcome, prepared)
        if retry.another_key_may_help(self.outcomes, outcome, self.policy):
            spent = retry.spent_keys(self.outcomes, ran.attempt_no)
            has_waited = retry.has_reused(self.outcomes, ran.attempt_no)
            leasing = _new_leasing(
                prepared=prepared,
                without=spent,
                has_waited=has_waited,
                kept=retry.for_another_key(kept),
            )
            return self._at(leasing)
        return self._at(_CHOOSING)

    def _keyless_again(self, outcome: Failed, prepared: Prepared) -> "TurnState":
        assert isinstance(self.at, Ready)
        if retry.may_repeat(self.outcomes, outcome, self.policy):
            kept = retry.kept(self.at.kept, self.at.adjust)
            again = _new_ready(prepared=prepared, lease=None, adjust=Repeat(), kept=kept)
            return self._at(again)
        return self._at(_CHOOSING)

    # ── what was seen ───────────────────────────────────────────────────────────────────────

    def _last_of(self, number: int) -> Outcome | None:
        mine = [outcome for outcome in self.outcomes if outcome.ran.attempt_no == number]
        return mine[-1] if mine else None

    def _noted(self, outcome: Outcome, failure: Failure) -> "TurnState":
        return self._with_failure(outcome.ran.attempt_no, failure)

    def _with_failure(self, number: int, failure: Failure) -> "TurnState":
        attempt = self.attempt(number)
        noted = AttemptFailure(
            attempt_no=number, label=attempt.label, model=attempt.model.name, failure=failure
        )
        return self._with(failures=(*self.course.failures, noted))


_new_state = maker(TurnState)


def _deferred(numbers: tuple[int, ...], resting: frozenset[int]) -> tuple[int, ...]:
    """Resting attempts behind the others of their route; none is dropped."""
    awake = tuple(number for number in numbers if number not in resting)
    return awake + tuple(number for number in numbers if number in resting)


def _no_key_failure(answer: NoKey) -> Failure:
    next_in_s = None if answer.next_at_s is None else answer.next_at_s - answer.now_s
    if answer.cause:
        text = answer.cause
    elif next_in_s is None:
        text = "no usable key is saved; add one with `turnkeeper key add`"
    else:
        text = f"all keys rest; the first is back in {next_in_s:.0f} s"
    return Failure(kind=FailureKind.NO_KEY, message=text, rule="no_key", retry_after_s=next_in_s)
