"""What happened in earlier turns, and why."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.events import Entry
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import dump, json_option, tell

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
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the turn's waterfall into FILE instead, to be sent to somebody.",
)
@json_option
@click.pass_obj
def explain(
    installation: Installation,
    turn_id: str | None,
    decisions: bool,
    file: str | None,
    page: Path | None,
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
        export_journals((entries,), file, as_json=as_json)
    if page is not None:
        _write_page(page, entries, as_json=as_json)
    if file is not None or page is not None:
        return
    for why in explained(entries, decisions_only=decisions):
        if as_json:
            because = {} if why.because is None else in_json(why.because)
            dump({**json.loads(entry_to_json(why.entry)), "why": why.text, **because})
        else:
            tell(str(why))


def _write_page(file: Path, entries: tuple[Entry, ...], *, as_json: bool) -> None:
    from turnkeeper.interfaces.dashboard.pages import turn_file

    try:
        file.write_text(turn_file(entries), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}") from error
    if as_json:
        dump({"file": str(file)})
    else:
        tell(f"wrote {file}")


def export_journals(journals: Sequence[tuple[Entry, ...]], file: str, *, as_json: bool) -> None:
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
