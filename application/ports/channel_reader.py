"""Looks at a channel from outside any turn, and takes back what a dead one left there."""

from datetime import datetime
from typing import Protocol

from turnkeeper.domain.frozen import frozen


@frozen
class Place:
    """Where messages stand.

    Attributes:
        channel_id: The channel.
        thread_id: The thread within it, or None.
    """

    channel_id: str
    thread_id: str | None = None


@frozen
class PostedMessage:
    """A message that stands in a channel, whoever posted it.

    Attributes:
        message_id: The destination's id for it.
        author_id: Who posted it.
        webhook_id: The webhook that sent it, or None.
        text: What it says now.
        posted_at: When it was posted, by the destination's clock.
    """

    message_id: str
    author_id: str
    webhook_id: str | None
    text: str
    posted_at: datetime


class ChannelReader(Protocol):
    """Reads and clears channels. Safe to use from several threads.

    Raises:
        SinkError: From every method: the destination refused, or cannot be reached.
        DestinationGone: ... and will go on refusing.
    """

    def own_id(self) -> str:
        """The author id of what the bot posts itself, without a webhook."""
        ...

    def messages_since(self, place: Place, since: datetime) -> tuple[PostedMessage, ...]:
        """All messages posted at `since` or later, oldest first, whoever posted them."""
        ...

    def delete_message(
        self, place: Place, message_id: str, *, webhook_id: str | None = None
    ) -> bool:
        """Delete a message; True if it is gone, also where it had been gone before.

        Args:
            webhook_id: The webhook that sent it, where that has to delete it.
        """
        ...

    def delete_webhook(self, webhook_id: str) -> bool:
        """Delete a webhook; True if it is gone, also where it had been gone before."""
        ...
