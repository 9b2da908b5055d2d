"""What the shell tells the turn after a step: the answers that are not outcomes."""

from enum import Enum

from turnkeeper.domain.admission import RefusalKind, Refused, Reservation
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.plan import Attempt, ServerRoute
from turnkeeper.domain.rotation import Lease


@frozen
class Prepared:
    """An attempt is ready to run: what it will send.

    Attributes:
        attempt_no: Which attempt.
        conversation: The items and tools for this attempt's model.
        input_tokens: What the conversation amounts to, as estimated.
        least_tokens: What is left of it when all that may be left out is.
        max_output_tokens: The output that the request asks for, or None to leave it out.
        has_media: Whether the conversation carries images or videos.
        dropped: How many exchanges were left out to fit.
    """

    attempt_no: int
    conversation: Conversation
    input_tokens: int = 0
    least_tokens: int = 0
    max_output_tokens: int | None = None
    has_media: bool = False
    dropped: int = 0


@frozen
class Unpreparable:
    """An attempt cannot run, and why."""

    attempt_no: int
    cause: str


@frozen
class Leased:
    """A key was lent."""

    attempt_no: int
    lease: Lease


@frozen
class NoKey:
    """No key can be lent.

    Attributes:
        attempt_no: For which attempt.
        next_at_s: When the soonest key is free, by the monotonic clock; None if none will be.
        now_s: When this was said, by the same clock.
        cause: Why, where it is not that all keys rest; redacted.
    """

    attempt_no: int
    next_at_s: float | None
    now_s: float
    cause: str = ""


@frozen(kw_only=False)
class Waited:
    """The wait is over."""


@frozen
class RouteOpened:
    """The server lends its models.

    Attributes:
        attempts: Its attempts; their numbers go on where the plan's ended.
        reservation: The quota unit that is held for it, or None.
        resting: Numbers of attempts whose model rests.
    """

    attempts: tuple[Attempt, ...]
    reservation: Reservation | None = None
    resting: frozenset[int] = frozenset()


@frozen
class RouteWithheld:
    """The server does not lend its models to this turn."""

    reason: ServerRoute


@frozen
class RouteRefused:
    """The server's admission refused."""

    kind: RefusalKind
    already_said: bool = False
    refusal: Refused | None = None


@frozen
class RouteFailed:
    """The server route could not be prepared; what failed before stays the outcome."""

    cause: str


class Signal(Enum):
    """What may reach a turn from outside while it runs."""

    STOP_REQUESTED = "stop_requested"
    SYSTEM_STOP_REQUESTED = "system_stop_requested"
    FOLLOW_UP_REQUESTED = "follow_up_requested"
    DEADLINE_PASSED = "deadline_passed"
    SUPERSEDED = "superseded"
    """The turn was given up by its owner (its epoch moved): it posts nothing more."""


@frozen(kw_only=False)
class Heard:
    """A signal reached the turn."""

    signal: Signal


Answer = (
    Prepared
    | Unpreparable
    | Leased
    | NoKey
    | Waited
    | RouteOpened
    | RouteWithheld
    | RouteRefused
    | RouteFailed
    | Heard
)
