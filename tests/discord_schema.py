"""What Discord takes, written down from its documentation: bodies of messages and webhooks."""

from typing import Any

import jsonschema

SNOWFLAKE = {"type": "string", "pattern": r"\A[0-9]{1,20}\Z"}

MENTIONS = {
    "type": "object",
    "required": ["parse", "replied_user"],
    "properties": {"parse": {"const": []}, "replied_user": {"const": False}},
    "additionalProperties": False,
}
EMBED = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 256},
        "description": {"type": "string", "minLength": 1, "maxLength": 4096},
        "color": {"type": "integer", "minimum": 0, "maximum": 0xFFFFFF},
    },
    "anyOf": [{"required": ["title"]}, {"required": ["description"]}],
    "additionalProperties": False,
}
BUTTON = {
    "type": "object",
    "required": ["type", "style", "label", "custom_id"],
    "properties": {
        "type": {"const": 2},
        "style": {"enum": [1, 2, 3, 4]},
        "label": {"type": "string", "minLength": 1, "maxLength": 80},
        "custom_id": {"type": "string", "minLength": 1, "maxLength": 100},
        "disabled": {"type": "boolean"},
    },
    "additionalProperties": False,
}
ROW = {
    "type": "object",
    "required": ["type", "components"],
    "properties": {
        "type": {"const": 1},
        "components": {"type": "array", "items": BUTTON, "minItems": 1, "maxItems": 5},
    },
    "additionalProperties": False,
}
COMMON: dict[str, Any] = {
    "content": {"type": "string", "pattern": r"\S", "maxLength": 2000},
    "embeds": {"type": "array", "items": EMBED, "minItems": 1, "maxItems": 10},
    "components": {"type": "array", "items": ROW, "minItems": 1, "maxItems": 5},
    "allowed_mentions": MENTIONS,
}
SAYS_SOMETHING = [{"required": [name]} for name in ("content", "embeds", "components")]
REFERENCE = {
    "type": "object",
    "required": ["type", "message_id", "channel_id", "fail_if_not_exists"],
    "properties": {
        "type": {"const": 0},
        "message_id": SNOWFLAKE,
        "channel_id": SNOWFLAKE,
        "fail_if_not_exists": {"const": False},
    },
    "additionalProperties": False,
}
OF_BOT = {
    "type": "object",
    "required": ["allowed_mentions", "nonce", "enforce_nonce"],
    "properties": {
        **COMMON,
        "nonce": {"type": "string", "minLength": 1, "maxLength": 25},
        "enforce_nonce": {"const": True},
        "message_reference": REFERENCE,
    },
    "anyOf": SAYS_SOMETHING,
    "additionalProperties": False,
}
OF_WEBHOOK = {
    "type": "object",
    "required": ["allowed_mentions"],
    "properties": {
        **COMMON,
        "username": {
            "type": "string",
            "minLength": 1,
            "maxLength": 80,
            "not": {"pattern": "[cC][lL][yY][dD][eE]|[dD][iI][sS][cC][oO][rR][dD]"},
        },
        "avatar_url": {"type": "string", "minLength": 1, "maxLength": 2048},
    },
    "anyOf": SAYS_SOMETHING,
    "additionalProperties": False,
}
EDIT = {
    "type": "object",
    "required": ["allowed_mentions"],
    "properties": COMMON,
    "anyOf": SAYS_SOMETHING,
    "additionalProperties": False,
}


_VALIDATORS = {id(one): jsonschema.Draft202012Validator(one) for one in (OF_BOT, OF_WEBHOOK, EDIT)}


def check(body: object, schema: dict[str, Any]) -> None:
    """Return if Discord would take the body, as far as it says.

    Raises:
        ValidationError: It would not.
    """
    _VALIDATORS[id(schema)].validate(body)
    embeds = body.get("embeds", []) if isinstance(body, dict) else []
    total = sum(len(one.get("title", "")) + len(one.get("description", "")) for one in embeds)
    assert total <= 6000
