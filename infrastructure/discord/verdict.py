"""What a reply, or none, means for the call."""

from typing import Any

from turnkeeper.domain.errors import SinkError
from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.codes import BAD_TOKEN
from turnkeeper.infrastructure.discord.errors import (
    BadBotToken,
    DiscordError,
    Halted,
    Lost,
    Unclear,
    Unreachable,
)
from turnkeeper.infrastructure.discord.reply import Reply
from turnkeeper.infrastructure.http import HttpError, HttpErrorKind

_NEVER_SENT = frozenset(
    {
        HttpErrorKind.REFUSED,
        HttpErrorKind.DNS,
        HttpErrorKind.TLS,
        HttpErrorKind.CONNECT_TIMEOUT,
    }
)


@frozen(kw_only=False)
class Done:
    """Discord did it; the value is what it says."""

    value: Any


@frozen(kw_only=False)
class TooEarly:
    """Discord did nothing, and will do it later; the limits know when."""

    error: SinkError


@frozen(kw_only=False)
class Again:
    """The same call may go through after a pause; if not, this is the error."""

    error: SinkError


@frozen(kw_only=False)
class Refused:
    """The same call will not go through."""

    error: SinkError


Verdict = Done | TooEarly | Again | Refused


def verdict_on(call: Call, reply: Reply) -> Verdict:
    """What this reply means."""
    if 200 <= reply.status < 300 and (reply.is_json or reply.status == 204):
        return Done(reply.value)
    if reply.is_from_edge:
        return Refused(
            Halted(
                f"the edge before Discord blocks this side ({reply.status} to {call.name}):"
                " nothing is sent for a minute"
            )
        )
    if reply.is_limited:
        return TooEarly(_refusal(call, reply))
    if reply.status >= 500 or 200 <= reply.status < 300:
        return _unclear(call, f"Discord gave {call.name} a {reply.status} of no use")
    return Refused(_refusal(call, reply))


def verdict_without_reply(call: Call, error: HttpError) -> Verdict:
    """What it means that no whole reply came."""
    if error.kind is HttpErrorKind.BAD_REQUEST_VALUE:
        return Refused(Lost(f"{call.name} cannot be sent: {error}"))
    if error.kind in _NEVER_SENT:
        return Again(Lost(f"{call.name} was not sent: {error}"))
    return _unclear(call, f"nobody knows what became of {call.name}: {error}")


def _unclear(call: Call, message: str) -> Again | Refused:
    error = Unclear(message)
    return Again(error) if call.repeatable else Refused(error)


def _refusal(call: Call, reply: Reply) -> DiscordError:
    kind = DiscordError
    if call.by_bot and reply.status == 401 and reply.code in BAD_TOKEN:
        kind = BadBotToken
    elif reply.code in call.gone:
        kind = Unreachable
    return kind(
        route=call.name,
        status=reply.status,
        code=reply.code,
        message=reply.message,
        fields=reply.fields,
    )
