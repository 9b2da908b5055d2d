"""What was chosen at one point of a turn: as the journal has it, and as a step says it.

Both sides are put into the same form, so that they can be compared.
"""

from math import isclose
from typing import assert_never

from turnkeeper.domain import events as ev
from turnkeeper.domain.adjust import tokens_of
from turnkeeper.domain.finish import Commit, Finish, Nothing, Release, Say
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.rotation import BookError, Booking, BookNeutral, BookSuccess
from turnkeeper.domain.steps import (
    NOTHING_CAME,
    LeaseKey,
    OpenServerRoute,
    Prepare,
    RunInvocation,
    Step,
    Wait,
)

Detail = str | int | float | bool | None
_TOLD = {Say.PERSON: "person", Say.RAISE: "caller", Say.NOBODY: "nobody"}
NEAR_S = 0.01


@frozen
class Choice:
    """One decision.

    Attributes:
        what: ``prepare``, ``lease``, ``wait``, ``run``, ``open``, ``finish``, ``book``, ``rest``.
        attempt_no: For which attempt, or None where it concerns none.
        details: What else was decided, by name; what is not known is left out.
    """

    what: str
    attempt_no: int | None = None
    details: tuple[tuple[str, Detail], ...] = ()

    def is_of_the_kind(self, other: "Choice") -> bool:
        """Whether both do the same with the same attempt, if not in the same way."""
        return (self.what, self.attempt_no) == (other.what, other.attempt_no)

    def agrees_with(self, other: "Choice") -> bool:
        """Whether both say the same as far as both say anything."""
        return self.is_of_the_kind(other) and not self.unlike(other)

    def unlike(self, other: "Choice") -> frozenset[str]:
        """The names of the details in which both differ."""
        mine, theirs = dict(self.details), dict(other.details)
        both = mine.keys() & theirs.keys()
        return frozenset(name for name in both if not _equal(mine[name], theirs[name]))


def _equal(one: Detail, other: Detail) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, abs_tol=NEAR_S)
    return one == other


# ── what a version of the rules decides ─────────────────────────────────────────────────────


def of_step(step: Step) -> Choice:
    """The step as a choice."""
    match step:
        case Prepare(attempt_no=number):
            return Choice(what="prepare", attempt_no=number)
        case LeaseKey(attempt_no=number, without=without):
            return _lease(number, tuple(sorted(without)))
        case Wait(attempt_no=number, until_s=until_s, why=why):
            return _wait(number, why, until_s)
        case RunInvocation():
            return Choice(
                what="run",
                attempt_no=step.attempt_no,
                details=(
                    ("key", _key(step.lease.key_id if step.lease else None)),
                    ("change", type(step.adjust).__name__),
                    ("tokens", tokens_of(step.adjust)),
                    ("takes back", " ".join(one.message_id for one in step.take_back)),
                    ("another may answer", step.another_may_answer),
                ),
            )
        case OpenServerRoute():
            return Choice(what="open")
        case Finish():
            return Choice(
                what="finish",
                details=(
                    ("status", step.status.value),
                    ("answered by", step.winner.model.name if step.winner else ""),
                    ("quota unit", _settled(step)),
                    ("told", _TOLD[step.say]),
                    ("notice", step.notice is not None),
                    ("refusal", step.refusal is not None),
                ),
            )
        case unknown:
            assert_never(unknown)


def of_booking(attempt_no: int, booking: Booking | None) -> Choice:
    """What is booked on a key."""
    if booking is None:
        return Choice(what="book", attempt_no=attempt_no, details=(("booking", "nothing"),))
    word, error_class, rests, rest_s = booked_as(booking)
    return _book(attempt_no, word, error_class, rests, rest_s)


def of_rest(attempt_no: int, for_s: float) -> Choice:
    """For how long a model rests."""
    return Choice(what="rest", attempt_no=attempt_no, details=(("for", float(for_s)),))


def booked_as(booking: Booking) -> tuple[str, str, str, float]:
    """The booking's word, its error class, what rests, and for how long, as it is journalled."""
    match booking:
        case BookSuccess():
            return "success", "", "nothing", 0.0
        case BookNeutral():
            return "neutral", "", "nothing", 0.0
        case BookError():
            return "error", booking.booked_as.value, booking.scope.value, booking.rest_s
        case unknown:
            assert_never(unknown)


# ── what the journal has ────────────────────────────────────────────────────────────────────

Chosen = (
    ev.AttemptPrepared
    | ev.AttemptUnpreparable
    | ev.KeyLeased
    | ev.NoKeyLeft
    | ev.Waited
    | ev.InvocationStarted
    | ev.ServerRouteAsked
)
"""The events that say which step was taken, but for the last one."""


def of_event(event: Chosen) -> Choice:
    """The step that was taken."""
    match event:
        case ev.AttemptPrepared() | ev.AttemptUnpreparable():
            return Choice(what="prepare", attempt_no=event.attempt_no)
        case ev.KeyLeased() | ev.NoKeyLeft():
            return _lease(event.attempt_no, event.without)
        case ev.Waited():
            return _wait(event.attempt_no, event.why, event.until_s)
        case ev.InvocationStarted():
            return _run(event)
        case ev.ServerRouteAsked():
            return Choice(what="open")
        case unknown:
            assert_never(unknown)


@frozen
class Spoken:
    """What was said at a turn's end.

    Attributes:
        what: The things said, as the journal calls them.
        to: Who was to be told of its failure: ``person``, ``caller`` or ``nobody``.
    """

    what: frozenset[str] = frozenset()
    to: str = "nobody"


def of_end(end: ev.TurnEnded, settled: ev.QuotaSettled | None, spoken: Spoken | None) -> Choice:
    """How the turn was ended.

    Args:
        settled: What became of its quota unit.
        spoken: What was said of it; None where saying it went wrong.
    """
    quota = "" if settled is None else "used" if settled.committed else "given back"
    told: tuple[tuple[str, Detail], ...] = ()
    if spoken is not None:
        told = (
            ("told", spoken.to),
            ("notice", "fallback_notice" in spoken.what),
            ("refusal", "refusal" in spoken.what),
        )
    return Choice(
        what="finish",
        details=(
            ("status", end.status),
            ("answered by", end.success_model or ""),
            ("quota unit", quota),
            *told,
        ),
    )


def of_booked(event: ev.KeyBooked) -> Choice:
    """What was booked on a key."""
    return _book(event.attempt_no, event.booking, event.error_class, event.rests, event.rest_s)


# ── the form of both ────────────────────────────────────────────────────────────────────────


def _lease(attempt_no: int, without: tuple[int, ...] | None) -> Choice:
    details = () if without is None else (("without", " ".join(map(str, without))),)
    return Choice(what="lease", attempt_no=attempt_no, details=details)


def _wait(attempt_no: int, why: str, until_s: float | None) -> Choice:
    """When a key is back was said by the store; for how long nothing came is waited, decided."""
    known = () if until_s is None or why != NOTHING_CAME else (("until", float(until_s)),)
    return Choice(what="wait", attempt_no=attempt_no, details=(("why", why), *known))


def _run(event: ev.InvocationStarted) -> Choice:
    details: tuple[tuple[str, Detail], ...] = (
        ("key", _key(event.key_id)),
        ("change", event.adjust),
    )
    if event.take_back is not None:
        details = (
            *details,
            ("tokens", event.tokens),
            ("takes back", " ".join(event.take_back)),
            ("another may answer", event.another_may_answer),
        )
    return Choice(what="run", attempt_no=event.attempt_no, details=details)


def _key(key_id: int | None) -> str:
    return "none" if key_id is None else str(key_id)


def _book(attempt_no: int, word: str, error_class: str, rests: str, rest_s: float) -> Choice:
    return Choice(
        what="book",
        attempt_no=attempt_no,
        details=(
            ("booking", word),
            ("error class", error_class),
            ("rests", rests),
            ("for", float(rest_s)),
        ),
    )


def _settled(step: Finish) -> str:
    match step.settle:
        case Commit():
            return "used"
        case Release():
            return "given back"
        case Nothing():
            return ""
        case unknown:
            assert_never(unknown)
