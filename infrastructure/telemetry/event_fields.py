"""An event as the fields of a log line: bounded, redacted, and without what people wrote."""

from dataclasses import fields
from enum import Enum
from typing import Any

from turnkeeper.domain.events import (
    EffectFailed,
    Event,
    InvocationEnded,
    MessageStuck,
    NoKeyLeft,
    ServerRouteAsked,
    TurnEnded,
    TurnRefused,
    TurnStarted,
    TurnSwept,
)
from turnkeeper.domain.failure import Failure
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.redact import redact

NOT_LOGGED = {"trigger_key", "server_id", "channel_id", "user_id", "policy"}
"""Ids of the host's that nobody needs beside the turn's, and what all turns have in common."""
MAX_CHARS = 200
MAX_ITEMS = 20
BAD_ENDS = {TurnStatus.ERROR.value, TurnStatus.TIMEOUT.value}


def level_of(event: Event) -> str:
    """How loud the event is: ``debug`` for each step of a turn that goes well."""
    match event:
        case TurnEnded(status=status) if status in BAD_ENDS:
            return "error"
        case InvocationEnded(failure=failure) if failure is not None:
            return "warning"
        case MessageStuck() | NoKeyLeft() | EffectFailed() | TurnSwept():
            return "warning"
        case ServerRouteAsked(answer="failed"):
            return "warning"
        case TurnStarted() | TurnEnded() | TurnRefused() | InvocationEnded() | ServerRouteAsked():
            return "info"
        case _:
            return "debug"


def fields_of(event: Event) -> dict[str, Any]:
    """What there is to say of the event, by the names of its fields."""
    named = {one.name: getattr(event, one.name) for one in fields(event)}
    return {name: _shown(value) for name, value in named.items() if name not in NOT_LOGGED}


def _shown(value: Any) -> Any:
    match value:
        case str():
            return redact(value, limit=MAX_CHARS)
        case Enum():
            return value.value
        case Attempt():
            return redact(f"{value.provider}:{value.model.name}", limit=MAX_CHARS)
        case Failure():
            return _failure(value)
        case tuple():
            return [_shown(one) for one in value[:MAX_ITEMS]]
        case _:
            return value


def _failure(failure: Failure) -> dict[str, Any]:
    """Without the provider's words, which may quote the conversation."""
    said = {
        "kind": failure.kind.value,
        "provider": failure.provider,
        "status": failure.status,
        "code": failure.code,
        "rule": failure.rule,
        "retry_after_s": failure.retry_after_s,
    }
    return {name: _shown(value) for name, value in said.items() if value not in (None, "")}
