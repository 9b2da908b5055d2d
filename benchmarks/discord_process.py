"""A Discord in a process of its own, so that it does not share the interpreter lock with a client.

``python -m benchmarks.discord_process`` prints its address, its bot's token and a channel, and ends
with its standard input.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import requests

from benchmarks.neighbour import neighbour
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.rate_limits import RateLimits
from turnkeeper.infrastructure.discord.sink import DiscordSink
from turnkeeper.infrastructure.discord.transport import Transport
from turnkeeper.infrastructure.discord.webhooks import Webhooks
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import NONE
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.memory.webhook_store import MemoryWebhookStore
from turnkeeper.infrastructure.threads import ThreadRunner

WITHOUT_LIMIT = 1_000_000  # calls a second; Discord itself allows a bot 50
USER_AGENT = "DiscordBot (https://example.org, 1)"  # Discord wants one of this form


@frozen
class Place:
    """A channel that somebody may speak in."""

    url: str
    token: str
    channel_id: str


@contextmanager
def in_discord() -> Iterator[Place]:
    """A channel of a Discord without limits."""
    with neighbour("benchmarks.discord_process") as said:
        url, token, channel_id = said.split()
        yield Place(url=url, token=token, channel_id=channel_id)


def poster(place: Place) -> Callable[[str, str], str]:
    """What posts a text under a nonce, as a bot would that knows nothing better; the message's id.

    The session is the tuned floor's: it looks at no environment, and keeps its connection.
    """
    session = requests.Session()
    session.trust_env = False
    session.headers["Authorization"] = f"Bot {place.token}"
    session.headers["User-Agent"] = USER_AGENT
    address = f"{place.url}/channels/{place.channel_id}/messages"

    def post(text: str, nonce: str) -> str:
        reply = session.post(address, json={"content": text, "nonce": nonce, "enforce_nonce": True})
        reply.raise_for_status()
        return str(reply.json()["id"])

    return post


def sinks(place: Place) -> Callable[[], DiscordSink]:
    """What makes a turn's sink, of a bot that need not keep to Discord's 50 calls a second."""
    clock = SystemClock()
    transport = Transport(Secret(place.token), base_url=place.url)
    limits = RateLimits(clock, per_second=WITHOUT_LIMIT)
    client = DiscordClient(transport, clock=clock, limits=limits)
    bot = Bot(
        client=client,
        webhooks=Webhooks(client, MemoryWebhookStore(), clock=clock),
        clock=clock,
        runner=ThreadRunner(),
        notices=MemoryNotices(clock),
    )
    return lambda: DiscordSink(bot)


def main() -> None:
    with DiscordDouble(limits=NONE) as discord:
        print(discord.url, discord.token, discord.add_channel(), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
