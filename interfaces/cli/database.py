"""The database, and whether all is well."""

import os
from typing import TYPE_CHECKING

import click

from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import console, dump, json_option, tell
from turnkeeper.interfaces.cli.progress import progress

if TYPE_CHECKING:  # imported where it is used, so that help is there at once
    from turnkeeper.infrastructure.postgres.privileges import Given


@click.command()
@click.option("--app-role", metavar="ROLE", help="Let this role run turns, and nothing more.")
@json_option
@click.pass_obj
def migrate(installation: Installation, app_role: str | None, as_json: bool) -> None:
    """Bring the database's schema up to date.

    With --app-role, ROLE is made if that is allowed, and may then read and write rows, and change
    no table. Let the bot log in as a member of it.
    """
    from turnkeeper.infrastructure.postgres.migrate import migrate
    from turnkeeper.infrastructure.postgres.privileges import give_privileges

    with installation.container() as container, progress("applied", as_json=as_json) as told:
        keeps = container.settings().store != "memory"
        applied = migrate(container.engine(), told=told) if keeps else ()
        given = give_privileges(container.engine(), app_role) if app_role else None
    if as_json:
        role = {"app_role": app_role, "role": given.value} if given else {}
        dump({"applied": list(applied), **role})
        return
    tell(f"applied: {', '.join(applied)}" if applied else "the schema is up to date")
    if app_role and given:
        _tell_given(app_role, given)


@click.group()
def db() -> None:
    """What a database administrator may want to know."""


@db.command("grants")
@click.option("--role", help="Another role than turnkeeper_app.")
@json_option
def print_grants(role: str | None, as_json: bool) -> None:
    """Print the SQL that gives a role what it needs to run turns; nothing is done."""
    from turnkeeper.infrastructure.postgres.privileges import APP_ROLE, creation, grants

    named = role or APP_ROLE
    statements = (creation(named), *grants(named))
    if as_json:
        dump({"role": named, "statements": list(statements)})
    else:
        _print_sql(statements)


def _tell_given(role: str, given: "Given") -> None:
    from turnkeeper.infrastructure.postgres.privileges import Given, creation, grants

    match given:
        case Given.CREATED:
            tell(f"made role {role}; now: CREATE ROLE name LOGIN PASSWORD '…' IN ROLE {role}")
        case Given.GRANTED:
            tell(f"role {role} has what it needs")
        case Given.NOT_ALLOWED:
            tell(f"there is no role {role}, and this user may not make it; let one who may run:")
            _print_sql((creation(role), *grants(role)))


def _print_sql(statements: tuple[str, ...]) -> None:
    for statement in statements:
        click.echo(f"{statement};")


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check the data folder, the database, its connections and the saved keys."""
    from rich.text import Text

    from turnkeeper.interfaces.doctor import checks

    all_well = True
    with context.obj.container() as container:
        for check in checks(container, os.environ):
            all_well = all_well and check.is_well
            if as_json:
                dump({"check": check.name, "ok": check.is_well, "said": check.said})
                continue
            mark = Text("ok    ", style="green") if check.is_well else Text("wrong ", style="red")
            console().print(mark + Text(f"{check.name:14} {check.said}"), soft_wrap=True)
    context.exit(0 if all_well else 1)
