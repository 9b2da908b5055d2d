"""Users, channels and typing."""

from typing import Any

from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.discord_double.call import NO_CONTENT, Call, Reply
from turnkeeper.infrastructure.discord_double.places import Channel, Permission
from turnkeeper.infrastructure.discord_double.problem import (
    MISSING_ACCESS,
    MISSING_PERMISSIONS,
    THREAD_ARCHIVED,
    THREAD_LOCKED,
    Refused,
)
from turnkeeper.infrastructure.discord_double.rendered import channel_json, user_json
from turnkeeper.infrastructure.discord_double.state import State


def me(state: State, _: Call) -> Reply:
    """The bot itself."""
    body = {**user_json(state.bot), "flags": 0, "verified": True, "mfa_enabled": False}
    return Reply(body=body)


def get_channel(state: State, call: Call) -> Reply:
    """One channel."""
    return Reply(body=channel_json(state, seen_channel(state, call)))


def change_channel(state: State, call: Call) -> Reply:
    """Archive and lock, or the opposite of these."""
    channel = seen_channel(state, call)
    changes: dict[str, Any] = {
        name: call.body[name] is True for name in ("archived", "locked") if name in call.body
    }
    if channel.locked or "locked" in changes:
        need(state, channel, "MANAGE_THREADS")
    if channel.archived and changes.get("archived", True):
        raise Refused(THREAD_ARCHIVED)
    changed = replace(channel, **changes)
    state.channels[channel.id] = changed
    return Reply(body=channel_json(state, changed))


def type_in_channel(state: State, call: Call) -> Reply:
    """Show that the bot is typing."""
    channel = seen_channel(state, call)
    need(state, channel, channel.sending)
    state.typed.append(channel.id)
    return NO_CONTENT


def seen_channel(state: State, call: Call) -> Channel:
    """The channel of the path, if the bot may see it.

    Raises:
        Refused: It is gone, or hidden.
    """
    channel = state.channel(call.params["channel_id"])
    if not state.allows(channel, "VIEW_CHANNEL"):
        raise Refused(MISSING_ACCESS)
    return channel


def need(state: State, channel: Channel, permission: Permission) -> None:
    """Refuse unless the bot may do this."""
    if not state.allows(channel, permission):
        raise Refused(MISSING_PERMISSIONS)


def refuse_if_locked(channel: Channel) -> None:
    """Nobody sends into a locked thread; an archived one would be opened by it."""
    if channel.locked:
        raise Refused(THREAD_LOCKED)


def refuse_if_archived(channel: Channel) -> None:
    """What stands in an archived thread stays as it is."""
    if channel.archived:
        raise Refused(THREAD_ARCHIVED)
