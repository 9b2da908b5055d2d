"""Models, and in which order a server uses them."""

from dataclasses import asdict
from typing import Any

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.model import Capabilities, Limits, Model
from turnkeeper.domain.plan import BrokenEntry, EndpointEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.settings import ServerSettings
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import server_option
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell


@click.group()
def model() -> None:
    """Register, list and choose models."""


@model.command("add")
@click.argument("name", metavar="PROVIDER:NAME")
@click.option("--window", "window_tokens", type=click.IntRange(min=1), help="Tokens in all.")
@click.option("--max-output", "output_tokens", type=click.IntRange(min=1), help="Tokens out.")
@click.option("--tools/--no-tools", default=True, show_default=True, help="It calls tools.")
@click.option("--images", is_flag=True, help="It sees images.")
@click.option("--videos", is_flag=True, help="It sees videos.")
@click.option("--reasoning", is_flag=True, help="It thinks before it answers.")
@json_option
@click.pass_obj
def add(installation: Installation, /, name: str, as_json: bool, **known: Any) -> None:
    """Register a model with what is known about it."""
    made = _model(name, known)
    with installation.turnkeeper() as keeper:
        saved = keeper.configure.register_model(made)
    if as_json:
        dump(asdict(saved))
    else:
        tell(f"registered {saved.id}")


@model.command("list")
@json_option
@click.pass_obj
def list_models(installation: Installation, as_json: bool) -> None:
    """List the registered models."""
    with installation.turnkeeper() as keeper:
        models = keeper.configure.models()
    if as_json:
        dump([asdict(one) for one in models])
        return
    table(
        ("id", "window", "output", "can"),
        [_row(one) for one in models],
        empty="no model is registered; add one with `turnkeeper model add PROVIDER:NAME`",
    )


@model.command("use")
@click.argument("name", metavar="MODEL")
@server_option
@json_option
@click.pass_obj
def use(installation: Installation, name: str, server_id: str, as_json: bool) -> None:
    """Make MODEL the primary model of a server."""
    with installation.turnkeeper() as keeper:
        _show(keeper.configure.use_model(server_id, name), as_json)


@click.group()
def fallback() -> None:
    """Set, list and clear a server's fallback models."""


@fallback.command("set")
@click.argument("names", metavar="MODEL...", nargs=-1, required=True)
@server_option
@json_option
@click.pass_obj
def set_fallbacks(
    installation: Installation, names: tuple[str, ...], server_id: str, as_json: bool
) -> None:
    """Replace the chain by MODEL..., tried in this order."""
    with installation.turnkeeper() as keeper:
        _show(keeper.configure.set_fallbacks(server_id, names), as_json)


@fallback.command("list")
@server_option
@json_option
@click.pass_obj
def list_fallbacks(installation: Installation, server_id: str, as_json: bool) -> None:
    """List the primary model and its fallbacks."""
    with installation.turnkeeper() as keeper:
        _show(keeper.configure.server(server_id), as_json)


@fallback.command("clear")
@server_option
@json_option
@click.pass_obj
def clear_fallbacks(installation: Installation, server_id: str, as_json: bool) -> None:
    """Leave the primary model alone."""
    with installation.turnkeeper() as keeper:
        _show(keeper.configure.clear_fallbacks(server_id), as_json)


@click.command()
@click.argument("state", type=click.Choice(("on", "off")))
@server_option
@json_option
@click.pass_obj
def randomizer(installation: Installation, state: str, server_id: str, as_json: bool) -> None:
    """Let a random one of a server's models lead each turn."""
    with installation.turnkeeper() as keeper:
        _show(keeper.configure.randomize(server_id, state == "on"), as_json)


def _model(name: str, known: dict[str, Any]) -> Model:
    try:
        named = Model.named(name)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    return Model(
        id=named.id,
        provider=named.provider,
        name=named.name,
        limits=Limits(
            window_tokens=known.pop("window_tokens"), max_output_tokens=known.pop("output_tokens")
        ),
        capabilities=Capabilities(**known),
    )


def _row(model: Model) -> tuple[str, ...]:
    limits = (model.limits.window_tokens, model.limits.max_output_tokens)
    can = [name for name, has in asdict(model.capabilities).items() if has]
    return (model.id, *("?" if limit is None else str(limit) for limit in limits), ", ".join(can))


def _show(settings: ServerSettings, as_json: bool) -> None:
    """A server's models in the order in which they are tried."""
    chain = [_name(entry) for entry in settings.chain]
    primary = _name(settings.primary) if settings.primary else None
    if as_json:
        dump(
            {
                "server": settings.server_id,
                "primary": primary,
                "fallbacks": chain,
                "randomizer": settings.randomizer,
            }
        )
        return
    rows = [("primary", primary or "none; set one with `turnkeeper model use`")]
    rows += [(f"fallback {number}", name) for number, name in enumerate(chain, start=1)]
    rows += [("randomizer", "on" if settings.randomizer else "off")]
    table(("server", settings.server_id), rows, empty="")


def _name(entry: FallbackEntry) -> str:
    match entry:
        case ModelEntry(model=found):
            return found.id
        case EndpointEntry(endpoint=endpoint):
            return f"endpoint:{endpoint.id} ({endpoint.label})"
        case BrokenEntry(name=name, cause=cause):
            return f"{name} (broken: {cause})"
