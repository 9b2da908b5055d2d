"""What is long over, forgotten by hand."""

import click

from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import dump, json_option, tell
from turnkeeper.interfaces.cli.progress import progress


@click.command()
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    required=True,
    help="Keep what is younger than so many days.",
)
@json_option
@click.pass_obj
def prune(installation: Installation, days: int, as_json: bool) -> None:
    """Forget turns that are long over: journals, tool runs, messages, notices, signals, quota.

    It needs the login of the tables' owner: the role that runs turns may not delete journals.
    """
    from turnkeeper.infrastructure.json_values import as_json as in_json

    with installation.container() as container, progress("forgotten", as_json=as_json) as told:
        container.schema()
        pruned = container.prune()(days=days, told=told)
    if as_json:
        dump(in_json(pruned))
        return
    tell(
        f"forgotten: {pruned.turns} turns, {pruned.journals} journals of {pruned.events} entries,"
        f" {pruned.messages} messages in the ledger, {pruned.notices} notices,"
        f" {pruned.units} quota units, {pruned.refusals} refusals"
    )
