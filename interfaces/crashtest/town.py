"""A bot of ours in a loopback Discord, for whole turns."""

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Runner
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.infrastructure.discord.reader import DiscordChannelReader
from turnkeeper.infrastructure.discord.sink import DiscordSink
from turnkeeper.infrastructure.discord.transport import Transport
from turnkeeper.infrastructure.discord.webhooks import Webhooks
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.memory.webhook_store import MemoryWebhookStore

READ_TIMEOUT_S = 2.0


@frozen
class Seen:
    """What people see of turns in one channel.

    Attributes:
        answer: The text of the answer's messages, one a line.
        notices: How many messages with a button.
        errors: How many error cards.
    """

    answer: tuple[str, ...]
    notices: int = 0
    errors: int = 0


class Town:
    """A Discord, and a bot's sinks that speak in it."""

    def __init__(
        self,
        discord: DiscordDouble,
        clock: Clock,
        runner: Runner,
        manners: Manners,
        read_timeout_s: float = READ_TIMEOUT_S,
    ) -> None:
        self.discord = discord
        self.runner = runner
        transport = Transport(
            Secret(discord.token), base_url=discord.url, read_timeout_s=read_timeout_s
        )
        client = DiscordClient(transport, clock=clock)
        self.notices = MemoryNotices(clock)
        self.bot = Bot(
            client=client,
            webhooks=Webhooks(client, MemoryWebhookStore(), clock=clock),
            clock=clock,
            runner=runner,
            notices=self.notices,
            manners=manners,
        )
        self.reader = DiscordChannelReader(self.bot)

    def sink(self) -> DiscordSink:
        """A sink for one turn."""
        return DiscordSink(self.bot)

    def seen(self, channel_id: str) -> Seen:
        """What people see there of us."""
        messages = [one for one in self.discord.visible(channel_id) if one.application_id]
        return Seen(
            answer=tuple(one.content for one in messages if one.content),
            notices=sum(bool(one.components) for one in messages),
            errors=sum(bool(one.embeds) and not one.components for one in messages),
        )

    def said_by_us(self, channel_id: str) -> list[str]:
        """The ids of the answer's messages."""
        messages = self.discord.visible(channel_id)
        return [one.id for one in messages if one.application_id and one.content]

    def close(self) -> None:
        """Let go of the connections."""
        self.bot.client.close()
