"""Servers: what each has set, and the rules under which it lends its models."""

from typing import Any

import click

from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import server_option
from turnkeeper.interfaces.cli.present import json_option
from turnkeeper.interfaces.cli.sampling import applied, sampling_options, taken
from turnkeeper.interfaces.cli.settings_view import changed, list_owners, show


@click.group()
def server() -> None:
    """See and set what a server has set."""


@server.command("list")
@json_option
@click.pass_obj
def list_servers(installation: Installation, as_json: bool) -> None:
    """List the servers that have set anything."""
    list_owners(installation, OwnerKind.SERVER, as_json)


@server.command("show")
@server_option
@json_option
@click.pass_obj
def show_server(installation: Installation, server_id: str, as_json: bool) -> None:
    """Show all that a server has set."""
    with installation.turnkeeper() as keeper:
        show(keeper, Owner.server(server_id), as_json=as_json)


@server.command("set")
@server_option
@click.option(
    "--member-keys-only/--lend-models",
    "member_keys_only",
    default=None,
    help="Whether members must bring their own keys, or may use the server's models.",
)
@click.option(
    "--content-filter",
    type=click.Choice([one.value for one in ContentFilterPolicy]),
    help="Where a provider refuses the content: ask the next model, or stop.",
)
@sampling_options
@json_option
@click.pass_obj
def set_server(
    installation: Installation, /, server_id: str, as_json: bool, **options: Any
) -> None:
    """Set a server's rules, and what its requests set; what is not given stays."""
    sampling = taken(options)
    given = changed({**options, "sampling": sampling or None})
    with installation.turnkeeper() as keeper:
        policy = given.get("content_filter")
        keeper.configure.set_rules(
            server_id,
            member_keys_only=given.get("member_keys_only"),
            content_filter=ContentFilterPolicy(policy) if policy else None,
            sampling=(lambda now: applied(now, sampling)) if sampling else None,
        )
        show(keeper, Owner.server(server_id), *given, as_json=as_json)


@server.command("reset")
@server_option
@json_option
@click.pass_obj
def reset_server(installation: Installation, server_id: str, as_json: bool) -> None:
    """Set nothing any more; keys and endpoints stay."""
    with installation.turnkeeper() as keeper:
        keeper.configure.reset_server(server_id)
        show(keeper, Owner.server(server_id), as_json=as_json)
