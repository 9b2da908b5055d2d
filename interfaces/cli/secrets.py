"""The master secrets: which seal what, and the move from an old one to the current one."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from turnkeeper.domain.errors import SettingsError
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell
from turnkeeper.interfaces.cli.progress import progress

if TYPE_CHECKING:  # imported where they are used, so that help is there at once
    from turnkeeper.application.audit_secrets import SealedBy, SecretsAudit
    from turnkeeper.application.ports.resealer import Resealer, SealedRow
    from turnkeeper.application.rotate_secrets import Rotation

MOST_NAMED = 50
"""Rows that are named to people; JSON has all."""


@click.group()
def secrets() -> None:
    """Check and rotate the master secrets that seal the saved keys."""


@secrets.command()
@json_option
@click.pass_context
def rotate(context: click.Context, as_json: bool) -> None:
    """Seal every stored secret anew with the current master secret.

    Turns go on meanwhile. A rotation that was broken off goes on where it was.
    """
    from turnkeeper.application.rotate_secrets import rotate_secrets

    with _resealer(context.obj) as resealer, progress("resealed", as_json=as_json) as told:
        rotation = rotate_secrets(resealer, told)
    if as_json:
        shut = [_as_data(row) for row in rotation.shut]
        dump({"renewed": rotation.renewed, "shut": shut, **_versions_as_data(rotation.versions)})
    else:
        _tell_rotation(rotation)
    context.exit(0 if rotation.is_whole else 1)


@secrets.command()
@json_option
@click.pass_context
def audit(context: click.Context, as_json: bool) -> None:
    """Say what each master secret seals, and what does not open; nothing is changed."""
    from turnkeeper.application.audit_secrets import audit_secrets

    with _resealer(context.obj) as resealer, progress("opened", as_json=as_json) as told:
        found = audit_secrets(resealer, told)
    if as_json:
        shut = [_as_data(row) for row in found.shut]
        twins = [[_as_data(row) for row in rows] for rows in found.twins]
        dump({"shut": shut, "duplicates": twins, **_versions_as_data(found.versions)})
    else:
        _tell_audit(found)
    context.exit(1 if found.shut else 0)


@contextmanager
def _resealer(installation: Installation) -> Iterator["Resealer"]:
    """The stored secrets of the installation.

    Raises:
        SettingsError: It stores none.
    """
    if installation.settings.store == "memory":
        raise SettingsError("TURNKEEPER_STORE is memory, which stores no secrets: unset it")
    from turnkeeper.infrastructure.postgres.resealer import PostgresResealer

    with installation.container() as container:
        yield PostgresResealer(container.engine(), vault=container.vault())


def _tell_rotation(rotation: "Rotation") -> None:
    tell(f"{rotation.renewed} sealed anew")
    _tell_shut(rotation.shut, rotation.versions)
    _tell_versions(rotation.versions)
    left = [str(one.version) for one in rotation.versions if one.rows and not one.is_current]
    if left and not rotation.shut:
        tell(
            f"version {', '.join(left)} still seals: another process has it as its current one;"
            " restart that with the new one, and rotate again"
        )


def _tell_audit(found: "SecretsAudit") -> None:
    _tell_versions(found.versions)
    _tell_shut(found.shut, found.versions)
    for rows in found.twins[:MOST_NAMED]:
        tell(f"the same key: {', '.join(map(str, rows))}: remove all but one")


def _tell_versions(versions: Iterable["SealedBy"]) -> None:
    rows = [(str(one.version), str(one.rows), _state(one)) for one in versions]
    table(("version", "secrets", ""), rows, empty="there is no master secret")


def _state(one: "SealedBy") -> str:
    name = f"TURNKEEPER_SECRET_V{one.version}"
    if one.is_current:
        return "seals"
    if one.is_removable:
        return f"not needed: {name} may be removed"
    if not one.is_known:
        return f"missing: set {name}"
    return "old: `turnkeeper secrets rotate` moves them"


def _tell_shut(shut: tuple["SealedRow", ...], versions: Iterable["SealedBy"]) -> None:
    known = {one.version for one in versions if one.is_known}
    for version in sorted({row.version for row in shut}):
        mine = [row for row in shut if row.version == version]
        rows = [f"{row.kind} {row.id} ({row.owner}, {row.provider})" for row in mine]
        more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
        tell(
            f"{len(rows)} do not open with version {version}, {_why(version, known)}:"
            f" {', '.join(rows[:MOST_NAMED])}{more}"
        )


def _why(version: int, known: set[int]) -> str:
    name = f"TURNKEEPER_SECRET_V{version}"
    if version not in known:
        return f"as {name} is not set"
    return f"as {name} is not what sealed them, or they were changed or moved"


def _as_data(row: "SealedRow") -> dict[str, Any]:
    return {
        "kind": row.kind,
        "id": row.id,
        "owner": str(row.owner),
        "provider": row.provider,
        "version": row.version,
    }


def _versions_as_data(versions: Iterable["SealedBy"]) -> dict[str, Any]:
    listed = tuple(versions)
    return {
        "versions": [
            {
                "version": one.version,
                "secrets": one.rows,
                "is_current": one.is_current,
                "is_known": one.is_known,
            }
            for one in listed
        ],
        "removable": [one.version for one in listed if one.is_removable],
    }
