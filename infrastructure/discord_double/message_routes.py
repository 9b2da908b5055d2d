"""Messages of the bot: send, read, edit."""

from collections.abc import Mapping
from typing import Any

from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.discord_double.call import Call, Reply
from turnkeeper.infrastructure.discord_double.channel_routes import (
    need,
    refuse_if_archived,
    refuse_if_locked,
    seen_channel,
)
from turnkeeper.infrastructure.discord_double.mentions import BY_BOT, BY_WEBHOOK, Pings, pings_of
from turnkeeper.infrastructure.discord_double.message import Message
from turnkeeper.infrastructure.discord_double.message_form import draft_of
from turnkeeper.infrastructure.discord_double.places import Channel
from turnkeeper.infrastructure.discord_double.problem import (
    NO_HISTORY,
    NOT_THE_AUTHOR,
    UNKNOWN_MESSAGE,
    FormError,
    Refused,
    refuse_form,
)
from turnkeeper.infrastructure.discord_double.rendered import message_json
from turnkeeper.infrastructure.discord_double.state import State


def create_message(state: State, call: Call) -> Reply:
    """Say something as the bot; a known nonce returns what it said before."""
    channel = seen_channel(state, call)
    refuse_if_locked(channel)
    need(state, channel, channel.sending)
    draft = draft_of(call.body)
    reply_to = _reply_to(state, channel, call.body)
    nonce = call.body.get("nonce")
    if call.body.get("enforce_nonce") is True and nonce is not None:
        known_id = state.message_of_nonce(state.bot.id, nonce)
        if known_id is not None:
            return _said_before(state, known_id)
    message = Message(
        id=state.snowflakes.next(),
        channel_id=channel.id,
        author=state.bot,
        content=draft.content,
        embeds=draft.embeds,
        components=draft.components,
        flags=draft.flags,
        nonce=nonce,
        reply_to=reply_to,
        posted_at=state.clock.now(),
        pings=pings(state, call.body, draft.content, reply_to, BY_BOT),
        application_id=state.application_id,
    )
    if nonce is not None:
        state.keep_nonce(state.bot.id, nonce, message.id)
    return Reply(body=message_json(state, state.post(message)))


def get_message(state: State, call: Call) -> Reply:
    """One message."""
    channel = seen_channel(state, call)
    need(state, channel, "READ_MESSAGE_HISTORY")
    return Reply(body=message_json(state, state.message(call.params["message_id"], channel.id)))


def list_messages(state: State, call: Call) -> Reply:
    """The messages of a channel, newest first; without the history permission there are none."""
    channel = seen_channel(state, call)
    limit = _limit(call.query.get("limit", "50"))
    if not state.allows(channel, "READ_MESSAGE_HISTORY"):
        return Reply(body=[])
    page = _page(list(state.shown(channel.id)), call.query, limit)
    return Reply(body=[message_json(state, one) for one in page])


def edit_message(state: State, call: Call) -> Reply:
    """Change what the bot has said."""
    channel = seen_channel(state, call)
    message = state.message(call.params["message_id"], channel.id)
    if message.author != state.bot:
        raise Refused(NOT_THE_AUTHOR)
    return Reply(body=message_json(state, edited(state, message, call.body)))


def edited(state: State, message: Message, form: Mapping[str, Any]) -> Message:
    """Change a message by a form.

    Raises:
        Refused: It stands in an archived thread, or the form is wrong.
    """
    refuse_if_archived(state.channel(message.channel_id))
    draft = draft_of(form, message)
    defaults = BY_WEBHOOK if message.author.webhook_id else BY_BOT
    changed = replace(
        message,
        content=draft.content,
        embeds=draft.embeds,
        components=draft.components,
        edited_at=state.clock.now(),
        earlier=(*message.earlier, message.content),
        pings=pings(state, form, draft.content, message.reply_to, defaults),
    )
    state.messages[message.id] = changed
    return changed


def pings(
    state: State,
    form: Mapping[str, Any],
    content: str,
    reply_to: str | None,
    defaults: Mapping[str, Any],
) -> Pings:
    """Whom a send or an edit notifies; a form that says nothing means the defaults."""
    allowed = form.get("allowed_mentions")
    answered = state.messages.get(reply_to or "")
    replied_user = answered.author.id if answered else None
    return pings_of(content, defaults if allowed is None else allowed, replied_user)


def _said_before(state: State, message_id: str) -> Reply:
    message = state.messages.get(message_id)
    if message is None:
        raise Refused(UNKNOWN_MESSAGE)
    return Reply(body=message_json(state, message))


def _reply_to(state: State, channel: Channel, form: Mapping[str, Any]) -> str | None:
    reference = form.get("message_reference")
    if not reference:
        return None
    if not state.allows(channel, "READ_MESSAGE_HISTORY"):
        raise Refused(NO_HISTORY)
    answered = state.messages.get(str(reference.get("message_id")))
    if answered is not None and answered.channel_id == channel.id:
        return answered.id
    if reference.get("fail_if_not_exists", True):
        unknown = FormError(
            place=("message_reference",),
            code="MESSAGE_REFERENCE_UNKNOWN_MESSAGE",
            message="Unknown message",
        )
        refuse_form((unknown,))
    return None


def _limit(text: str) -> int:
    limit = int(text) if text.isdecimal() else 0
    if not 1 <= limit <= 100:
        wrong = FormError(
            place=("limit",),
            code="NUMBER_TYPE_MIN" if limit < 1 else "NUMBER_TYPE_MAX",
            message="int value should be between 1 and 100.",
        )
        refuse_form((wrong,))
    return limit


def _page(said: list[Message], query: Mapping[str, str], limit: int) -> list[Message]:
    if "around" in query:
        middle = int(query["around"])
        older = [one for one in said if int(one.id) < middle][-(limit // 2) :]
        newer = [one for one in said if int(one.id) >= middle][: limit - len(older)]
        return [*older, *newer][::-1]
    if "after" in query:
        return [one for one in said if int(one.id) > int(query["after"])][:limit][::-1]
    if "before" in query:
        said = [one for one in said if int(one.id) < int(query["before"])]
    return said[-limit:][::-1]
