"""Reads what is in a channel, and deletes it: for whoever tidies up after a turn that died."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.deadline import NEVER, Deadline
from turnkeeper.infrastructure.discord import calls
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.codes import ALREADY_GONE, CHANNEL_GONE
from turnkeeper.infrastructure.discord.errors import DiscordError, Unclear
from turnkeeper.infrastructure.discord.snowflake import just_before

PAGE = 100
MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMessage:
    """A message that is in a channel.

    Attributes:
        id: Its id.
        author_id: Who posted it; a webhook's messages have the webhook's id.
        webhook_id: The webhook that posted it, or None.
        content: What it says, without the white space around it.
    """

    id: str
    author_id: str
    webhook_id: str | None
    content: str


class DiscordReader:
    """Lists and deletes messages as the bot. Safe to use from several threads."""

    def __init__(self, client: DiscordClient, *, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._own_id: str | None = None

    def own_id(self, *, deadline: Deadline = NEVER) -> str:
        """The bot's own id as an author.

        Raises:
            SinkError: It cannot be had just now.
        """
        if self._own_id is None:
            user = self._client.make(calls.read_own_user(), deadline=deadline)
            self._own_id = str(_field(user, "id"))
        return self._own_id

    def messages_since(
        self,
        channel_id: str,
        since: datetime,
        *,
        thread_id: str | None = None,
        most: int = MOST,
        deadline: Deadline = NEVER,
    ) -> tuple[ChannelMessage, ...]:
        """What was posted from that instant on, the oldest first.

        Args:
            most: How many are enough; the oldest are those that are given.

        Raises:
            SinkError: They cannot be listed.
            DestinationGone: The channel is gone, or the bot may not see it.
        """
        found: list[ChannelMessage] = []
        after = just_before(since)
        while len(found) < most:
            call = calls.list_messages(thread_id or channel_id, after=after, limit=PAGE)
            page = sorted(
                (_message(one) for one in self._client.make(call, deadline=deadline)),
                key=lambda message: int(message.id),
            )
            found += page
            if len(page) < PAGE:
                break
            after = page[-1].id
        return tuple(found[:most])

    def delete_message(
        self,
        channel_id: str,
        message_id: str,
        *,
        thread_id: str | None = None,
        deadline: Deadline = NEVER,
    ) -> None:
        """Delete a message; nothing happens where it is gone.

        Raises:
            SinkError: It is still there, or nobody can tell.
        """
        call = calls.delete_message(thread_id or channel_id, message_id, now=self._clock.now())
        try:
            self._client.make(call, deadline=deadline)
        except DiscordError as error:
            if error.code != ALREADY_GONE and error.code not in CHANNEL_GONE:
                raise

    def delete_webhook(self, webhook_id: str, *, deadline: Deadline = NEVER) -> None:
        """Delete a webhook; nothing happens where it is gone.

        Raises:
            SinkError: It is still there, or nobody can tell.
        """
        try:
            self._client.make(calls.delete_webhook(webhook_id), deadline=deadline)
        except DiscordError as error:
            if error.status != 404:
                raise


def _message(said: Any) -> ChannelMessage:
    webhook_id = _field(said, "webhook_id", None)
    return ChannelMessage(
        id=str(_field(said, "id")),
        author_id=str(_field(_field(said, "author"), "id")),
        webhook_id=None if webhook_id is None else str(webhook_id),
        content=str(_field(said, "content", "")),
    )


_NEEDED = object()


def _field(said: Any, name: str, default: Any = _NEEDED) -> Any:
    value = said.get(name, default) if isinstance(said, dict) else _NEEDED
    if value is _NEEDED:
        raise Unclear(f"Discord's answer has no {name}")
    return value
