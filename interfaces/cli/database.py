"""The database, and whether all is well."""

import os

import click

from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import console, dump, json_option, tell


@click.command()
@json_option
@click.pass_obj
def migrate(installation: Installation, as_json: bool) -> None:
    """Bring the database's schema up to date."""
    with installation.container() as container:
        applied = container.schema()
    if as_json:
        dump({"applied": list(applied)})
    else:
        tell(f"applied: {', '.join(applied)}" if applied else "the schema is up to date")


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
