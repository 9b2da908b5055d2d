"""What dead turns left, put right by hand."""

import click

from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import dump, json_option, tell
from turnkeeper.interfaces.cli.progress import progress


@click.command()
@click.option("--now", is_flag=True, help="Do not wait for a process that may live after all.")
@json_option
@click.pass_obj
def sweep(installation: Installation, now: bool, as_json: bool) -> None:
    """Sweep up after turns whose process died: messages, quota, keys, webhooks.

    Where a turn seems dead, its process first gets twelve seconds to say that it lives.
    """
    from turnkeeper.infrastructure.json_values import as_json as in_json

    with installation.turnkeeper() as keeper, progress("swept", as_json=as_json) as told:
        report = keeper.sweep(told, at_once=now)
    if as_json:
        dump(in_json(report))
        return
    for lost in report.lost:
        after = f", run again as {lost.successor}" if lost.successor else ""
        tell(f"lost: turn {lost.turn_id} in channel {lost.channel_id}{after}")
    for turn_id, cause in report.failed:
        tell(f"not swept: turn {turn_id}: {cause}")
    tell(
        f"{len(report.lost)} lost turns; messages: {len(report.taken_back)} taken back,"
        f" {len(report.stuck)} stuck, {report.absent} never posted, {report.unsure} not sure;"
        f" {len(report.webhooks)} webhooks deleted"
    )
