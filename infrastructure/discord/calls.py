"""The calls that are made, each by what it does."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.codes import CANNOT_SPEAK, CHANNEL_CLOSED, CHANNEL_GONE
from turnkeeper.infrastructure.discord.snowflake import is_snowflake, made_at
from turnkeeper.infrastructure.discord.webhook import Webhook

Body = Mapping[str, Any]

_MESSAGES = "/channels/{channel}/messages"
_MESSAGE = "/channels/{channel}/messages/{message}"
_HOOKED = "/webhooks/{webhook}/{token}/messages/{message}"
BULK_AGE = timedelta(days=14)


def create_message(channel_id: str, body: Body) -> Call:
    """Post as the bot; repeatable, as the body holds a nonce that Discord enforces."""
    return Call(
        verb="POST",
        template=_MESSAGES,
        path=f"/channels/{_part(channel_id)}/messages",
        major=channel_id,
        body=body,
        repeatable=body.get("enforce_nonce") is True and bool(body.get("nonce")),
        gone=CANNOT_SPEAK,
    )


def edit_message(channel_id: str, message_id: str, body: Body) -> Call:
    """Edit what the bot posted."""
    return Call(
        verb="PATCH",
        template=_MESSAGE,
        path=_message_path(channel_id, message_id),
        major=channel_id,
        body=body,
        gone=CHANNEL_CLOSED,
    )


def delete_message(channel_id: str, message_id: str, *, now: datetime) -> Call:
    """Delete anybody's message; Discord limits it by the message's age."""
    return Call(
        verb="DELETE",
        template=f"{_MESSAGE} {_age(message_id, now)}",
        path=_message_path(channel_id, message_id),
        major=channel_id,
    )


def delete_messages(channel_id: str, message_ids: Sequence[str]) -> Call:
    """Delete 2 to 100 different messages, none older than two weeks."""
    return Call(
        verb="POST",
        template=f"{_MESSAGES}/bulk-delete",
        path=f"/channels/{_part(channel_id)}/messages/bulk-delete",
        major=channel_id,
        body={"messages": list(message_ids)},
    )


def read_message(channel_id: str, message_id: str) -> Call:
    """Look whether a message is there."""
    return Call(
        verb="GET",
        template=_MESSAGE,
        path=_message_path(channel_id, message_id),
        major=channel_id,
    )


def list_messages(channel_id: str, *, after: str | None = None, limit: int = 100) -> Call:
    """List messages: the latest, or the first ones after an id; either way the latest first."""
    query: dict[str, str | int] = {"limit": limit}
    if after is not None:
        query["after"] = after
    return Call(
        verb="GET",
        template=_MESSAGES,
        path=f"/channels/{_part(channel_id)}/messages?{urlencode(query)}",
        major=channel_id,
        gone=CHANNEL_CLOSED,
    )


def show_typing(channel_id: str) -> Call:
    """Show that the bot types, for ten seconds or until it posts."""
    return Call(
        verb="POST",
        template="/channels/{channel}/typing",
        path=f"/channels/{_part(channel_id)}/typing",
        major=channel_id,
        insists=False,
    )


def unarchive(thread_id: str) -> Call:
    """Open an archived thread again."""
    return Call(
        verb="PATCH",
        template="/channels/{channel}",
        path=f"/channels/{_part(thread_id)}",
        major=thread_id,
        body={"archived": False},
    )


def read_own_user() -> Call:
    """Say who the bot is."""
    return Call(verb="GET", template="/users/@me", path="/users/@me")


# ── webhooks ────────────────────────────────────────────────────────────────────────────────


def list_webhooks(channel_id: str) -> Call:
    """List a channel's webhooks."""
    return Call(
        verb="GET",
        template="/channels/{channel}/webhooks",
        path=f"/channels/{_part(channel_id)}/webhooks",
        major=channel_id,
        gone=CHANNEL_GONE,
    )


def create_webhook(channel_id: str, body: Body) -> Call:
    """Make a webhook; a second call makes a second one."""
    return Call(
        verb="POST",
        template="/channels/{channel}/webhooks",
        path=f"/channels/{_part(channel_id)}/webhooks",
        major=channel_id,
        body=body,
        repeatable=False,
        gone=CHANNEL_GONE,
    )


def delete_webhook(webhook_id: str) -> Call:
    """Delete a webhook as the bot."""
    return Call(
        verb="DELETE",
        template="/webhooks/{webhook}",
        path=f"/webhooks/{_part(webhook_id)}",
        major=webhook_id,
    )


def execute_webhook(webhook: Webhook, body: Body, *, thread_id: str | None) -> Call:
    """Post as a webhook; never repeatable, as there is no nonce.

    Without ``wait`` Discord answers before it has saved anything, and with no id.
    """
    query = {"wait": "true", **_thread(thread_id)}
    return Call(
        verb="POST",
        template="/webhooks/{webhook}/{token}",
        path=f"{_hook_path(webhook)}?{urlencode(query)}",
        major=webhook.id,
        body=body,
        by_bot=False,
        repeatable=False,
        gone=CANNOT_SPEAK,
    )


def edit_webhook_message(
    webhook: Webhook, message_id: str, body: Body, *, thread_id: str | None
) -> Call:
    """Edit what this webhook posted."""
    return Call(
        verb="PATCH",
        template=_HOOKED,
        path=_hooked_path(webhook, message_id, thread_id),
        major=webhook.id,
        body=body,
        by_bot=False,
        gone=CHANNEL_CLOSED,
    )


def delete_webhook_message(webhook: Webhook, message_id: str, *, thread_id: str | None) -> Call:
    """Delete what this webhook posted; in a thread only with the thread's id."""
    return Call(
        verb="DELETE",
        template=_HOOKED,
        path=_hooked_path(webhook, message_id, thread_id),
        major=webhook.id,
        by_bot=False,
    )


# ── addresses ───────────────────────────────────────────────────────────────────────────────


def _part(text: str) -> str:
    return quote(text, safe="")


def _message_path(channel_id: str, message_id: str) -> str:
    return f"/channels/{_part(channel_id)}/messages/{_part(message_id)}"


def _hook_path(webhook: Webhook) -> str:
    return f"/webhooks/{_part(webhook.id)}/{_part(webhook.token.reveal())}"


def _hooked_path(webhook: Webhook, message_id: str, thread_id: str | None) -> str:
    path = f"{_hook_path(webhook)}/messages/{_part(message_id)}"
    query = urlencode(_thread(thread_id))
    return f"{path}?{query}" if query else path


def _thread(thread_id: str | None) -> dict[str, str]:
    return {} if thread_id is None else {"thread_id": thread_id}


def _age(message_id: str, now: datetime) -> str:
    if not is_snowflake(message_id):
        return "of any age"
    age = now - made_at(message_id)
    if age < timedelta(seconds=10):
        return "of seconds"
    return "of days" if age < BULK_AGE else "of weeks"
