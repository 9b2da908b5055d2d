"""How a turn ends: its status, what is said, to whom, and what is settled."""

from enum import Enum
from typing import assert_never

from turnkeeper.domain.admission import Refused, Reservation
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.course import Course
from turnkeeper.domain.frozen import frozen, maker
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import (
    ENDED_BY_ITSELF,
    SAID_SOMETHING,
    Answered,
    Crashed,
    Empty,
    Failed,
    Interrupted,
    Outcome,
    Stopped,
    TimedOut,
    TurnStatus,
    Unreachable,
)
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Attempt, Slot
from turnkeeper.domain.turn import AttemptFailure


class Say(Enum):
    """To whom a turn that ended without an answer says so."""

    PERSON = "person"
    NOBODY = "nobody"
    RAISE = "raise"


@frozen
class Commit:
    """The unit is used."""

    reservation: Reservation


@frozen
class Release:
    """The unit goes back."""

    reservation: Reservation


@frozen(kw_only=False)
class Nothing:
    """No unit was held."""


Settle = Commit | Release | Nothing
NOTHING = Nothing()


@frozen
class FallbackNotice:
    """Another model than the first had to answer.

    Attributes:
        slot: Where it stands in its route's chain.
        model: The model that answered.
        route: Whose credentials paid.
        failures: The last failure of each attempt before, in order.
        offers_opt_out: Whether the server answered a turn planned on personal credentials.
    """

    slot: Slot
    model: str
    route: Route
    failures: tuple[AttemptFailure, ...]
    offers_opt_out: bool


@frozen
class Finish:
    """The turn is over.

    Attributes:
        status: How it ended.
        last_ran: The last invocation that ran, or None; its output stands.
        winner: The attempt that answered, or None.
        failures: Why attempts gave no answer.
        notice: That a fallback answered, or None where nothing is said of it.
        say: To whom a turn without an answer says so.
        settle: What becomes of the quota unit.
        refusal: The admission that refused the turn or its server route, or None.
    """

    status: TurnStatus
    last_ran: Outcome | None
    winner: Attempt | None = None
    failures: tuple[AttemptFailure, ...] = ()
    notice: FallbackNotice | None = None
    say: Say = Say.NOBODY
    settle: Settle = NOTHING
    refusal: Refused | None = None


_new_finish = maker(Finish)


_NOBODY = Say.NOBODY  # looking it up takes as long as a call
ERROR_LIKE = (TurnStatus.ERROR, TurnStatus.TIMEOUT, TurnStatus.EMPTY_RESPONSE)


def finish(course: Course, outcomes: tuple[Outcome, ...]) -> Finish:
    """The end of a turn that went so, and in which this ran."""
    last = outcomes[-1] if outcomes else None
    status = _status(course, last)
    winner = course.plan.attempts[last.ran.attempt_no] if isinstance(last, Answered) else None
    return _new_finish(
        status=status,
        last_ran=last,
        winner=winner,
        failures=course.failures,
        notice=_notice(course, winner) if winner is not None and winner.number else None,
        say=_say(course.audience) if status in ERROR_LIKE else _NOBODY,
        settle=_settle(course.reservation, course, last) if course.reservation else NOTHING,
        refusal=course.refusal,
    )


def _status(course: Course, last: Outcome | None) -> TurnStatus:
    if course.signal is not None and not isinstance(last, ENDED_BY_ITSELF):
        return _status_by_signal(course.signal)
    if last is not None:
        return _status_of(last)
    return TurnStatus.ERROR if course.failures else TurnStatus.SKIPPED


def _status_by_signal(signal: Signal) -> TurnStatus:
    match signal:
        case Signal.STOP_REQUESTED | Signal.SYSTEM_STOP_REQUESTED | Signal.SUPERSEDED:
            return TurnStatus.STOPPED_BY_USER
        case Signal.FOLLOW_UP_REQUESTED:
            return TurnStatus.FOLLOW_UP_INTERRUPT
        case Signal.DEADLINE_PASSED:
            return TurnStatus.TIMEOUT
        case unknown:
            assert_never(unknown)


def _status_of(last: Outcome) -> TurnStatus:
    match last:
        case Answered():
            return TurnStatus.COMPLETED
        case Empty():
            return TurnStatus.EMPTY_RESPONSE
        case Stopped():
            return TurnStatus.STOPPED_BY_USER
        case Interrupted():
            return TurnStatus.FOLLOW_UP_INTERRUPT
        case TimedOut():
            return TurnStatus.TIMEOUT
        case Failed() | Crashed():
            return TurnStatus.ERROR
        case Unreachable():
            return TurnStatus.SKIPPED
        case unknown:
            assert_never(unknown)


def _notice(course: Course, winner: Attempt) -> FallbackNotice | None:
    """Of a completed fallback, if people may hear of it, with nobody waiting to be heard."""
    before = _last_of_each(course.failures, winner)
    silent = course.audience is not Audience.PERSON or course.signal is not None
    if not before or silent:
        return None
    return FallbackNotice(
        slot=winner.slot,
        model=winner.model.name,
        route=winner.route,
        failures=before,
        offers_opt_out=course.plan.route is Route.PERSONAL and winner.route is Route.SERVER,
    )


def _last_of_each(
    failures: tuple[AttemptFailure, ...], winner: Attempt
) -> tuple[AttemptFailure, ...]:
    by_attempt = {failure.attempt_no: failure for failure in failures}
    return tuple(failure for number, failure in by_attempt.items() if number != winner.number)


def _say(audience: Audience) -> Say:
    match audience:
        case Audience.PERSON:
            return Say.PERSON
        case Audience.CALLER:
            return Say.RAISE
        case Audience.NOBODY:
            return Say.NOBODY
        case unknown:
            assert_never(unknown)


def _settle(reservation: Reservation, course: Course, last: Outcome | None) -> Settle:
    """Committed only if an invocation that the server paid gave a persona response."""
    if (
        isinstance(last, SAID_SOMETHING)
        and last.ran.reply_text
        and course.plan.attempts[last.ran.attempt_no].route is Route.SERVER
    ):
        return Commit(reservation=reservation)
    return Release(reservation=reservation)
