"""What happened in earlier turns, and why."""

import json
from pathlib import Path

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.events import Entry, TurnEnded
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell


@click.command()
@click.argument("turn_id", metavar="[TURN]", required=False)
@click.option(
    "--html",
    "file",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the turn's waterfall into this file, to be sent to somebody.",
)
@json_option
@click.pass_obj
def explain(
    installation: Installation, turn_id: str | None, file: Path | None, as_json: bool
) -> None:
    """Say why each step of TURN was taken; of the latest turn if none is named."""
    from turnkeeper.infrastructure.journal_codec import entry_to_json
    from turnkeeper.interfaces.explain import explained

    with installation.turnkeeper() as keeper:
        latest = next(iter(keeper.recent(1)), None) if turn_id is None else turn_id
        entries = keeper.events(latest) if latest is not None else ()
    if not entries:
        named = "no turn was run yet" if turn_id is None else f"there is no turn {turn_id!r}"
        raise SettingsError(f"{named}; see `turnkeeper turns`")
    if file is not None:
        _write(file, entries, as_json=as_json)
        return
    for why in explained(entries):
        if as_json:
            dump({**json.loads(entry_to_json(why.entry)), "why": why.text})
        else:
            tell(str(why))


def _write(file: Path, entries: tuple[Entry, ...], *, as_json: bool) -> None:
    from turnkeeper.interfaces.dashboard.pages import turn_file

    try:
        file.write_text(turn_file(entries), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}") from error
    if as_json:
        dump({"file": str(file)})
    else:
        tell(f"wrote {file}")


@click.command()
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
@click.pass_obj
def turns(installation: Installation, limit: int, as_json: bool) -> None:
    """List the latest turns, newest first."""
    with installation.turnkeeper() as keeper:
        found = [(turn_id, _end(keeper.events(turn_id))) for turn_id in keeper.recent(limit)]
    if as_json:
        for turn_id, end in found:
            status, model = (end.status, end.success_model) if end else (None, None)
            dump({"turn_id": turn_id, "status": status, "model": model})
        return
    table(
        ("turn", "status", "answered by"),
        [(i, end.status if end else "?", (end and end.success_model) or "") for i, end in found],
        empty="no turn was run yet; try `turnkeeper demo`",
    )


def _end(entries: tuple[Entry, ...]) -> TurnEnded | None:
    ends = [one.event for one in entries if isinstance(one.event, TurnEnded)]
    return ends[-1] if ends else None
