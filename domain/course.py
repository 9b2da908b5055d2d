"""The course of a turn: what all its decisions depend on, and few of its steps change."""

from turnkeeper.domain.admission import Refused, Reservation
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import Outcome
from turnkeeper.domain.plan import Plan
from turnkeeper.domain.policy import TurnPolicy
from turnkeeper.domain.turn import AttemptFailure


@frozen
class Course:
    """What stays as it is from step to step, where nothing goes wrong.

    Attributes:
        plan: What may be tried; grows when the server route opens.
        policy: How hard to try.
        audience: Who is told of a failure.
        plan_order: Numbers of all attempts in the order in which they are tried: resting ones
            come last in their route.
        failures: Why attempts gave no answer, in order.
        may_open: Whether the server route may still be asked.
        reservation: The quota unit that is held, or None.
        refusal: The admission that refused the turn or its server route, or None.
        signal: What was heard from outside, or None.
        retries: How often the turn was run again, because nothing came.
        earlier: What ran before that.
        lease_is_back: Whether the key in use had been given back already.
    """

    plan: Plan
    policy: TurnPolicy
    audience: Audience
    plan_order: tuple[int, ...]
    failures: tuple[AttemptFailure, ...] = ()
    may_open: bool = False
    reservation: Reservation | None = None
    refusal: Refused | None = None
    signal: Signal | None = None
    retries: int = 0
    earlier: tuple[Outcome, ...] = ()
    lease_is_back: bool = False
