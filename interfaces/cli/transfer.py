"""An owner's settings into a file, and out of it; keys are never in it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.owner import Owner
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import owner_of, owner_options, owner_or_local
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell

if TYPE_CHECKING:  # imported where they are used, so that help is there at once
    from turnkeeper.application.portable import Portable
    from turnkeeper.application.transfer_settings import Imported

LONGEST_BYTES = 10_000_000


@click.command("export")
@owner_options
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it; standard output if not said.",
)
@json_option
@click.pass_obj
def export_settings(
    installation: Installation,
    server_id: str | None,
    user_id: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Write all that an owner has set as TOML. No key is in it."""
    from turnkeeper.infrastructure.settings_file import as_plain, written

    with installation.turnkeeper() as keeper:
        exported = keeper.configure.export_settings(owner_or_local(server_id, user_id))
    left_out = [{"name": one.name, "cause": one.cause} for one in exported.left_out]
    text = written(exported.settings)
    if output is not None:
        _write(output, text)
    if as_json:
        dump({"settings": as_plain(exported.settings), "left_out": left_out})
        return
    if output is None:
        click.echo(text, nl=False)
    else:
        tell(f"wrote the settings of {exported.settings.owner} to {output}")
    for one in left_out:
        click.echo(f"left out, as it leads nowhere: {one['name']}: {one['cause']}", err=True)


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@owner_options
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@json_option
@click.pass_obj
def import_settings(
    installation: Installation,
    /,
    file: Path,
    server_id: str | None,
    user_id: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Put FILE's settings in the place of all that their owner has set; - is standard input.

    Without --server or --user it is the owner whom FILE names. All of it is written, or nothing.
    """
    from turnkeeper.infrastructure.settings_file import read

    try:
        portable = _for(read(_text(file)), owner_of(server_id, user_id))
        with installation.turnkeeper() as keeper:
            imported = keeper.configure.import_settings(portable, dry_run=dry_run)
    except SettingsError as error:
        raise SettingsError(f"{file} cannot be imported: {error}") from None
    if as_json:
        dump({**asdict(imported), "owner": str(imported.owner), "dry_run": dry_run})
    else:
        _tell(imported, dry_run)


def _for(portable: "Portable", owner: Owner | None) -> "Portable":
    """The settings for another owner of the same kind, if one was named."""
    from turnkeeper.application.portable import PortableServer

    if owner is None or owner == portable.owner:
        return portable
    if owner.kind is not portable.owner.kind:
        raise SettingsError(
            f"it has the settings of a {portable.owner.kind.value}, which no {owner.kind.value} has"
        )
    if isinstance(portable, PortableServer):
        return replace(portable, server=owner.id)
    return replace(portable, user=owner.id)


def _tell(imported: "Imported", dry_run: bool) -> None:
    would = "would change" if dry_run else "changed"
    table(
        ("what", "before", "after"),
        [(one.place, one.before, one.after) for one in imported.changes],
        empty=f"nothing is different from what {imported.owner} has set",
    )
    for name in imported.new_models:
        tell(f"{'would register' if dry_run else 'registered'} {name}")
    for name in imported.kept_models:
        tell(f"kept {name} as it is registered here; `turnkeeper model add` would change it")
    option = f"--{imported.owner.kind.value} {imported.owner.id}"
    for provider in imported.missing_keys:
        tell(f"a key is missing: turnkeeper key add {provider} {option}")
    tell(f"{would} {len(imported.changes)} settings of {imported.owner}")


def _text(file: Path) -> str:
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(LONGEST_BYTES + 1)
        else:
            with file.open("rb") as opened:
                data = opened.read(LONGEST_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"it cannot be read: {error.strerror}") from None
    if len(data) > LONGEST_BYTES:
        raise SettingsError(f"it is longer than {LONGEST_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"byte {error.start} is no UTF-8") from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from None
