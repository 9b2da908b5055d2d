"""Real turns into Discord, from the command line."""

from uuid import uuid4

import click

from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import OWNER_ID, server_option
from turnkeeper.interfaces.cli.present import dump, json_option, tell


@click.group()
def discord() -> None:
    """Speak in Discord, as the bot whose token is in DISCORD_TOKEN."""


@discord.command()
@click.argument("channel_id")
@click.argument("prompt")
@server_option
@click.option("--parent", "parent_channel_id", help="The channel that a thread hangs under.")
@click.option("--user", "user_id", type=OWNER_ID, help="Who asks; a user's own keys come first.")
@json_option
@click.pass_context
def send(  # noqa: PLR0913 - one for each option
    context: click.Context,
    /,
    channel_id: str,
    prompt: str,
    server_id: str,
    parent_channel_id: str | None,
    user_id: str | None,
    as_json: bool,
) -> None:
    """Answer PROMPT in the channel CHANNEL_ID: one real turn."""
    request = TurnRequest(
        conversation=Conversation.of(prompt),
        server_id=server_id,
        channel_id=channel_id,
        parent_channel_id=parent_channel_id,
        user_id=user_id,
    )
    installation: Installation = context.obj
    with installation.turnkeeper(lends_environment_keys=True) as keeper:
        result = keeper.run(request, keeper.discord_sink(), turn_id=uuid4().hex)
    shown = {
        "turn_id": result.turn_id,
        "status": result.status.value,
        "messages": [one.url or one.message_id for one in result.delivered],
    }
    if as_json:
        dump(shown)
    else:
        tell(f"{result.status.value}: {', '.join(shown['messages']) or 'no message'}")
        tell(f"turnkeeper explain {result.turn_id}")
    context.exit(0 if result.status is TurnStatus.COMPLETED else 1)
