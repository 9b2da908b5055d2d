"""Which models follow the primary one, and whether a random one of them leads."""

import click

from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.domain.plan import BrokenEntry, EndpointEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.settings import PersonalSettings, ServerSettings
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import owner_options, owner_or_local
from turnkeeper.interfaces.cli.present import dump, json_option, table


@click.group()
def fallback() -> None:
    """Set and list the models that follow the primary one."""


@fallback.command("set")
@click.argument("names", metavar="MODEL...", nargs=-1, required=True)
@owner_options
@json_option
@click.pass_obj
def set_fallbacks(
    installation: Installation,
    names: tuple[str, ...],
    server_id: str | None,
    user_id: str | None,
    as_json: bool,
) -> None:
    """Replace the chain by MODEL..., tried in this order."""
    owner = owner_or_local(server_id, user_id)
    with installation.turnkeeper() as keeper:
        if owner.kind is OwnerKind.SERVER:
            show_models(keeper.configure.set_fallbacks(owner.id, names), as_json)
        else:
            show_models(keeper.configure.set_personal_fallbacks(owner.id, names), as_json)


@fallback.command("add")
@click.argument("name", metavar="MODEL")
@click.option("--place", type=click.IntRange(min=1), help="Its place in the chain; else the end.")
@owner_options
@json_option
@click.pass_obj
def add_fallback(
    installation: Installation,
    /,
    name: str,
    place: int | None,
    server_id: str | None,
    user_id: str | None,
    as_json: bool,
) -> None:
    """Put MODEL into the chain, or elsewhere if it is in it."""
    owner = owner_or_local(server_id, user_id)
    with installation.turnkeeper() as keeper:
        show_models(keeper.configure.add_fallback(owner, name, place), as_json)


@fallback.command("remove")
@click.argument("name", metavar="MODEL")
@owner_options
@json_option
@click.pass_obj
def remove_fallback(
    installation: Installation, name: str, server_id: str | None, user_id: str | None, as_json: bool
) -> None:
    """Take MODEL out of the chain."""
    owner = owner_or_local(server_id, user_id)
    with installation.turnkeeper() as keeper:
        show_models(keeper.configure.remove_fallback(owner, name), as_json)


@fallback.command("list")
@owner_options
@json_option
@click.pass_obj
def list_fallbacks(
    installation: Installation, server_id: str | None, user_id: str | None, as_json: bool
) -> None:
    """List the primary model and its fallbacks."""
    _show(installation, server_id, user_id, as_json)


@fallback.command("clear")
@owner_options
@json_option
@click.pass_obj
def clear_fallbacks(
    installation: Installation, server_id: str | None, user_id: str | None, as_json: bool
) -> None:
    """Leave the primary model alone; a server's randomizer goes off with it."""
    owner = owner_or_local(server_id, user_id)
    with installation.turnkeeper() as keeper:
        if owner.kind is OwnerKind.SERVER:
            show_models(keeper.configure.clear_fallbacks(owner.id), as_json)
        else:
            show_models(keeper.configure.set_personal_fallbacks(owner.id, ()), as_json)


@click.group()
def randomizer() -> None:
    """Let a random one of the models lead each turn."""


_provider_option = click.option(
    "--provider", help="A user's: whose row says so; else the one that pays for the user's turns."
)


@randomizer.command("on")
@owner_options
@_provider_option
@json_option
@click.pass_obj
def randomizer_on(
    installation: Installation,
    server_id: str | None,
    user_id: str | None,
    provider: str | None,
    as_json: bool,
) -> None:
    """Draw the lead of each turn; there must be a fallback to draw from."""
    _randomize(installation, owner_or_local(server_id, user_id), True, provider, as_json)


@randomizer.command("off")
@owner_options
@_provider_option
@json_option
@click.pass_obj
def randomizer_off(
    installation: Installation,
    server_id: str | None,
    user_id: str | None,
    provider: str | None,
    as_json: bool,
) -> None:
    """Let the primary model lead each turn."""
    _randomize(installation, owner_or_local(server_id, user_id), False, provider, as_json)


@randomizer.command("show")
@owner_options
@json_option
@click.pass_obj
def randomizer_show(
    installation: Installation, server_id: str | None, user_id: str | None, as_json: bool
) -> None:
    """Show whether it is on, and what it draws from."""
    _show(installation, server_id, user_id, as_json)


def _show(
    installation: Installation, server_id: str | None, user_id: str | None, as_json: bool
) -> None:
    owner = owner_or_local(server_id, user_id)
    with installation.turnkeeper() as keeper:
        show_models(keeper.configure.settings_of(owner), as_json)


def _randomize(
    installation: Installation, owner: Owner, enabled: bool, provider: str | None, as_json: bool
) -> None:
    if owner.kind is OwnerKind.SERVER and provider is not None:
        raise click.UsageError("--provider is a user's; a server has one randomizer for all")
    with installation.turnkeeper() as keeper:
        if owner.kind is OwnerKind.SERVER:
            show_models(keeper.configure.randomize(owner.id, enabled), as_json)
        else:
            settings = keeper.configure.randomize_personal(owner.id, enabled, provider)
            show_models(settings, as_json)


def show_models(settings: ServerSettings | PersonalSettings, as_json: bool) -> None:
    """Print an owner's models in the order in which they are tried."""
    kind, owner_id, is_random = _whose(settings)
    primary = _name(settings.primary) if settings.primary else None
    chain = [_name(entry) for entry in settings.chain]
    if as_json:
        dump({kind: owner_id, "primary": primary, "fallbacks": chain, "randomizer": is_random})
        return
    option = "" if kind == "server" else f" --user {owner_id}"
    rows = [("primary", primary or f"none; set one with `turnkeeper model use MODEL{option}`")]
    rows += [(f"fallback {number}", name) for number, name in enumerate(chain, start=1)]
    rows += [("randomizer", "on" if is_random else "off")]
    table((kind, owner_id), rows, empty="")


def _whose(settings: ServerSettings | PersonalSettings) -> tuple[str, str, bool]:
    """Kind and id of the owner, and whether a random model leads."""
    if isinstance(settings, ServerSettings):
        return "server", settings.server_id, settings.randomizer
    row = settings.text_route
    return "user", settings.user_id, row is not None and row.randomizer


def _name(entry: FallbackEntry) -> str:
    match entry:
        case ModelEntry(model=found):
            return found.id
        case EndpointEntry(endpoint=endpoint):
            return f"endpoint:{endpoint.id} ({endpoint.label})"
        case BrokenEntry(name=name, cause=cause):
            return f"{name} (broken: {cause})"
