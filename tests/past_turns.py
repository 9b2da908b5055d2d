"""Journals of turns that are over, as listeners hear of them."""

from builders import a_failure, an_attempt

from turnkeeper.domain import events
from turnkeeper.domain.events import Entry, Event
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Route

CANARY = "sk-canary-0123456789abcdef"


def journal(*happened: tuple[float, Event], turn_id: str = "t1") -> tuple[Entry, ...]:
    """The events at their times."""
    return tuple(
        Entry(turn_id=turn_id, seq=seq, at_s=at_s, event=event)
        for seq, (at_s, event) in enumerate(happened)
    )


def started(
    *routes: Route, endpoint: Endpoint | None = None, route: Route = Route.SERVER
) -> events.TurnStarted:
    attempts = tuple(
        an_attempt(number, route=one, endpoint=endpoint)
        for number, one in enumerate(routes or (Route.SERVER, Route.SERVER))
    )
    return events.TurnStarted(
        route=route, attempts=attempts, server_route="not_applicable", audience="person"
    )


def ran(attempt_no: int, invocation_no: int, key_id: int | None = 1) -> events.InvocationStarted:
    return events.InvocationStarted(
        attempt_no=attempt_no, invocation_no=invocation_no, key_id=key_id
    )


def failed(
    attempt_no: int, invocation_no: int, kind: FailureKind = FailureKind.RATE_LIMIT
) -> events.InvocationEnded:
    return events.InvocationEnded(
        attempt_no=attempt_no,
        invocation_no=invocation_no,
        outcome="Failed",
        failure=a_failure(kind, f"you wrote 'a private thing', {CANARY}", status=429),
    )


def answered(attempt_no: int, invocation_no: int) -> events.InvocationEnded:
    return events.InvocationEnded(
        attempt_no=attempt_no,
        invocation_no=invocation_no,
        outcome="Answered",
        input_tokens=12,
        output_tokens=34,
        response_model="model-1-2026",
    )


def ended(status: str = "completed") -> events.TurnEnded:
    return events.TurnEnded(
        status=status, responses=1, delivered_by_tool=False, success_model="model-1"
    )


def rescued(turn_id: str = "t1") -> tuple[Entry, ...]:
    """A turn whose first model was limited, and whose second answered after a tool."""
    tool = events.ToolRan(
        invocation_no=1, name="roll", nth=0, state="done", took_s=0.5, ended_ago_s=0.25
    )
    return journal(
        (0.0, started()),
        (0.1, events.QuotaReserved(trigger_key="trigger")),
        (0.2, events.KeyLeased(attempt_no=0, key_id=1, is_main=True, is_probe=False)),
        (0.3, ran(0, 0)),
        (0.5, events.FirstProgress(invocation_no=0, after_s=0.2)),
        (
            0.6,
            events.MessagePosted(invocation_no=0, message_id="m1", origin="stream", chars=9),
        ),
        (1.0, failed(0, 0)),
        (1.1, ran(1, 1)),
        (2.5, tool),
        (2.6, events.MessageTakenBack(message_id="m1")),
        (3.0, answered(1, 1)),
        (3.1, events.QuotaSettled(trigger_key="trigger", committed=True)),
        (3.2, ended()),
        (3.3, events.CleanedUp()),
        turn_id=turn_id,
    )
