"""Where things are said: channels, threads, webhooks, and what the bot may do there."""

from typing import Literal

from turnkeeper.domain.frozen import frozen

Permission = Literal[
    "VIEW_CHANNEL",
    "SEND_MESSAGES",
    "SEND_MESSAGES_IN_THREADS",
    "READ_MESSAGE_HISTORY",
    "MANAGE_MESSAGES",
    "MANAGE_WEBHOOKS",
    "MANAGE_THREADS",
]
ALL: frozenset[Permission] = frozenset(
    (
        "VIEW_CHANNEL",
        "SEND_MESSAGES",
        "SEND_MESSAGES_IN_THREADS",
        "READ_MESSAGE_HISTORY",
        "MANAGE_MESSAGES",
        "MANAGE_WEBHOOKS",
        "MANAGE_THREADS",
    )
)
TEXT, DM, THREAD = 0, 1, 11


@frozen
class Channel:
    """A channel, a direct conversation or a thread.

    Attributes:
        kind: Discord's number: 0 text, 1 direct, 11 thread.
        guild_id: None for a direct conversation.
        parent_id: The channel that a thread belongs to; None beside threads.
        permissions: What the bot may do; of a thread its parent's count.
    """

    id: str
    name: str
    kind: int = TEXT
    guild_id: str | None = None
    parent_id: str | None = None
    permissions: frozenset[Permission] = ALL
    archived: bool = False
    locked: bool = False

    @property
    def is_thread(self) -> bool:
        """Whether it is a thread."""
        return self.kind == THREAD

    @property
    def sending(self) -> Permission:
        """The permission that sending needs here."""
        return "SEND_MESSAGES_IN_THREADS" if self.is_thread else "SEND_MESSAGES"


@frozen
class Webhook:
    """An incoming webhook.

    Attributes:
        application_id: Whose it is; None if a person made it. Others' come without token.
    """

    id: str
    token: str
    name: str
    channel_id: str
    guild_id: str | None
    avatar: str | None = None
    application_id: str | None = None
