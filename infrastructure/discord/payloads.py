"""The bodies that are sent, made of nothing but what they say."""

from typing import Any

from turnkeeper.application.ports.sink import Spoken
from turnkeeper.infrastructure.discord.content import MAX_CHARS, fitted, is_visible

Payload = dict[str, Any]

TITLE_CHARS = 256
DESCRIPTION_CHARS = 4096
RED = 0xD83C3E
AMBER = 0xE0A030
GREY = 0x80848E

_ACTION_ROW, _BUTTON, _SECONDARY = 1, 2, 2
_LABEL_CHARS = 80
_MAX_AVATAR_URL_CHARS = 2048
_REPLY = 0


def text(content: str) -> Payload:
    """A message, or an edit of one, that says this and pings nobody."""
    return {"content": fitted(content, MAX_CHARS), "allowed_mentions": pinging_nobody()}


def card(spoken: Spoken, *, colour: int) -> Payload:
    """A message whose one embed says this."""
    embed: Payload = {"color": colour}
    lines = (spoken.text, *spoken.tips)
    description = "\n\n".join(line for line in lines if is_visible(line))
    # Both together stay below the 6,000 characters that a message's embeds may have.
    if is_visible(spoken.title):
        embed["title"] = fitted(spoken.title, TITLE_CHARS)
    if description:
        embed["description"] = fitted(description, DESCRIPTION_CHARS)
    return {"embeds": [embed], "allowed_mentions": pinging_nobody()}


def button(label: str, custom_id: str, *, is_disabled: bool = False) -> Payload:
    """A message that is one button."""
    press: Payload = {
        "type": _BUTTON,
        "style": _SECONDARY,
        "label": fitted(label, _LABEL_CHARS),
        "custom_id": custom_id,
        "disabled": is_disabled,
    }
    return {
        "components": [{"type": _ACTION_ROW, "components": [press]}],
        "allowed_mentions": pinging_nobody(),
    }


def once(payload: Payload, nonce: str) -> Payload:
    """The same message, posted at most once however often it is sent."""
    return {**payload, "nonce": nonce, "enforce_nonce": True}


def replying(payload: Payload, channel_id: str, message_id: str) -> Payload:
    """The same message as a reply; where what it replies to is gone, a plain one."""
    reference = {
        "type": _REPLY,
        "message_id": message_id,
        "channel_id": channel_id,
        "fail_if_not_exists": False,
    }
    return {**payload, "message_reference": reference}


def speaking_as(payload: Payload, name: str | None, avatar_url: str | None) -> Payload:
    """The same message of a webhook under this name and picture."""
    voiced = dict(payload)
    if name is not None:
        voiced["username"] = name
    if avatar_url and len(avatar_url) <= _MAX_AVATAR_URL_CHARS:
        voiced["avatar_url"] = avatar_url
    return voiced


def pinging_nobody() -> Payload:
    """Said on every message and edit, as Discord pings people where it is left out."""
    return {"parse": [], "replied_user": False}
