"""A bot on the Discord double, whose waits pass on the double's own clock."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from builders import a_request
from fakes import FrozenClock

from turnkeeper.application.ports.sink import Target
from turnkeeper.domain.outcome import Delivery, Origin
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.turn import Persona, TurnRequest
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.infrastructure.discord.sink import DiscordSink
from turnkeeper.infrastructure.discord.transport import Transport
from turnkeeper.infrastructure.discord.webhook_store import WebhookStore
from turnkeeper.infrastructure.discord.webhooks import Webhooks
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import NONE, Limits
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.memory.webhook_store import MemoryWebhookStore
from turnkeeper.infrastructure.threads import ThreadRunner

ADA = Persona(id="ada", name="Ada", is_alter=True, avatar_url="https://example.org/ada.png")
BEN = Persona(name="Ben", avatar_url="https://example.org/ben.png")
QUIET = Manners(shows_typing=False)


@dataclass(frozen=True)
class Stand:
    """A double, and a bot on it."""

    double: DiscordDouble
    bot: Bot
    clock: FrozenClock
    store: WebhookStore

    def request(self, channel: str, **more: Any) -> TurnRequest:
        return a_request("Hello", server_id=self.double.guild_id, channel_id=channel, **more)

    def texts(self, channel: str) -> list[str]:
        return [message.content for message in self.double.visible(channel)]

    def routes(self) -> list[str | None]:
        return [exchange.route for exchange in self.double.exchanges]


@dataclass
class Turn:
    """A sink in a turn."""

    sink: DiscordSink
    target: Target
    posts: int = 0

    @classmethod
    def begun(cls, stand: Stand, request: TurnRequest) -> "Turn":
        sink = DiscordSink(stand.bot)
        return cls(sink, sink.prepare(request))

    def post(self, text: str, nonce: str | None = None) -> Delivery:
        self.posts += 1
        nonce = nonce or f"{id(self)}-{self.posts}"
        return self.sink.post(text, target=self.target, origin=Origin.STREAM, nonce=nonce)


@contextmanager
def standing(*, limits: Limits = NONE, manners: Manners = QUIET) -> Iterator[Stand]:
    """A bot on a double for the time of a block."""
    clock, runner = FrozenClock(), ThreadRunner()
    with DiscordDouble(clock=clock, limits=limits) as double:
        client = DiscordClient(Transport(Secret(double.token), base_url=double.url), clock=clock)
        store = MemoryWebhookStore()
        bot = Bot(
            client=client,
            webhooks=Webhooks(client, store, clock=clock, application_id=double.application_id),
            clock=clock,
            runner=runner,
            notices=MemoryNotices(clock),
            manners=manners,
        )
        try:
            yield Stand(double, bot, clock, store)
        finally:
            runner.close()
            client.close()
