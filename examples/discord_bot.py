"""A Discord bot: turns run on a thread pool, and the event loop is never blocked.

It needs a gateway library beside turnkeeper, `pip install discord.py`, the bot's token in
DISCORD_TOKEN, and a model and keys for the server, set up as in `plain_function.py` with
`--server` and the server's id. turnkeeper itself speaks to Discord's REST interface.
"""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from turnkeeper.interfaces import Conversation, Turnkeeper, TurnRequest, TurnResult

THREADS = 64


def request_of(message: Any) -> TurnRequest:
    """The turn that a message of the gateway asks for."""
    channel = message.channel
    parent = getattr(channel, "parent_id", None)
    return TurnRequest(
        conversation=Conversation.of(message.content),
        server_id=str(message.guild.id) if message.guild else f"dm-{channel.id}",
        channel_id=str(channel.id),
        parent_channel_id=str(parent) if parent else None,
        user_id=str(message.author.id),
        trigger_id=str(message.id),  # so that the same message is never answered twice
    )


async def answer(keeper: Turnkeeper, pool: ThreadPoolExecutor, message: Any) -> TurnResult:
    """Answer a message, beside the event loop."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(
        pool, lambda: keeper.run(request_of(message), keeper.discord_sink())
    )


def main() -> None:
    """Listen at the gateway and answer whoever mentions the bot."""
    import discord

    intents = discord.Intents.default()
    intents.message_content = True
    client = discord.Client(intents=intents)

    with Turnkeeper.open() as keeper, ThreadPoolExecutor(THREADS) as pool:

        @client.event
        async def on_message(message: Any) -> None:
            if not message.author.bot and client.user in message.mentions:
                await answer(keeper, pool, message)

        client.run(os.environ["DISCORD_TOKEN"])


if __name__ == "__main__":
    main()
