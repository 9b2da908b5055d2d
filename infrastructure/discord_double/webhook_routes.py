"""Webhooks: make, list, delete, speak through them, and change what they said."""

import secrets
from collections.abc import Iterator
from typing import Any

from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.discord_double.call import NO_CONTENT, Call, Reply
from turnkeeper.infrastructure.discord_double.channel_routes import (
    need,
    refuse_if_archived,
    refuse_if_locked,
    seen_channel,
)
from turnkeeper.infrastructure.discord_double.form_rules import at_most, between
from turnkeeper.infrastructure.discord_double.mentions import BY_WEBHOOK
from turnkeeper.infrastructure.discord_double.message import Author, Message
from turnkeeper.infrastructure.discord_double.message_form import draft_of, without_buttons
from turnkeeper.infrastructure.discord_double.message_routes import edited, pings
from turnkeeper.infrastructure.discord_double.places import Channel, Webhook
from turnkeeper.infrastructure.discord_double.problem import (
    INVALID_WEBHOOK_TOKEN,
    TOO_MANY_WEBHOOKS,
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    UNKNOWN_WEBHOOK,
    FormError,
    Refused,
    refuse_form,
)
from turnkeeper.infrastructure.discord_double.rendered import message_json, webhook_json
from turnkeeper.infrastructure.discord_double.state import State

MOST_PER_CHANNEL = 15
NOT_IN_NAMES = ("clyde", "discord")


def create_webhook(state: State, call: Call) -> Reply:
    """Make one; threads have none of their own."""
    channel = seen_channel(state, call)
    need(state, channel, "MANAGE_WEBHOOKS")
    if channel.is_thread or channel.guild_id is None:
        raise Refused(UNKNOWN_CHANNEL)
    refuse_form(_name_errors(call.body.get("name"), "name"))
    here = [one for one in state.webhooks.values() if one.channel_id == channel.id]
    if len(here) >= MOST_PER_CHANNEL:
        raise Refused(TOO_MANY_WEBHOOKS)
    webhook = made(state, channel, call.body["name"], state.application_id)
    return Reply(body=webhook_json(state, webhook))


def made(state: State, channel: Channel, name: str, application_id: str | None) -> Webhook:
    """A new webhook of the channel."""
    webhook = Webhook(
        id=state.snowflakes.next(),
        token=secrets.token_urlsafe(48),
        name=name,
        channel_id=channel.id,
        guild_id=channel.guild_id,
        application_id=application_id,
    )
    state.webhooks[webhook.id] = webhook
    return webhook


def list_webhooks(state: State, call: Call) -> Reply:
    """Those of a channel; a thread has its parent's to ask for."""
    channel = seen_channel(state, call)
    need(state, channel, "MANAGE_WEBHOOKS")
    here = [one for one in state.webhooks.values() if one.channel_id == channel.id]
    return Reply(body=[webhook_json(state, one) for one in here])


def delete_webhook(state: State, call: Call) -> Reply:
    """Delete one as the bot."""
    webhook = _known(state, call)
    need(state, state.channel(webhook.channel_id), "MANAGE_WEBHOOKS")
    del state.webhooks[webhook.id]
    return NO_CONTENT


def delete_webhook_by_token(state: State, call: Call) -> Reply:
    """Delete one by its token."""
    del state.webhooks[opened(state, call).id]
    return NO_CONTENT


def get_webhook(state: State, call: Call) -> Reply:
    """One webhook, by its token; without the user who made it."""
    body = webhook_json(state, opened(state, call))
    del body["user"]
    return Reply(body=body)


def execute_webhook(state: State, call: Call) -> Reply:
    """Say something through a webhook; neither nonce nor reply reference mean anything here."""
    webhook = opened(state, call)
    channel = _destination(state, webhook, call)
    refuse_if_locked(channel)
    if "username" in call.body:
        refuse_form(_name_errors(call.body["username"], "username"))
    refuse_form(at_most(call.body.get("avatar_url"), 2048, ("avatar_url",)))
    draft = draft_of({**call.body, "nonce": None})
    if webhook.application_id != state.application_id:
        shown = without_buttons(draft.components) if call.says("with_components") else ()
        draft = replace(draft, components=shown)
    name = call.body.get("username") or webhook.name
    avatar = call.body.get("avatar_url") or webhook.avatar
    message = Message(
        id=state.snowflakes.next(),
        channel_id=channel.id,
        author=Author(id=webhook.id, name=name, bot=True, webhook_id=webhook.id, avatar=avatar),
        content=draft.content,
        embeds=draft.embeds,
        components=draft.components,
        flags=draft.flags,
        posted_at=state.clock.now(),
        pings=pings(state, call.body, draft.content, None, BY_WEBHOOK),
        application_id=webhook.application_id,
    )
    state.post(message)
    return Reply(body=message_json(state, message)) if call.says("wait") else NO_CONTENT


def get_webhook_message(state: State, call: Call) -> Reply:
    """One message of this webhook."""
    return Reply(body=message_json(state, _own(state, call)))


def edit_webhook_message(state: State, call: Call) -> Reply:
    """Change what this webhook said."""
    return Reply(body=message_json(state, edited(state, _own(state, call), call.body)))


def delete_webhook_message(state: State, call: Call) -> Reply:
    """Take away what this webhook said."""
    message = _own(state, call)
    refuse_if_archived(state.channel(message.channel_id))
    state.remove(message, "webhook")
    return NO_CONTENT


def opened(state: State, call: Call) -> Webhook:
    """The webhook of the path, by its token.

    Raises:
        Refused: It is gone, or the token is not its own.
    """
    webhook = _known(state, call)
    if not secrets.compare_digest(webhook.token, call.params["token"]):
        raise Refused(INVALID_WEBHOOK_TOKEN)
    return webhook


def _known(state: State, call: Call) -> Webhook:
    if (webhook := state.webhooks.get(call.params["webhook_id"])) is None:
        raise Refused(UNKNOWN_WEBHOOK)
    return webhook


def _destination(state: State, webhook: Webhook, call: Call) -> Channel:
    channel = state.channel(call.query.get("thread_id", webhook.channel_id))
    if webhook.channel_id not in (channel.id, channel.parent_id):
        raise Refused(UNKNOWN_CHANNEL)
    return channel


def _own(state: State, call: Call) -> Message:
    """A message of this webhook; one in a thread is found only with the thread's id."""
    webhook = opened(state, call)
    place = call.query.get("thread_id", webhook.channel_id)
    message = state.message(call.params["message_id"], place)
    if message.author.webhook_id != webhook.id:
        raise Refused(UNKNOWN_MESSAGE)
    return message


def _name_errors(name: Any, field: str) -> Iterator[FormError]:
    yield from between(name, 1, 80, (field,))
    for word in NOT_IN_NAMES:
        if isinstance(name, str) and word in name.lower():
            yield FormError(
                place=(field,),
                code="USERNAME_INVALID_CONTAINS",
                message=f'Username cannot contain "{word}"',
            )
