"""The demonstration: what `make run` shows."""

import click

from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import json_option, tell


@click.command()
@json_option
@click.pass_context
def demo(context: click.Context, as_json: bool) -> None:
    """Show a turn that is rescued: no key is needed, all of it is local."""
    from turnkeeper.infrastructure.console.sink import ConsoleSink
    from turnkeeper.infrastructure.memory.sink import MemorySink
    from turnkeeper.interfaces.cli.events import EventLines
    from turnkeeper.interfaces.demo import INTRODUCTION, rescued_turn
    from turnkeeper.interfaces.explain import explained

    installation: Installation = context.obj
    with installation.turnkeeper() as keeper:
        if as_json:
            lines = EventLines()
            result = rescued_turn(keeper, MemorySink(), on_event=lines.event)
            lines.result(result)
        else:
            tell("\n".join(INTRODUCTION) + "\n")
            result = rescued_turn(keeper, ConsoleSink(grows=True))
            tell("\nwhy:")
            for why in explained(keeper.events(result.turn_id), decisions_only=True):
                tell(str(why))
    context.exit(0 if result.status is TurnStatus.COMPLETED else 1)
