"""What is different in one channel, and where one persona answers."""

import click

from turnkeeper.domain.admission import CooldownRule, CooldownType
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.owner import Owner
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.limits import LENGTH, TYPES
from turnkeeper.interfaces.cli.owners import server_option
from turnkeeper.interfaces.cli.present import json_option
from turnkeeper.interfaces.cli.settings_view import show


@click.group()
def channel() -> None:
    """Give a channel and its threads a model or a cooldown of their own."""


@channel.command("set")
@click.argument("channel_id", metavar="CHANNEL")
@server_option
@click.option("--model", help="Which leads there, in place of the server's.")
@click.option("--cooldown", "scope", type=TYPES, help="Which counts there.")
@click.option("--seconds", type=LENGTH, help="How long that is; 5 if not said.")
@json_option
@click.pass_obj
def set_channel(  # noqa: PLR0913 - one for each option
    installation: Installation,
    /,
    channel_id: str,
    server_id: str,
    model: str | None,
    scope: str | None,
    seconds: int | None,
    as_json: bool,
) -> None:
    """Set what is different in CHANNEL; what is not given stays."""
    if model is None and scope is None:
        raise click.UsageError("give --model, or --cooldown with --seconds")
    rule = None
    if scope is not None:
        length_s = seconds or CooldownRule().length_s
        rule = CooldownRule(type=CooldownType(scope), length_s=length_s)
    with installation.turnkeeper() as keeper:
        keeper.configure.set_channel(server_id, channel_id, model=model, cooldown=rule)
        show(keeper, Owner.server(server_id), "channels", as_json=as_json)


@channel.command("list")
@server_option
@json_option
@click.pass_obj
def list_channels(installation: Installation, server_id: str, as_json: bool) -> None:
    """List the channels where something is different."""
    with installation.turnkeeper() as keeper:
        show(keeper, Owner.server(server_id), "channels", as_json=as_json)


@channel.command("remove")
@click.argument("channel_id", metavar="CHANNEL")
@server_option
@click.option("--model", "only", flag_value="model", help="The model only.")
@click.option("--cooldown", "only", flag_value="cooldown", help="The cooldown only.")
@json_option
@click.pass_obj
def remove_channel(
    installation: Installation, channel_id: str, server_id: str, only: str | None, as_json: bool
) -> None:
    """Let CHANNEL be as all others."""
    with installation.turnkeeper() as keeper:
        settings = keeper.configure.server(server_id)
        set_there = {
            "model": channel_id in dict(settings.channel_models),
            "cooldown": channel_id in dict(settings.channel_cooldowns),
        }
        meant = [name for name, is_set in set_there.items() if is_set and only in (None, name)]
        if not meant:
            raise SettingsError(
                f"server {server_id} has set no {only or 'model and no cooldown'} for channel"
                f" {channel_id!r}; see `turnkeeper channel list`"
            )
        if "model" in meant:
            keeper.configure.set_channel_model(server_id, channel_id, None)
        if "cooldown" in meant:
            keeper.configure.set_channel_cooldown(server_id, channel_id, None)
        show(keeper, Owner.server(server_id), "channels", as_json=as_json)


@click.group()
def persona() -> None:
    """Let a persona answer with a model of its own."""


@persona.command("set")
@click.argument("persona_id", metavar="PERSONA")
@click.option("--model", required=True, help="Which leads where the persona answers.")
@server_option
@json_option
@click.pass_obj
def set_persona(
    installation: Installation, persona_id: str, model: str, server_id: str, as_json: bool
) -> None:
    """Let PERSONA answer with this model, whatever the channel."""
    with installation.turnkeeper() as keeper:
        keeper.configure.set_persona_model(server_id, persona_id, model)
        show(keeper, Owner.server(server_id), "personas", as_json=as_json)


@persona.command("list")
@server_option
@json_option
@click.pass_obj
def list_personas(installation: Installation, server_id: str, as_json: bool) -> None:
    """List the personas that have a model of their own."""
    with installation.turnkeeper() as keeper:
        show(keeper, Owner.server(server_id), "personas", as_json=as_json)


@persona.command("remove")
@click.argument("persona_id", metavar="PERSONA")
@server_option
@json_option
@click.pass_obj
def remove_persona(
    installation: Installation, persona_id: str, server_id: str, as_json: bool
) -> None:
    """Let PERSONA answer with the channel's model, or the server's."""
    with installation.turnkeeper() as keeper:
        if persona_id not in dict(keeper.configure.server(server_id).persona_models):
            raise SettingsError(
                f"server {server_id} has set no model for persona {persona_id!r};"
                " see `turnkeeper persona list`"
            )
        keeper.configure.set_persona_model(server_id, persona_id, None)
        show(keeper, Owner.server(server_id), "personas", as_json=as_json)
