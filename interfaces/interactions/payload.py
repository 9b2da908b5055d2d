"""What Discord says of an interaction, read with suspicion."""

import re
from collections.abc import Mapping
from typing import Any

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.press import MAX_BUTTON_CHARS, PREFIX, Press

PING, COMPONENT, MODAL_SUBMIT = 1, 3, 5
MAX_TYPE = 255
ADMINISTRATOR, MANAGE_MESSAGES = 1 << 3, 1 << 13

_ID = re.compile(r"[0-9]{1,20}")
_PERMISSIONS = re.compile(r"[0-9]{1,40}")
_LOCALE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,2}")


class NotAnswered(ValueError):
    """It is no interaction, or one of a kind that is not answered here."""


@frozen(kw_only=False)
class Ping:
    """Discord asks whether anybody is there."""


def is_ours(payload: Mapping[str, Any]) -> bool:
    """Whether a button of turnkeeper was pressed; a host answers the others itself."""
    return _text(_object(payload, "data").get("custom_id")).startswith(PREFIX)


def read_interaction(payload: object) -> Ping | Press:
    """What happened.

    Raises:
        NotAnswered: Nothing that is answered here.
    """
    if not isinstance(payload, Mapping):
        raise NotAnswered(f"an interaction is a JSON object, not {type(payload).__name__}")
    kind = payload.get("type")
    if not isinstance(kind, int) or isinstance(kind, bool) or not 0 <= kind <= MAX_TYPE:
        raise NotAnswered(f"an interaction has a type, a number of at most {MAX_TYPE}")
    if kind == PING:
        return Ping()
    if kind not in (COMPONENT, MODAL_SUBMIT):
        raise NotAnswered(f"only pings, components and modals are answered here, not type {kind}")
    return _press(payload, is_sent=kind == MODAL_SUBMIT)


def _press(payload: Mapping[str, Any], *, is_sent: bool) -> Press:
    button = _text(_object(payload, "data").get("custom_id"))
    if not 1 <= len(button) <= MAX_BUTTON_CHARS:
        raise NotAnswered(f"data.custom_id has from 1 to {MAX_BUTTON_CHARS} characters")
    member = _object(payload, "member")
    user_id = _id(_object(member, "user")) or _id(_object(payload, "user"))
    if not user_id:
        raise NotAnswered("a press has a user or a member, with an id")
    locale = _text(payload.get("locale"))
    return Press(
        button=button,
        user_id=user_id,
        message_id=_id(_object(payload, "message")),
        locale=locale if _LOCALE.fullmatch(locale) else "en",
        moderates=_moderates(_text(member.get("permissions"))),
        is_sent=is_sent,
    )


def _moderates(permissions: str) -> bool:
    if not _PERMISSIONS.fullmatch(permissions):
        return False
    return bool(int(permissions) & (ADMINISTRATOR | MANAGE_MESSAGES))


def _object(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _id(value: Mapping[str, Any]) -> str:
    found = _text(value.get("id"))
    return found if _ID.fullmatch(found) else ""
