"""What a journal says was answered, as the turn's state was told it.

What people and models wrote is in no journal; decisions do not go by it. Where they go by how much
there was, something of that length stands in its place.
"""

from datetime import UTC, datetime, timedelta

from turnkeeper.domain import events as ev
from turnkeeper.domain.admission import RefusalKind, Refused
from turnkeeper.domain.answers import (
    NoKey,
    Prepared,
    RouteFailed,
    RouteOpened,
    RouteRefused,
    RouteWithheld,
)
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outcome import (
    Answered,
    Crashed,
    Delivery,
    Empty,
    Failed,
    Interrupted,
    Origin,
    Outcome,
    Ran,
    Stopped,
    StopReason,
    TimedOut,
    TimeoutPhase,
    Unreachable,
)
from turnkeeper.domain.plan import Attempt, ServerRoute
from turnkeeper.domain.rotation import KeyId, Lease
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import FinishReason

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
NOT_THE_KEY = Secret("not in the journal")


def prepared(event: ev.AttemptPrepared) -> Prepared:
    """The attempt that was made ready."""
    return Prepared(
        attempt_no=event.attempt_no,
        conversation=Conversation(),
        input_tokens=event.input_tokens,
        least_tokens=event.least_tokens,
        max_output_tokens=event.max_output_tokens,
        has_media=event.has_media,
        dropped=event.dropped,
    )


def lease(attempt: Attempt, key_id: int, at_s: float, event: ev.KeyLeased | None = None) -> Lease:
    """The key that was lent, without the key."""
    return Lease(
        owner=attempt.owner,
        provider=attempt.provider,
        key_id=KeyId(key_id),
        secret=NOT_THE_KEY,
        leased_at=BEGINNING + timedelta(seconds=at_s),
        is_main=event.is_main if event else False,
        is_probe=event.is_probe if event else False,
    )


def no_key(event: ev.NoKeyLeft) -> NoKey:
    """That none could be lent; its instants count from then."""
    return NoKey(
        attempt_no=event.attempt_no, next_at_s=event.next_in_s, now_s=0.0, cause=event.cause
    )


def route_answer(
    event: ev.ServerRouteAsked,
) -> RouteOpened | RouteWithheld | RouteRefused | RouteFailed:
    """What the server said; the unit that it set aside is journalled by itself."""
    match event.answer:
        case "opened":
            return RouteOpened(attempts=event.attempts, resting=frozenset(event.resting))
        case "refused":
            kind = RefusalKind(event.cause)
            return RouteRefused(kind=kind, refusal=Refused(kind=kind))
        case "withheld":
            return RouteWithheld(reason=ServerRoute.NOT_APPLICABLE)
        case _:
            return RouteFailed(cause=event.cause)


def outcome(
    event: ev.InvocationEnded, lent: Lease | None, posted: dict[str, ev.MessagePosted]
) -> Outcome:
    """What the invocation came to.

    Args:
        posted: The messages of the turn so far, by their ids.

    Raises:
        ValueError: There is no such outcome, or its failure, phase or reason is missing.
    """
    ran = _ran(event, lent, posted)
    match event.outcome:
        case "Answered":
            said = ran.reply_text or event.delivered_by_tool
            whole = ran if said else replace(ran, reply_text="?")
            return Answered(ran=whole, delivered_by_tool=event.delivered_by_tool)
        case "Empty":
            return Empty(ran=ran, finish=FinishReason(event.detail) if event.detail else None)
        case "Stopped":
            return Stopped(ran=ran, reason=StopReason(event.detail))
        case "Interrupted":
            return Interrupted(ran=ran)
        case "Failed":
            return Failed(ran=ran, failure=_failure(event))
        case "TimedOut":
            return TimedOut(ran=ran, phase=TimeoutPhase(event.detail), failure=_failure(event))
        case "Unreachable":
            return Unreachable(ran=ran, code=event.detail)
        case "Crashed":
            return Crashed(ran=ran, failure=_failure(event))
        case other:
            raise ValueError(f"there is no outcome {other!r}")


def _ran(event: ev.InvocationEnded, lent: Lease | None, posted: dict[str, ev.MessagePosted]) -> Ran:
    return Ran(
        attempt_no=event.attempt_no,
        lease=lent,
        delivered=tuple(_delivery(message_id, posted) for message_id in event.kept),
        reply_text="?" * event.reply_chars,
        ended_at_s=event.ended_at_s or 0.0,
    )


def _delivery(message_id: str, posted: dict[str, ev.MessagePosted]) -> Delivery:
    known = posted.get(message_id)
    origin = Origin(known.origin) if known else Origin.STREAM
    return Delivery(message_id=message_id, channel_id="", text="", origin=origin)


def _failure(event: ev.InvocationEnded) -> Failure:
    if event.failure is None:
        return Failure(kind=FailureKind.CRASH, message="the journal names no failure")
    return event.failure
