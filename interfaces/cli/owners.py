"""Whose settings a command is about."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from turnkeeper.domain.owner import Owner

F = TypeVar("F", bound=Callable[..., Any])
LOCAL = "local"


class OwnerId(click.ParamType[str]):
    """The id of a server or a user."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return Owner.server(value).id
        except ValueError as error:
            self.fail(str(error), param, ctx)


OWNER_ID = OwnerId()
server_option = click.option(
    "--server",
    "server_id",
    type=OWNER_ID,
    default=LOCAL,
    show_default=True,
    help="Whose models and keys.",
)


def owner_options(command: F) -> F:
    """Give a command `--server` and `--user`; at most one of them is given."""
    for_user = click.option(
        "--user", "user_id", type=OWNER_ID, help="A user's own, in place of a server's."
    )
    for_server = click.option(
        "--server", "server_id", type=OWNER_ID, help="A server's; local if none is named."
    )
    return for_server(for_user(command))


def owner_of(server_id: str | None, user_id: str | None) -> Owner | None:
    """The owner that was named, or None."""
    if server_id is not None and user_id is not None:
        raise click.UsageError("give --server or --user, not both")
    if user_id is not None:
        return Owner.user(user_id)
    return None if server_id is None else Owner.server(server_id)


def owner_or_local(server_id: str | None, user_id: str | None) -> Owner:
    """The owner that was named, else the local server."""
    return owner_of(server_id, user_id) or Owner.server(LOCAL)
