"""Messages are taken away: one, or many at once."""

from datetime import timedelta

from turnkeeper.infrastructure.discord_double.call import NO_CONTENT, Call, Reply
from turnkeeper.infrastructure.discord_double.channel_routes import (
    need,
    refuse_if_archived,
    seen_channel,
)
from turnkeeper.infrastructure.discord_double.places import Channel
from turnkeeper.infrastructure.discord_double.problem import (
    NOT_IN_DM,
    TOO_OLD,
    WRONG_COUNT,
    FormError,
    Refused,
    refuse_form,
)
from turnkeeper.infrastructure.discord_double.snowflakes import made_at
from turnkeeper.infrastructure.discord_double.state import State

LEAST, MOST = 2, 100
OLDEST = timedelta(days=14)


def delete_message(state: State, call: Call) -> Reply:
    """Take one message away; another's only with permission."""
    channel = seen_channel(state, call)
    message = state.message(call.params["message_id"], channel.id)
    refuse_if_archived(channel)
    if message.author != state.bot:
        _refuse_in_dm(channel)
        need(state, channel, "MANAGE_MESSAGES")
    state.remove(message, "bot")
    return NO_CONTENT


def delete_messages(state: State, call: Call) -> Reply:
    """Take 2 to 100 messages away, all or none; unknown ones count but do no harm."""
    channel = seen_channel(state, call)
    _refuse_in_dm(channel)
    need(state, channel, "MANAGE_MESSAGES")
    refuse_if_archived(channel)
    ids = _checked(call.body.get("messages"))
    if any(state.clock.now() - made_at(one) > OLDEST for one in ids):
        raise Refused(TOO_OLD)
    for one in ids:
        message = state.messages.get(one)
        if message is not None and message.channel_id == channel.id:
            state.remove(message, "bulk")
    return NO_CONTENT


def _checked(listed: object) -> tuple[str, ...]:
    ids = tuple(str(one) for one in listed) if isinstance(listed, list) else ()
    if not LEAST <= len(ids) <= MOST:
        raise Refused(WRONG_COUNT)
    refuse_form(
        FormError(
            place=("messages", position),
            code="NUMBER_TYPE_COERCE",
            message=f'Value "{one}" is not snowflake.',
        )
        for position, one in enumerate(ids)
        if not one.isdecimal()
    )
    if len(set(ids)) < len(ids):
        twice = FormError(
            place=("messages",),
            code="SET_TYPE_ALREADY_CONTAINS_VALUE",
            message="The set already contains this value",
        )
        refuse_form((twice,))
    return ids


def _refuse_in_dm(channel: Channel) -> None:
    if channel.guild_id is None:
        raise Refused(NOT_IN_DM)
