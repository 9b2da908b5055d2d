"""How much of its models a server lends: quota and message cooldown."""

from typing import Any

import click

from turnkeeper.domain.admission import CooldownRule, CooldownType
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.owner import Owner
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import server_option
from turnkeeper.interfaces.cli.present import json_option
from turnkeeper.interfaces.cli.settings_view import changed, show

TYPES = click.Choice([one.value for one in CooldownType])
LENGTH = click.IntRange(1, 86_400)


@click.group()
def quota() -> None:
    """Limit how many turns a server pays for."""


@quota.command("set")
@server_option
@click.option(
    "--per-user",
    "daily_per_user",
    type=click.IntRange(0, 100),
    help="Turns a user and UTC day; 0 is unlimited.",
)
@click.option(
    "--server-wide", type=click.IntRange(0, 99_999), help="Turns of all a period; 0 is unlimited."
)
@click.option("--period", "period_days", type=click.IntRange(1, 365), help="Its length in days.")
@click.option("--on/--off", "enabled", default=None, help="Whether it counts; on if not said.")
@json_option
@click.pass_obj
def set_quota(installation: Installation, /, server_id: str, as_json: bool, **options: Any) -> None:
    """Set the quota and switch it on; what is not given stays."""
    given = {"enabled": True, **changed(options)}
    with installation.turnkeeper() as keeper:
        now = keeper.configure.server(server_id).quota
        keeper.configure.set_quota(server_id, replace(now, **given))
        show(keeper, Owner.server(server_id), "quota", as_json=as_json)


@quota.command("off")
@server_option
@json_option
@click.pass_obj
def quota_off(installation: Installation, server_id: str, as_json: bool) -> None:
    """Limit nothing; the numbers stay."""
    with installation.turnkeeper() as keeper:
        now = keeper.configure.server(server_id).quota
        keeper.configure.set_quota(server_id, replace(now, enabled=False))
        show(keeper, Owner.server(server_id), "quota", as_json=as_json)


@quota.command("show")
@server_option
@json_option
@click.pass_obj
def show_quota(installation: Installation, server_id: str, as_json: bool) -> None:
    """Show a server's quota."""
    with installation.turnkeeper() as keeper:
        show(keeper, Owner.server(server_id), "quota", as_json=as_json)


@click.group()
def cooldown() -> None:
    """Set how long after one turn the next may start."""


@cooldown.command("set")
@click.argument("scope", metavar="TYPE", type=TYPES)
@server_option
@click.option("--seconds", type=LENGTH, help="How long; 5 at first.")
@json_option
@click.pass_obj
def set_cooldown(
    installation: Installation, scope: str, server_id: str, seconds: int | None, as_json: bool
) -> None:
    """Set a server's cooldown: off, per_user, per_channel, server, or strict.

    Who manages the server is exempt, except from strict.
    """
    with installation.turnkeeper() as keeper:
        length_s = seconds or keeper.configure.server(server_id).cooldown.length_s
        rule = CooldownRule(type=CooldownType(scope), length_s=length_s)
        keeper.configure.set_cooldown(server_id, rule)
        show(keeper, Owner.server(server_id), "cooldown", as_json=as_json)


@cooldown.command("show")
@server_option
@json_option
@click.pass_obj
def show_cooldown(installation: Installation, server_id: str, as_json: bool) -> None:
    """Show a server's cooldown; `turnkeeper channel list` shows its channels'."""
    with installation.turnkeeper() as keeper:
        show(keeper, Owner.server(server_id), "cooldown", as_json=as_json)
