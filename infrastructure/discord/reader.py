"""Looks at channels from outside any turn, as the bot."""

from datetime import datetime
from typing import Any

from turnkeeper.application.ports.channel_reader import ChannelReader, Place, PostedMessage
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.outcome import Delivery
from turnkeeper.infrastructure.discord import calls
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.errors import DiscordError, Unclear
from turnkeeper.infrastructure.discord.place import id_of
from turnkeeper.infrastructure.discord.snowflake import just_before, made_at
from turnkeeper.infrastructure.discord.take_back import TakeBack

PAGE = 100
_NEEDED = object()


class DiscordChannelReader(ChannelReader):
    """Reads and clears what turns left.

    Args:
        within_s: The longest time that one call may take, with all its waits.
    """

    def __init__(self, bot: Bot, *, within_s: float = 60.0) -> None:
        self._client = bot.client
        self._within_s = within_s
        self._take_back = TakeBack(bot.client, bot.webhooks, clock=bot.clock)
        self._own_id: str | None = None

    def own_id(self) -> str:
        if self._own_id is None:
            user = self._client.make(calls.read_own_user(), deadline=self._deadline())
            self._own_id = str(_field(user, "id"))
        return self._own_id

    def messages_since(self, place: Place, since: datetime) -> tuple[PostedMessage, ...]:
        found: list[PostedMessage] = []
        after = just_before(since)
        while True:
            call = calls.list_messages(id_of(place), after=after, limit=PAGE)
            page = self._client.make(call, deadline=self._deadline())
            found += sorted(map(_message, page), key=lambda message: int(message.message_id))
            if len(page) < PAGE:
                return tuple(found)
            after = found[-1].message_id

    def delete_message(
        self, place: Place, message_id: str, *, webhook_id: str | None = None
    ) -> bool:
        delivery = Delivery(
            message_id=message_id,
            channel_id=place.channel_id,
            thread_id=place.thread_id,
            webhook_id=webhook_id,
            text="",
        )
        return self._take_back(delivery, deadline=self._deadline())

    def delete_webhook(self, webhook_id: str) -> bool:
        try:
            self._client.make(calls.delete_webhook(webhook_id), deadline=self._deadline())
        except DiscordError as error:
            if error.status != 404:
                raise
        return True

    def _deadline(self) -> Deadline:
        return self._client.within(self._within_s)


def _message(said: Any) -> PostedMessage:
    message_id, webhook_id = str(_field(said, "id")), _field(said, "webhook_id", None)
    return PostedMessage(
        message_id=message_id,
        author_id=str(_field(_field(said, "author"), "id")),
        webhook_id=None if webhook_id is None else str(webhook_id),
        text=str(_field(said, "content", "")),
        posted_at=made_at(message_id),
    )


def _field(said: Any, name: str, default: Any = _NEEDED) -> Any:
    value = said.get(name, default) if isinstance(said, dict) else _NEEDED
    if value is _NEEDED:
        raise Unclear(f"Discord's answer has no {name}")
    return value
