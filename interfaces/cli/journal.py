"""What happened in earlier turns, and why."""

import json
from collections.abc import Sequence

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.events import Entry, TurnEnded
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell

export_option = click.option(
    "--export",
    "file",
    type=click.Path(allow_dash=True, dir_okay=False, writable=True),
    metavar="FILE",
    help="Write the journal into FILE instead, for `turnkeeper replay`; `-` writes it here.",
)


@click.command()
@click.argument("turn_id", metavar="[TURN]", required=False)
@click.option("--decisions", is_flag=True, help="Leave out what was only done.")
@export_option
@json_option
@click.pass_obj
def explain(
    installation: Installation,
    turn_id: str | None,
    decisions: bool,
    file: str | None,
    as_json: bool,
) -> None:
    """Say why each step of TURN was taken; of the latest turn if none is named.

    Of each failure: what happened, the rule that knew it, the evidence that it saw, what was done,
    and what rests until when.
    """
    from turnkeeper.infrastructure.journal_codec import entry_to_json
    from turnkeeper.infrastructure.json_values import as_json as in_json
    from turnkeeper.interfaces.explain import explained

    with installation.turnkeeper() as keeper:
        latest = next(iter(keeper.recent(1)), None) if turn_id is None else turn_id
        entries = keeper.events(latest) if latest is not None else ()
    if not entries:
        named = "no turn was run yet" if turn_id is None else f"there is no turn {turn_id!r}"
        raise SettingsError(f"{named}; see `turnkeeper turns`")
    if file is not None:
        _export((entries,), file, as_json=as_json)
        return
    for why in explained(entries, decisions_only=decisions):
        if as_json:
            because = {} if why.because is None else in_json(why.because)
            dump({**json.loads(entry_to_json(why.entry)), "why": why.text, **because})
        else:
            tell(str(why))


@click.command()
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@export_option
@json_option
@click.pass_obj
def turns(installation: Installation, limit: int, file: str | None, as_json: bool) -> None:
    """List the latest turns, newest first."""
    with installation.turnkeeper() as keeper:
        journals = [(turn_id, keeper.events(turn_id)) for turn_id in keeper.recent(limit)]
    if file is not None:
        _export([entries for _, entries in journals if entries], file, as_json=as_json)
        return
    found = [(turn_id, _end(entries)) for turn_id, entries in journals]
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


def _export(journals: Sequence[tuple[Entry, ...]], file: str, *, as_json: bool) -> None:
    """Write the journals into the file, and say so unless they go where it would be said.

    Raises:
        SettingsError: It cannot be written.
    """
    from turnkeeper.infrastructure.journal_file import lines_of

    try:
        with click.open_file(file, "w", encoding="utf-8") as out:
            out.writelines(f"{line}\n" for line in lines_of(journals))
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror or error}") from None
    if file == "-":
        return
    if as_json:
        dump({"file": file, "turns": len(journals), "entries": sum(map(len, journals))})
        return
    which = f"turn {journals[0][0].turn_id}" if len(journals) == 1 else f"{len(journals)} turns"
    tell(f"the journal of {which} is in {file}; `turnkeeper replay` reads it")


def _end(entries: tuple[Entry, ...]) -> TurnEnded | None:
    ends = [one.event for one in entries if isinstance(one.event, TurnEnded)]
    return ends[-1] if ends else None
