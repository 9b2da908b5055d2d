"""Addresses that owners name: OpenAI-compatible endpoints."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.interfaces.cli.capabilities import COUNT, capability_options, capable
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import owner_options, owner_or_local
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell
from turnkeeper.interfaces.cli.settings_view import changed

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def endpoint() -> None:
    """Add, change, list and remove addresses that speak OpenAI's chat completions."""


def _flag(name: str, text: str) -> Callable[[F], F]:
    dashed = name.replace("_", "-")
    return click.option(f"--{dashed}/--no-{dashed}", name, default=None, help=text)


_OPTIONS = (
    click.option("--url", "base_url", help="Up to and with the version: https://host/v1."),
    click.option(
        "--connection",
        "connection_id",
        type=COUNT,
        help="Its keys are saved for provider custom:N.",
    ),
    click.option("--model-name", help="The name in the request; else the label."),
    click.option("--model", "model_id", help="The registered model that it is."),
    click.option("--num-ctx", type=COUNT, help="Its context, in tokens."),
    _flag("requires_auth", "Whether it wants a key."),
    _flag("trusted", "Whether its address is yours and is not checked."),
)


def _endpoint_options(command: F) -> F:
    command = capability_options(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@endpoint.command("add")
@click.argument("label")
@owner_options
@_endpoint_options
@json_option
@click.pass_obj
def add(
    installation: Installation,
    /,
    label: str,
    server_id: str | None,
    user_id: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Add an endpoint that people call LABEL."""
    given = {name: value for name, value in options.items() if value is not None}
    if "base_url" not in given:
        raise click.UsageError("give its address by --url, such as https://host/v1")
    new = Endpoint(id=0, label=label, base_url=given["base_url"])
    _save(installation, owner_or_local(server_id, user_id), new, given, as_json)


@endpoint.command("set")
@click.argument("number", type=int)
@click.option("--label", help="What people call it.")
@owner_options
@_endpoint_options
@json_option
@click.pass_obj
def set_endpoint(
    installation: Installation,
    /,
    number: int,
    server_id: str | None,
    user_id: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Change the endpoint of that number; what is not given stays."""
    owner = owner_or_local(server_id, user_id)
    given = changed(options)
    _save(installation, owner, _found(installation, owner, number), given, as_json)


@endpoint.command("show")
@click.argument("number", type=int)
@owner_options
@json_option
@click.pass_obj
def show_endpoint(
    installation: Installation,
    number: int,
    server_id: str | None,
    user_id: str | None,
    as_json: bool,
) -> None:
    """Show the endpoint of that number."""
    found = _found(installation, owner_or_local(server_id, user_id), number)
    if as_json:
        dump(_as_data(found))
        return
    rows = {**asdict(found), **asdict(found.capabilities)}
    del rows["capabilities"]
    listed = [(name, "not set" if value is None else str(value)) for name, value in rows.items()]
    table(("endpoint", str(found.id)), listed, empty="")


@endpoint.command("list")
@owner_options
@json_option
@click.pass_obj
def list_endpoints(
    installation: Installation, server_id: str | None, user_id: str | None, as_json: bool
) -> None:
    """List an owner's endpoints."""
    owner = owner_or_local(server_id, user_id)
    with installation.turnkeeper() as keeper:
        found = keeper.configure.endpoints(owner)
    if as_json:
        dump([_as_data(one) for one in found])
        return
    table(
        ("id", "label", "address", "keys of"),
        [(str(one.id), one.label, one.base_url, _keys_of(one)) for one in found],
        empty=f"{owner} has no endpoint; add one with `turnkeeper endpoint add LABEL --url URL`",
    )


@endpoint.command("remove")
@click.argument("number", type=int)
@owner_options
@json_option
@click.pass_obj
def remove(
    installation: Installation,
    number: int,
    server_id: str | None,
    user_id: str | None,
    as_json: bool,
) -> None:
    """Remove the endpoint of that number; one that is still used is refused."""
    owner = owner_or_local(server_id, user_id)
    found = _found(installation, owner, number)
    with installation.turnkeeper() as keeper:
        keeper.configure.remove_endpoint(owner, number)
    if as_json:
        dump(_as_data(found))
    else:
        tell(f"removed endpoint {number} ({found.label}) of {owner}")


def _found(installation: Installation, owner: Owner, number: int) -> Endpoint:
    with installation.turnkeeper() as keeper:
        there = {one.id: one for one in keeper.configure.endpoints(owner)}
    if number not in there:
        known = ", ".join(f"{one.id} ({one.label})" for one in there.values()) or "none"
        raise SettingsError(f"{owner} has no endpoint {number}; there are: {known}")
    return there[number]


def _save(
    installation: Installation,
    owner: Owner,
    before: Endpoint,
    given: dict[str, Any],
    as_json: bool,
) -> None:
    can = capable(before.capabilities, given)
    wanted = replace(before, **given, capabilities=can)
    with installation.turnkeeper() as keeper:
        if "model_id" in given:
            model = keeper.configure.find_model(given["model_id"])
            wanted = replace(wanted, model_id=model.id)
        saved = keeper.configure.save_endpoint(owner, wanted)
    if as_json:
        dump(_as_data(saved))
    else:
        tell(f"saved endpoint {saved.id} ({saved.label}) of {owner}; its keys: {_keys_of(saved)}")


def _as_data(endpoint: Endpoint) -> dict[str, Any]:
    return {**asdict(endpoint), "provider": endpoint.provider}


def _keys_of(endpoint: Endpoint) -> str:
    if not endpoint.requires_auth:
        return "none needed"
    if endpoint.connection_id is None:
        return "missing: give it a --connection"
    return endpoint.provider
