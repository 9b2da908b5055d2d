"""Makes the sinks of one bot."""

from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.sink import DiscordSink
from turnkeeper.infrastructure.discord.take_back import TakeBack


class DiscordSinks:
    """A sink for each turn, all over one client and its webhooks. Safe from several threads."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot

    def sink(self) -> DiscordSink:
        """A sink for one turn."""
        return DiscordSink(self._bot)

    def take_back(self, owner: Owner) -> TakeBack:
        """What deletes messages of an owner's channels once their turn is over."""
        bot = self._bot
        return TakeBack(bot.client, bot.webhooks, clock=bot.clock, owner=owner)

    def close(self) -> None:
        """Close the bot's connections."""
        self._bot.client.close()
