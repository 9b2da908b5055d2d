"""The JSON in which an application hears of an interaction."""

from collections.abc import Mapping
from typing import Any

from turnkeeper.infrastructure.discord_double.component_rules import BUTTON, nested, numbered
from turnkeeper.infrastructure.discord_double.form_rules import entries
from turnkeeper.infrastructure.discord_double.interaction import PING, Interaction
from turnkeeper.infrastructure.discord_double.message import Message
from turnkeeper.infrastructure.discord_double.places import Channel
from turnkeeper.infrastructure.discord_double.rendered import channel_json, message_json, user_json
from turnkeeper.infrastructure.discord_double.state import State

ALL_PERMISSIONS = str((1 << 50) - 1)


def interaction_json(
    state: State, interaction: Interaction, data: Mapping[str, Any]
) -> dict[str, Any]:
    """What is sent for a press or a modal."""
    channel = state.channels[interaction.channel_id]
    message = state.messages.get(interaction.message_id or "")
    body: dict[str, Any] = {
        "version": 1,
        "id": interaction.id,
        "application_id": state.application_id,
        "type": interaction.kind,
        "token": interaction.token,
        "data": dict(data),
        "channel_id": channel.id,
        "channel": channel_json(state, channel),
        "locale": "en-GB",
        "app_permissions": ALL_PERMISSIONS,
        "entitlements": [],
        "authorizing_integration_owners": {"0": channel.guild_id or "0"},
        "context": 0 if channel.guild_id else 1,
        "attachment_size_limit": 10_485_760,
    }
    if message is not None:
        body["message"] = message_json(state, message)
    return body | _presser(interaction, channel)


def ping_json(state: State) -> dict[str, Any]:
    """What is sent to see whether the endpoint is there."""
    return {
        "version": 1,
        "id": state.snowflakes.next(),
        "application_id": state.application_id,
        "type": PING,
        "token": "ping",  # nosec B105 - a ping has no token worth the name
        "entitlements": [],
    }


def pressed_data(message: Message, custom_id: str) -> dict[str, Any]:
    """The data of a press.

    Raises:
        LookupError: The message has no such button, or nobody can press it.
    """
    for component in nested(message.components):
        if component.get("type") == BUTTON and component.get("custom_id") == custom_id:
            if component.get("disabled"):
                raise LookupError(f"the button {custom_id!r} of message {message.id} is disabled")
            return {"component_type": BUTTON, "custom_id": custom_id, "id": component["id"]}
    raise LookupError(f"message {message.id} has no button {custom_id!r}")


def submitted_data(modal: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """The data of a modal that is sent off; a text display is echoed by its number alone."""
    components = [_echo(one, values) for one in numbered(modal.get("components"))]
    return {"custom_id": modal["custom_id"], "components": components}


def _echo(component: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    echo = {"type": component["type"], "id": component["id"]}
    if "custom_id" in component:
        custom_id = component["custom_id"]
        value = values.get(custom_id, component.get("value") or "")
        echo |= {"custom_id": custom_id, "value": value}
    if "components" in component:
        echo["components"] = [_echo(one, values) for one in entries(component["components"])]
    if "component" in component:
        echo["component"] = _echo(component["component"], values)
    return echo


def _presser(interaction: Interaction, channel: Channel) -> dict[str, Any]:
    user = user_json(interaction.user)
    if channel.guild_id is None:
        return {"user": user}
    member: dict[str, Any] = {
        "user": user,
        "roles": [],
        "nick": None,
        "avatar": None,
        "joined_at": "2020-01-01T00:00:00.000000+00:00",
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "pending": False,
        "flags": 0,
        "permissions": ALL_PERMISSIONS,
    }
    return {"member": member, "guild_id": channel.guild_id, "guild_locale": "en-GB"}
