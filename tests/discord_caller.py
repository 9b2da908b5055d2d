"""A plain client of the Discord double, without any care."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import requests

from turnkeeper.infrastructure.discord_double.double import DiscordDouble

AGENT = "DiscordBot (https://example.org/turnkeeper, 1.0)"


@dataclass(frozen=True)
class Caller:
    """Calls of one bot; paths are those below the version."""

    discord: DiscordDouble
    session: requests.Session

    def __call__(
        self, method: str, path: str, json: object = None, **headers: str | None
    ) -> requests.Response:
        """Call as the bot; a header of None is not sent."""
        return self.session.request(
            method, f"{self.discord.url}{path}", json=json, headers=headers, timeout=10
        )

    def post(self, channel_id: str, content: str, **fields: object) -> Any:
        """Say something that is to succeed, and return the message."""
        response = self("POST", f"/channels/{channel_id}/messages", {"content": content, **fields})
        assert response.status_code == 200, response.text
        return response.json()

    def webhook(self, channel_id: str) -> str:
        """Make a webhook, and return its path."""
        made = self("POST", f"/channels/{channel_id}/webhooks", {"name": "Lantern"}).json()
        return f"/webhooks/{made['id']}/{made['token']}"


@contextmanager
def calling(discord: DiscordDouble) -> Iterator[Caller]:
    """A client for the time of a block."""
    with requests.Session() as session:
        session.trust_env = False
        session.headers.update({"User-Agent": AGENT, "Authorization": f"Bot {discord.token}"})
        yield Caller(discord, session)


def contents(discord: DiscordDouble, channel_id: str) -> list[str]:
    """What people read in a channel."""
    return [message.content for message in discord.visible(channel_id)]


def answer_of(response: requests.Response) -> tuple[int, int]:
    """The status, and the code of the body."""
    return response.status_code, response.json()["code"]
