"""A bot of ours in a loopback Discord whose hours are short, for whole turns."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Lock

from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.infrastructure.discord.reader import DiscordChannelReader
from turnkeeper.infrastructure.discord.sink import DiscordSink
from turnkeeper.infrastructure.discord.transport import Transport
from turnkeeper.infrastructure.discord.webhooks import Webhooks
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import DEFAULT, Limits
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.memory.webhook_store import MemoryWebhookStore
from turnkeeper.infrastructure.threads import ThreadRunner

HASTE = 100.0


class HastyClock(SystemClock):
    """A clock on which waiting takes a hundredth of the time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead_s

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._ahead_s)

    def sleep(self, seconds: float) -> None:
        self.wait(Event(), seconds)

    def wait(self, event: Event, timeout_s: float) -> bool:
        if timeout_s == float("inf"):
            return super().wait(event, timeout_s)
        is_set = super().wait(event, timeout_s / HASTE)
        if not is_set:
            with self._lock:
                self._ahead_s += timeout_s * (1 - 1 / HASTE)
        return is_set


@dataclass(frozen=True, slots=True, kw_only=True)
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
        self, discord: DiscordDouble, clock: HastyClock, manners: Manners, read_timeout_s: float
    ) -> None:
        self.discord = discord
        self.clock = clock
        self.runner = ThreadRunner()
        transport = Transport(
            Secret(discord.token), base_url=discord.url, read_timeout_s=read_timeout_s
        )
        client = DiscordClient(transport, clock=clock)
        self.notices = MemoryNotices(clock)
        self.bot = Bot(
            client=client,
            webhooks=Webhooks(client, MemoryWebhookStore(), clock=clock),
            clock=clock,
            runner=self.runner,
            notices=self.notices,
            manners=manners,
        )
        self.reader = DiscordChannelReader(self.bot)

    def sink(self) -> DiscordSink:
        return DiscordSink(self.bot)

    def seen(self, channel_id: str) -> Seen:
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
        self.bot.client.close()
        self.runner.close()


@contextmanager
def town(
    *,
    limits: Limits = DEFAULT,
    manners: Manners = Manners(),
    read_timeout_s: float = 2.0,
) -> Iterator[Town]:
    """A town, as long as the `with` lasts."""
    clock = HastyClock()
    with DiscordDouble(clock=clock, limits=limits) as discord:
        made = Town(discord, clock, manners, read_timeout_s)
        yield made
        made.close()
