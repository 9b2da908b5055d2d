"""Makes the sinks of one bot."""

from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.sink import DiscordSink


class DiscordSinks:
    """A sink for each turn, all over one client and its webhooks. Safe from several threads."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot

    def sink(self) -> DiscordSink:
        """A sink for one turn."""
        return DiscordSink(self._bot)

    def close(self) -> None:
        """Close the bot's connections."""
        self._bot.client.close()
