"""The table of routes, and the way from a request to a call."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from turnkeeper.infrastructure.discord_double.call import Call, Reply, Route
from turnkeeper.infrastructure.discord_double.channel_routes import (
    change_channel,
    get_channel,
    me,
    type_in_channel,
)
from turnkeeper.infrastructure.discord_double.delete_routes import delete_message, delete_messages
from turnkeeper.infrastructure.discord_double.interaction_routes import (
    ORIGINAL,
    answer_interaction,
    delete_follow_up,
    edit_follow_up,
    follow_up,
    get_follow_up,
)
from turnkeeper.infrastructure.discord_double.message_routes import (
    create_message,
    edit_message,
    get_message,
    list_messages,
)
from turnkeeper.infrastructure.discord_double.problem import (
    INVALID_VERSION,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    FormError,
    Refused,
    refuse_form,
)
from turnkeeper.infrastructure.discord_double.state import State
from turnkeeper.infrastructure.discord_double.webhook_routes import (
    create_webhook,
    delete_webhook,
    delete_webhook_by_token,
    delete_webhook_message,
    edit_webhook_message,
    execute_webhook,
    get_webhook,
    get_webhook_message,
    list_webhooks,
)

VERSIONS = ("v9", "v10")
BASE_PATH = "/api/v10"

_CHANNEL = "/channels/{channel_id}"
_MESSAGE = f"{_CHANNEL}/messages/{{message_id}}"
_WEBHOOK = "/webhooks/{webhook_id}/{token}"
_BY_CHANNEL = ("channel_id",)
_BY_WEBHOOK = ("webhook_id", "token")

BOT_ROUTES = (
    Route(name="me", method="GET", path="/users/@me", answer=me),
    *(
        Route(name=answer.__name__, method=method, path=path, answer=answer, major=_BY_CHANNEL)
        for method, path, answer in (
            ("GET", _CHANNEL, get_channel),
            ("PATCH", _CHANNEL, change_channel),
            ("POST", f"{_CHANNEL}/typing", type_in_channel),
            ("POST", f"{_CHANNEL}/messages/bulk-delete", delete_messages),
            ("GET", f"{_CHANNEL}/messages", list_messages),
            ("POST", f"{_CHANNEL}/messages", create_message),
            ("GET", _MESSAGE, get_message),
            ("PATCH", _MESSAGE, edit_message),
            ("DELETE", _MESSAGE, delete_message),
            ("GET", f"{_CHANNEL}/webhooks", list_webhooks),
            ("POST", f"{_CHANNEL}/webhooks", create_webhook),
        )
    ),
    Route(
        name="delete_webhook",
        method="DELETE",
        path="/webhooks/{webhook_id}",
        answer=delete_webhook,
        major=("webhook_id",),
    ),
)
WEBHOOK_ROUTES = tuple(
    Route(
        name=answer.__name__,
        method=method,
        path=path,
        answer=answer,
        major=_BY_WEBHOOK,
        auth="path",
    )
    for method, path, answer in (
        ("GET", _WEBHOOK, get_webhook),
        ("DELETE", _WEBHOOK, delete_webhook_by_token),
        ("POST", _WEBHOOK, execute_webhook),
        ("GET", f"{_WEBHOOK}/messages/{{message_id}}", get_webhook_message),
        ("PATCH", f"{_WEBHOOK}/messages/{{message_id}}", edit_webhook_message),
        ("DELETE", f"{_WEBHOOK}/messages/{{message_id}}", delete_webhook_message),
    )
)
# These share the paths of webhooks: the application's id stands where a webhook's would.
FOLLOW_UPS = tuple(
    Route(
        name=answer.__name__,
        method=method,
        path=path,
        answer=answer,
        major=_BY_WEBHOOK,
        auth="path",
    )
    for method, path, answer in (
        ("POST", _WEBHOOK, follow_up),
        ("GET", f"{_WEBHOOK}/messages/{{message_id}}", get_follow_up),
        ("PATCH", f"{_WEBHOOK}/messages/{{message_id}}", edit_follow_up),
        ("DELETE", f"{_WEBHOOK}/messages/{{message_id}}", delete_follow_up),
    )
)
CALLBACK = Route(
    name="answer_interaction",
    method="POST",
    path="/interactions/{interaction_id}/{token}/callback",
    answer=answer_interaction,
    auth="path",
)
ROUTES = (*BOT_ROUTES, *WEBHOOK_ROUTES, CALLBACK, *FOLLOW_UPS)
OF_INTERACTIONS = frozenset(route.name for route in (CALLBACK, *FOLLOW_UPS))


def found(
    method: str, target: str, body: Mapping[str, Any], application_id: str
) -> tuple[Route, Call]:
    """Return the route of a request, and the call that it is.

    Raises:
        Refused: There is no such route, version or method.
    """
    path, _, query = target.partition("?")
    table = (CALLBACK, *FOLLOW_UPS) if f"/webhooks/{application_id}/" in path else ROUTES
    fitting = [
        (route, params)
        for route in table
        if (params := _params(route, _below_version(path))) is not None
    ]
    for route, params in fitting:
        if route.method == method:
            call = Call(
                route=route.name,
                method=method,
                params=params,
                query=dict(parse_qsl(query)),
                body=body,
            )
            return route, call
    raise Refused(METHOD_NOT_ALLOWED if fitting else NOT_FOUND)


def answer(state: State, route: Route, call: Call) -> Reply:
    """Do what a call asks for.

    Raises:
        Refused: It is not done.
    """
    refuse_form(
        FormError(
            place=(name,),
            code="NUMBER_TYPE_COERCE",
            message=f'Value "{value}" is not snowflake.',
        )
        for name, value in (*call.params.items(), *call.query.items())
        if name.endswith("_id") or name in ("before", "after", "around")
        if not value.isdecimal() and value != ORIGINAL
    )
    return route.answer(state, call)


def _below_version(path: str) -> str:
    if not path.startswith("/api/"):
        raise Refused(NOT_FOUND)
    version, _, rest = path.removeprefix("/api/").partition("/")
    if version not in VERSIONS:
        raise Refused(INVALID_VERSION)
    return f"/{rest}"


def _params(route: Route, path: str) -> dict[str, str] | None:
    pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path)
    matched = re.fullmatch(pattern, path)
    if matched is None or "bulk-delete" in matched.groupdict().values():
        return None
    return {name: unquote(value) for name, value in matched.groupdict().items()}
