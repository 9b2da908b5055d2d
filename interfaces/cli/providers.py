"""What an owner sets for one provider."""

from typing import Any

import click

from turnkeeper.domain.frozen import replace
from turnkeeper.domain.owner import OwnerKind
from turnkeeper.domain.settings import SavedProvider
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import owner_options, owner_or_local
from turnkeeper.interfaces.cli.present import json_option
from turnkeeper.interfaces.cli.sampling import applied, sampling_options, taken
from turnkeeper.interfaces.cli.settings_view import changed, show

PROVIDERS = "providers"


@click.group()
def provider() -> None:
    """See and set what is set for one provider, over what is set for all."""


@provider.command("list")
@owner_options
@json_option
@click.pass_obj
def list_providers(
    installation: Installation, server_id: str | None, user_id: str | None, as_json: bool
) -> None:
    """List an owner's providers, with what is set for each."""
    owner = owner_or_local(server_id, user_id)
    with installation.turnkeeper() as keeper:
        show(keeper, owner, PROVIDERS, as_json=as_json)


@provider.command("set")
@click.argument("name", metavar="PROVIDER")
@owner_options
@click.option("--model", metavar="MODEL", help="A user's: a model of it, or endpoint:ID.")
@click.option(
    "--text/--no-text",
    "text_enabled",
    default=None,
    help="A user's: whether it pays for the user's turns; one provider does at most.",
)
@sampling_options
@json_option
@click.pass_obj
def set_provider(
    installation: Installation,
    /,
    name: str,
    server_id: str | None,
    user_id: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Set what PROVIDER's requests set and, for a user, what answers; what is not given stays."""
    owner = owner_or_local(server_id, user_id)
    sampling = taken(options)
    given = changed({**options, "sampling": sampling or None})
    if owner.kind is OwnerKind.SERVER and (given.keys() - {"sampling"}):
        raise click.UsageError(
            "--model and --text are a user's; a server chooses its models by"
            " `turnkeeper model use` and `turnkeeper fallback set`"
        )
    with installation.turnkeeper() as keeper:
        provider_name = keeper.configure.find_provider(name)
        rows = keeper.configure.settings_of(owner).providers
        row = _row(rows, provider_name)
        row = replace(row, sampling=applied(row.sampling, sampling))
        if owner.kind is OwnerKind.SERVER:
            keeper.configure.set_sampling(owner.id, row.sampling, provider_name)
        else:
            row = replace(row, text_enabled=given.get("text_enabled", row.text_enabled))
            keeper.configure.set_personal_provider(owner.id, row, model=given.get("model"))
        show(keeper, owner, PROVIDERS, as_json=as_json)


@provider.command("remove")
@click.argument("name", metavar="PROVIDER")
@owner_options
@json_option
@click.pass_obj
def remove_provider(
    installation: Installation,
    name: str,
    server_id: str | None,
    user_id: str | None,
    as_json: bool,
) -> None:
    """Forget what is set for PROVIDER. Its keys stay until they are removed."""
    owner = owner_or_local(server_id, user_id)
    with installation.turnkeeper() as keeper:
        provider_name = keeper.configure.find_provider(name)
        if owner.kind is OwnerKind.SERVER:
            keeper.configure.remove_server_provider(owner.id, provider_name)
        else:
            keeper.configure.remove_personal_provider(owner.id, provider_name)
        show(keeper, owner, PROVIDERS, as_json=as_json)


def _row(rows: tuple[SavedProvider, ...], name: str) -> SavedProvider:
    return next((row for row in rows if row.provider == name), SavedProvider(provider=name))
