"""Models: registered, described and chosen."""

from dataclasses import asdict
from typing import Any

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.model import Capabilities, Limits, Model
from turnkeeper.domain.owner import OwnerKind
from turnkeeper.interfaces.cli.fallbacks import show_models
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import owner_options, owner_or_local, server_option
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
@click.option("--prefix-completion", is_flag=True, help="It goes on from a given beginning.")
@click.option("--strict-role-alternation", is_flag=True, help="Roles must take turns.")
@click.option("--verbatim-tool-calling", is_flag=True, help="It writes tool calls as text.")
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
