"""What happened in earlier turns, and why."""

import json

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import dump, json_option, tell


@click.command()
@click.argument("turn_id", metavar="[TURN]", required=False)
@json_option
@click.pass_obj
def explain(installation: Installation, turn_id: str | None, as_json: bool) -> None:
    """Say why each step of TURN was taken; of the latest turn if none is named."""
    from turnkeeper.infrastructure.journal_codec import entry_to_json
    from turnkeeper.interfaces.explain import explained

    with installation.turnkeeper() as keeper:
        latest = next(iter(keeper.recent(1)), None) if turn_id is None else turn_id
        entries = keeper.events(latest) if latest is not None else ()
    if not entries:
        named = "no turn was run yet" if turn_id is None else f"there is no turn {turn_id!r}"
        raise SettingsError(f"{named}; see `turnkeeper turns`")
    for why in explained(entries):
        if as_json:
            dump({**json.loads(entry_to_json(why.entry)), "why": why.text})
        else:
            tell(str(why))
