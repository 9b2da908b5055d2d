"""Users: what each has set for the user's own turns."""

import click

from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import OWNER_ID
from turnkeeper.interfaces.cli.present import json_option
from turnkeeper.interfaces.cli.settings_view import changed, list_owners, show

user_option = click.option(
    "--user", "user_id", type=OWNER_ID, required=True, help="Whose settings."
)


@click.group()
def user() -> None:
    """See and set what a user has set."""


@user.command("list")
@json_option
@click.pass_obj
def list_users(installation: Installation, as_json: bool) -> None:
    """List the users who have set anything."""
    list_owners(installation, OwnerKind.USER, as_json)


@user.command("show")
@user_option
@json_option
@click.pass_obj
def show_user(installation: Installation, user_id: str, as_json: bool) -> None:
    """Show all that a user has set."""
    with installation.turnkeeper() as keeper:
        show(keeper, Owner.user(user_id), as_json=as_json)


@user.command("set")
@user_option
@click.option(
    "--server-fallback/--no-server-fallback",
    "server_fallback",
    default=None,
    help="Whether the server may answer where the user's own keys fail.",
)
@json_option
@click.pass_obj
def set_user(
    installation: Installation, user_id: str, as_json: bool, server_fallback: bool | None
) -> None:
    """Set whether the server may answer where the user's own keys fail."""
    allowed = changed({"server_fallback": server_fallback})["server_fallback"]
    with installation.turnkeeper() as keeper:
        keeper.configure.allow_server_fallback(user_id, allowed)
        show(keeper, Owner.user(user_id), "server_fallback", as_json=as_json)


@user.command("reset")
@user_option
@json_option
@click.pass_obj
def reset_user(installation: Installation, user_id: str, as_json: bool) -> None:
    """Set nothing any more; keys and endpoints stay."""
    with installation.turnkeeper() as keeper:
        keeper.configure.reset_user(user_id)
        show(keeper, Owner.user(user_id), as_json=as_json)
