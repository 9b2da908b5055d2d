"""Whom a message notifies: what its text names, within what is allowed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.problem import FormError

KINDS = ("users", "roles", "everyone")
BY_BOT: Mapping[str, Any] = {"parse": list(KINDS), "replied_user": True}
BY_WEBHOOK: Mapping[str, Any] = {"parse": ["users"], "replied_user": True}
MOST_IDS = 100

_USER = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_EVERYONE = re.compile(r"@(everyone|here)\b")


@frozen
class Pings:
    """Who is notified."""

    everyone: bool = False
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


NOBODY = Pings()


def pings_of(content: str, allowed: Mapping[str, Any], replied_user: str | None = None) -> Pings:
    """Return whom this text notifies; `replied_user` wrote what it answers."""
    users = _allowed(_USER.findall(content), allowed, "users")
    if replied_user and allowed.get("replied_user"):
        users = tuple(dict.fromkeys((*users, replied_user)))
    everyone = "everyone" in (allowed.get("parse") or ()) and bool(_EVERYONE.search(content))
    roles = _allowed(_ROLE.findall(content), allowed, "roles")
    return Pings(everyone=everyone, users=users, roles=roles)


def mention_errors(allowed: Mapping[str, Any]) -> Iterator[FormError]:
    """What is wrong with an `allowed_mentions`."""
    parse = allowed.get("parse") or []
    for position, kind in enumerate(parse):
        if kind not in KINDS:
            yield FormError(
                place=("allowed_mentions", "parse", position),
                code="BASE_TYPE_CHOICES",
                message=f"Value must be one of {KINDS}.",
            )
    for kind in ("users", "roles"):
        ids = allowed.get(kind)
        if ids is not None and kind in parse:
            yield FormError(
                place=("allowed_mentions",),
                code="MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                message=f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
            )
        if ids is not None and len(ids) > MOST_IDS:
            yield FormError(
                place=("allowed_mentions", kind),
                code="BASE_TYPE_MAX_LENGTH",
                message=f"Must be {MOST_IDS} or fewer in length.",
            )


def _allowed(ids: list[str], allowed: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    named = dict.fromkeys(ids)
    if kind in (allowed.get("parse") or ()):
        return tuple(named)
    return tuple(one for one in named if one in (allowed.get(kind) or ()))
