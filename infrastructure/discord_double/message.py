"""What is said in a channel, by whom, and what became of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.mentions import NOBODY, Pings

Json = Mapping[str, Any]
Remover = Literal["bot", "webhook", "bulk", "person", "channel"]

SUPPRESS_EMBEDS = 1 << 2
EPHEMERAL = 1 << 6
LOADING = 1 << 7
SUPPRESS_NOTIFICATIONS = 1 << 12
COMPONENTS_V2 = 1 << 15


@frozen
class Author:
    """Who says something.

    Attributes:
        webhook_id: Set where a webhook speaks; then `name` and `avatar` are those of the message.
    """

    id: str
    name: str
    bot: bool = False
    webhook_id: str | None = None
    avatar: str | None = None


@frozen
class Message:
    """One message as people see it.

    Attributes:
        earlier: Its contents before each edit.
        reply_to: The message that it answers.
        pings: Whom it notified, by its last write.
        shown_to: The one user who sees it; None for all.
        application_id: Whose bot or webhook it is from; None for people and foreign webhooks.
    """

    id: str
    channel_id: str
    author: Author
    content: str = ""
    embeds: tuple[Json, ...] = ()
    components: tuple[Json, ...] = ()
    flags: int = 0
    nonce: str | int | None = None
    reply_to: str | None = None
    posted_at: datetime
    edited_at: datetime | None = None
    earlier: tuple[str, ...] = ()
    pings: Pings = NOBODY
    shown_to: str | None = None
    application_id: str | None = None


@frozen
class Deletion:
    """A message that is gone."""

    message: Message
    by: Remover
    at: datetime
