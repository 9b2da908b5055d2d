"""Reads the channels that memory sinks speak in."""

from collections.abc import Callable, Mapping
from datetime import datetime
from threading import Lock

from turnkeeper.application.ports.channel_reader import ChannelReader, Place, PostedMessage
from turnkeeper.infrastructure.memory.sink import MemoryChannel

BOT = "bot"
Refusal = Callable[[str], None]
"""Called with the id of what is to be deleted; raises to refuse it."""


class MemoryChannelReader(ChannelReader):
    """Looks into memory channels, where everything is the bot's own.

    Args:
        channels: By channel id; of a thread, by the thread's id.
        trouble: Called before each deletion; what it raises, the deletion raises.
    """

    def __init__(
        self, channels: Mapping[str, MemoryChannel], *, trouble: Refusal | None = None
    ) -> None:
        self._channels = channels
        self._trouble = trouble
        self._lock = Lock()  # guards the one below
        self._deleted_webhooks: list[str] = []

    @property
    def deleted_webhooks(self) -> tuple[str, ...]:
        """The webhooks that were deleted, in this order."""
        with self._lock:
            return tuple(self._deleted_webhooks)

    def own_id(self) -> str:
        return BOT

    def messages_since(self, place: Place, since: datetime) -> tuple[PostedMessage, ...]:
        channel = self._channel(place)
        return tuple(
            PostedMessage(
                message_id=message.id,
                author_id=message.webhook_id or BOT,
                webhook_id=message.webhook_id,
                text=message.text,
                posted_at=message.posted_at,
            )
            for message in (channel.messages if channel else ())
            if message.posted_at >= since
        )

    def delete_message(
        self, place: Place, message_id: str, *, webhook_id: str | None = None
    ) -> bool:
        self._may_delete(message_id)
        channel = self._channel(place)
        if channel is not None:
            channel.delete(message_id)
        return True

    def delete_webhook(self, webhook_id: str) -> bool:
        self._may_delete(webhook_id)
        with self._lock:
            self._deleted_webhooks.append(webhook_id)
        return True

    def _may_delete(self, name: str) -> None:
        if self._trouble is not None:
            self._trouble(name)

    def _channel(self, place: Place) -> MemoryChannel | None:
        return self._channels.get(place.thread_id or place.channel_id)
