"""`turnkeeper user forget`: all that is kept of a user, deleted."""

from dataclasses import asdict

import click

from turnkeeper.application.ports.user_traces import Traces
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import OWNER_ID
from turnkeeper.interfaces.cli.present import dump, json_option, tell
from turnkeeper.interfaces.cli.progress import progress


@click.command()
@click.argument("user_id", metavar="USER", type=OWNER_ID)
@click.option("--yes", is_flag=True, help="Do not ask whether you are sure.")
@json_option
@click.pass_context
def forget(context: click.Context, user_id: str, yes: bool, as_json: bool) -> None:
    """Delete USER's turns, journals, ledger, tool runs, notices, quota, settings and keys.

    Messages in channels stay where they are. It ends with 1 where a turn is not over and so stays.
    """
    installation: Installation = context.obj
    with installation.container() as container:
        container.schema()
        forget_user = container.forget_user()
        if not yes:
            kept = in_words(forget_user.count(user_id))
            click.confirm(f"Delete {kept} of user {user_id}?", abort=True, err=True)
        with progress("forgotten", as_json=as_json) as told:
            gone = forget_user(user_id, told)
    if as_json:
        dump({"user": user_id, **asdict(gone)})
    else:
        _tell(user_id, gone)
    context.exit(1 if gone.unfinished else 0)


def in_words(traces: Traces) -> str:
    """How much that is."""
    return (
        f"{traces.turns} turns with {traces.entries} journal entries ({traces.tool_runs} of tools)"
        f" and {traces.messages} messages in the ledger, {traces.notices} notices,"
        f" {traces.counts} cooldown and quota counts, {traces.keys} keys,"
        f" {traces.settings} settings"
    )


def _tell(user_id: str, gone: Traces) -> None:
    tell(f"user {user_id}: deleted {in_words(gone)}")
    if gone.unfinished:
        tell(
            f"{gone.unfinished} turns are not over, or are still to be swept up: run"
            " `turnkeeper sweep`, and this again"
        )
