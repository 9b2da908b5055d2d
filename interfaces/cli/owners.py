"""Whose settings a command is about."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from turnkeeper.domain.owner import Owner

F = TypeVar("F", bound=Callable[..., Any])
LOCAL = "local"

server_option = click.option(
    "--server", "server_id", default=LOCAL, show_default=True, help="Whose models and keys."
)


def owner_options(command: F) -> F:
    """Give a command `--server` and `--user`; at most one of them is given."""
    for_user = click.option("--user", "user_id", help="A user's own, in place of a server's.")
    for_server = click.option("--server", "server_id", help="A server's; local if none is named.")
    return for_server(for_user(command))


def owner_of(server_id: str | None, user_id: str | None) -> Owner | None:
    """The owner that was named, or None."""
    if server_id is not None and user_id is not None:
        raise click.UsageError("give --server or --user, not both")
    try:
        if user_id is not None:
            return Owner.user(user_id)
        return None if server_id is None else Owner.server(server_id)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def owner_or_local(server_id: str | None, user_id: str | None) -> Owner:
    """The owner that was named, else the local server."""
    return owner_of(server_id, user_id) or Owner.server(LOCAL)
