"""The JSON in which things are shown to the application."""

from typing import Any

from turnkeeper.infrastructure.discord_double.message import Author, Message
from turnkeeper.infrastructure.discord_double.places import Channel, Webhook
from turnkeeper.infrastructure.discord_double.state import State


def user_json(author: Author) -> dict[str, Any]:
    """A user object."""
    return {
        "id": author.id,
        "username": author.name,
        "discriminator": "0000" if author.webhook_id or author.bot else "0",
        "global_name": None,
        "avatar": author.avatar,
        "public_flags": 0,
        **({"bot": True} if author.bot or author.webhook_id else {}),
    }


def message_json(state: State, message: Message) -> dict[str, Any]:
    """A message object; the answer to a reply brings what it answers."""
    body = _plain(state, message)
    if message.reply_to is not None:
        channel = state.channels[message.channel_id]
        answered = state.messages.get(message.reply_to)
        body["message_reference"] = {
            "type": 0,
            "channel_id": message.channel_id,
            "message_id": message.reply_to,
            **({"guild_id": channel.guild_id} if channel.guild_id else {}),
        }
        body["referenced_message"] = _plain(state, answered) if answered else None
    return body


def _plain(state: State, message: Message) -> dict[str, Any]:
    edited = message.edited_at
    body: dict[str, Any] = {
        "id": message.id,
        "channel_id": message.channel_id,
        "type": 0 if message.reply_to is None else 19,
        "author": user_json(message.author),
        "content": message.content,
        "timestamp": message.posted_at.isoformat(timespec="microseconds"),
        "edited_timestamp": edited.isoformat(timespec="microseconds") if edited else None,
        "tts": False,
        "mention_everyone": message.pings.everyone,
        "mentions": [_mentioned(state, user_id) for user_id in message.pings.users],
        "mention_roles": list(message.pings.roles),
        "attachments": [],
        "embeds": list(message.embeds),
        "components": list(message.components),
        "pinned": False,
        "flags": message.flags,
    }
    if message.author.webhook_id:
        body["webhook_id"] = message.author.webhook_id
    if message.application_id:
        body["application_id"] = message.application_id
    if message.nonce is not None:
        body["nonce"] = message.nonce
    return body


def _mentioned(state: State, user_id: str) -> dict[str, Any]:
    known = (one.author for one in state.messages.values() if one.author.id == user_id)
    return user_json(next(known, Author(id=user_id, name=f"user-{user_id}")))


def channel_json(state: State, channel: Channel) -> dict[str, Any]:
    """A channel object."""
    said = state.shown(channel.id)
    body: dict[str, Any] = {
        "id": channel.id,
        "type": channel.kind,
        "last_message_id": said[-1].id if said else None,
        "flags": 0,
    }
    if channel.guild_id is None:
        return {**body, "recipients": []}
    body |= {"guild_id": channel.guild_id, "name": channel.name, "rate_limit_per_user": 0}
    body["parent_id"] = channel.parent_id
    if not channel.is_thread:
        return {**body, "position": 0, "permission_overwrites": [], "nsfw": False, "topic": None}
    return {
        **body,
        "owner_id": state.bot.id,
        "message_count": len(said),
        "member_count": 1,
        "thread_metadata": {
            "archived": channel.archived,
            "auto_archive_duration": 1440,
            "archive_timestamp": state.clock.now().isoformat(timespec="microseconds"),
            "locked": channel.locked,
        },
    }


def webhook_json(state: State, webhook: Webhook) -> dict[str, Any]:
    """A webhook object; the token of another application's is kept back."""
    body: dict[str, Any] = {
        "id": webhook.id,
        "type": 1,
        "name": webhook.name,
        "avatar": webhook.avatar,
        "channel_id": webhook.channel_id,
        "guild_id": webhook.guild_id,
        "application_id": webhook.application_id,
        "user": user_json(state.bot),
    }
    if webhook.application_id in (None, state.application_id):
        body["token"] = webhook.token
    return body
