"""Which of the host's tools a server's turns may call."""

import re

import click

from turnkeeper.domain.owner import Owner
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import server_option
from turnkeeper.interfaces.cli.present import json_option
from turnkeeper.interfaces.cli.settings_view import show

TOOLS_OFF = "tools_off"
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


@click.group()
def tool() -> None:
    """Switch the host's tools off and on for a server's turns."""


@tool.command("off")
@click.argument("name", metavar="TOOL")
@server_option
@json_option
@click.pass_obj
def tool_off(installation: Installation, name: str, server_id: str, as_json: bool) -> None:
    """Let no model call TOOL there.

    Turns of users who want none of the server's models ask nothing of it, and may call all tools.
    """
    _switch(installation, name, server_id, on=False, as_json=as_json)


@tool.command("on")
@click.argument("name", metavar="TOOL")
@server_option
@json_option
@click.pass_obj
def tool_on(installation: Installation, name: str, server_id: str, as_json: bool) -> None:
    """Let models call TOOL there again."""
    _switch(installation, name, server_id, on=True, as_json=as_json)


@tool.command("list")
@server_option
@json_option
@click.pass_obj
def list_tools(installation: Installation, server_id: str, as_json: bool) -> None:
    """List the tools that are off; all others are on."""
    with installation.turnkeeper() as keeper:
        show(keeper, Owner.server(server_id), TOOLS_OFF, as_json=as_json)


def _switch(
    installation: Installation, name: str, server_id: str, *, on: bool, as_json: bool
) -> None:
    if not _NAME.fullmatch(name):
        raise click.BadParameter(
            f"a tool's name has letters, digits, _ and -, and at most 64 of them, not {name!r}"
        )
    with installation.turnkeeper() as keeper:
        keeper.configure.switch_tool(server_id, name, on)
        show(keeper, Owner.server(server_id), TOOLS_OFF, as_json=as_json)
