"""Models: registered, described and chosen."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import Capabilities, Limits, Model
from turnkeeper.domain.owner import OwnerKind
from turnkeeper.interfaces.cli.capabilities import COUNT, capability_options, capable
from turnkeeper.interfaces.cli.fallbacks import show_models
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import owner_options, owner_or_local, server_option
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell
from turnkeeper.interfaces.cli.settings_view import changed

if TYPE_CHECKING:  # imported where it is used, so that help is there at once
    from turnkeeper.interfaces.turnkeeper import Turnkeeper


@click.group()
def model() -> None:
    """Register, list and choose models."""


_window = click.option("--window", "window_tokens", type=COUNT, help="Tokens in all.")
_output = click.option("--max-output", "max_output_tokens", type=COUNT, help="Tokens out.")


@model.command("add")
@click.argument("name", metavar="PROVIDER:NAME")
@_window
@_output
@capability_options
@json_option
@click.pass_obj
def add(installation: Installation, /, name: str, as_json: bool, **known: Any) -> None:
    """Register a model with what is known about it; what is not given is unknown.

    Of one that is registered, only its prices stay.
    """
    try:
        named = Model.named(name)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    with installation.turnkeeper() as keeper:
        known_id = f"{keeper.configure.find_provider(named.provider)}:{named.name}"
        there = {one.id: one for one in keeper.configure.models()}
        before = there.get(known_id, named)
        wanted = replace(before, capabilities=Capabilities(), limits=Limits())
        _save(keeper, wanted, known, as_json)


@model.command("set")
@click.argument("name", metavar="MODEL")
@_window
@_output
@capability_options
@json_option
@click.pass_obj
def set_model(installation: Installation, /, name: str, as_json: bool, **known: Any) -> None:
    """Change what is known about MODEL; what is not given stays."""
    changed(known)
    with installation.turnkeeper() as keeper:
        _save(keeper, keeper.configure.find_model(name), known, as_json)


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


@model.command("show")
@click.argument("name", metavar="MODEL")
@json_option
@click.pass_obj
def show_model(installation: Installation, name: str, as_json: bool) -> None:
    """Show what is known about MODEL."""
    with installation.turnkeeper() as keeper:
        found = keeper.configure.find_model(name)
    if as_json:
        dump(asdict(found))
        return
    limits = {name: str(value or "?") for name, value in asdict(found.limits).items()}
    can = {name: "yes" if has else "no" for name, has in asdict(found.capabilities).items()}
    table(("model", found.id), [*limits.items(), *can.items()], empty="")


@model.command("remove")
@click.argument("name", metavar="MODEL")
@json_option
@click.pass_obj
def remove(installation: Installation, name: str, as_json: bool) -> None:
    """Forget MODEL; one that somebody uses is refused."""
    with installation.turnkeeper() as keeper:
        found = keeper.configure.find_model(name)
        keeper.configure.remove_model(found.id)
    if as_json:
        dump(asdict(found))
    else:
        tell(f"forgot {found.id}")


@model.command("use")
@click.argument("name", metavar="MODEL")
@owner_options
@json_option
@click.pass_obj
def use(
    installation: Installation, name: str, server_id: str | None, user_id: str | None, as_json: bool
) -> None:
    """Make MODEL the primary model; the chain loses it.

    For a user, its provider pays for the user's turns from now on.
    """
    owner = owner_or_local(server_id, user_id)
    with installation.turnkeeper() as keeper:
        if owner.kind is OwnerKind.SERVER:
            keeper.configure.use_model(owner.id, name)
        else:
            keeper.configure.use_personal_model(owner.id, name)
        show_models(keeper.configure.settings_of(owner), as_json)


@model.command("clear")
@server_option
@json_option
@click.pass_obj
def clear(installation: Installation, server_id: str, as_json: bool) -> None:
    """Have no primary model. A user's is cleared by `turnkeeper provider set … --no-text`."""
    with installation.turnkeeper() as keeper:
        show_models(keeper.configure.clear_model(server_id), as_json)


def _save(keeper: "Turnkeeper", before: Model, known: dict[str, Any], as_json: bool) -> None:
    can = capable(before.capabilities, known)
    limits = {name: value for name, value in known.items() if value is not None}
    wanted = replace(before, capabilities=can, limits=replace(before.limits, **limits))
    saved = keeper.configure.register_model(wanted)
    if as_json:
        dump(asdict(saved))
    else:
        tell(f"registered {saved.id}")


def _row(model: Model) -> tuple[str, ...]:
    limits = (model.limits.window_tokens, model.limits.max_output_tokens)
    can = [name for name, has in asdict(model.capabilities).items() if has]
    return (model.id, *("?" if limit is None else str(limit) for limit in limits), ", ".join(can))
