"""How an owner's settings are shown."""

from typing import TYPE_CHECKING, Any

import click

from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import dump, table, tell

if TYPE_CHECKING:  # imported where they are used, so that help is there at once
    from turnkeeper.interfaces.turnkeeper import Turnkeeper


def plain(keeper: "Turnkeeper", owner: Owner) -> dict[str, Any]:
    """All that an owner has set, as the commands print it in JSON."""
    from turnkeeper.infrastructure.json_values import as_json

    shown: dict[str, Any] = as_json(keeper.configure.shown(owner))
    del shown["models"]  # which `turnkeeper model` shows
    return shown


def list_owners(installation: Installation, kind: OwnerKind, as_json: bool) -> None:
    """Print who of a kind has set anything."""
    with installation.turnkeeper() as keeper:
        ids = [one.id for one in keeper.configure.owners() if one.kind is kind]
    if as_json:
        dump(ids)
        return
    name = kind.value
    table((name,), [(one,) for one in ids], empty=f"no {name} has set anything yet")


def show(keeper: "Turnkeeper", owner: Owner, *only: str, as_json: bool) -> None:
    """Print what an owner has set.

    Args:
        only: The names of what is printed; all if there are none.
    """
    from turnkeeper.application.portable_changes import values

    kind = owner.kind.value
    if as_json:
        shown = plain(keeper, owner)
        dump({name: one for name, one in shown.items() if not only or name in (kind, *only)})
        return
    listed = [
        (place, text)
        for place, text in values(keeper.configure.shown(owner))
        if not only or place.partition(".")[0] in only
    ]
    table((kind, owner.id), listed, empty=f"nothing of it is set for {owner}")
    for entry in keeper.configure.broken(owner):
        tell(f"broken: {entry.name}: {entry.cause}")


def changed(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given.

    Raises:
        UsageError: None was.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        raise click.UsageError("nothing to set was given; --help lists what there is")
    return given
