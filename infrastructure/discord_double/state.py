"""Everything the double knows: who can say what where, and what stands in the channels."""

import secrets
import threading

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.discord_double.interaction import Interaction
from turnkeeper.infrastructure.discord_double.message import Author, Deletion, Message, Remover
from turnkeeper.infrastructure.discord_double.places import Channel, Permission, Webhook
from turnkeeper.infrastructure.discord_double.problem import (
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    Refused,
)
from turnkeeper.infrastructure.discord_double.snowflakes import Snowflakes

NONCE_LIVES_S = 180.0
Nonce = tuple[str, str | int]


class State:
    """The world behind the API. All but `lock` is used under the lock.

    Attributes:
        token: What a bot call has to bring; it changes when it is revoked.
        posts: How many messages bot and webhooks have posted so far.
        typed: In which channels the bot was seen typing, in order.
    """

    def __init__(self, clock: Clock) -> None:
        self.lock = threading.RLock()
        self.clock = clock
        self.snowflakes = Snowflakes(clock)
        self.token = f"double.{secrets.token_urlsafe(24)}"
        self.application_id = self.snowflakes.next()
        self.guild_id = self.snowflakes.next()
        self.bot = Author(id=self.snowflakes.next(), name="Turnkeeper", bot=True)
        self.channels: dict[str, Channel] = {}
        self.webhooks: dict[str, Webhook] = {}
        self.messages: dict[str, Message] = {}
        self.interactions: dict[str, Interaction] = {}
        self.deletions: list[Deletion] = []
        self.typed: list[str] = []
        self.posts = 0
        self._nonces: dict[Nonce, tuple[str, float]] = {}

    def channel(self, channel_id: str) -> Channel:
        """The channel of this id.

        Raises:
            Refused: There is none.
        """
        if (channel := self.channels.get(channel_id)) is None:
            raise Refused(UNKNOWN_CHANNEL)
        return channel

    def message(self, message_id: str, channel_id: str) -> Message:
        """The message of this id that everybody sees in this channel.

        Raises:
            Refused: There is none.
        """
        message = self.messages.get(message_id)
        if message is None or (message.channel_id, message.shown_to) != (channel_id, None):
            raise Refused(UNKNOWN_MESSAGE)
        return message

    def allows(self, channel: Channel, permission: Permission) -> bool:
        """Whether the bot has a permission there."""
        owner = self.channels.get(channel.parent_id or "", channel)
        return permission in owner.permissions

    def post(self, message: Message) -> Message:
        """Let a message of the bot or of a webhook appear."""
        self.posts += 1
        self.messages[message.id] = message
        channel = self.channels[message.channel_id]
        if channel.archived and not channel.locked:
            self.channels[channel.id] = replace(channel, archived=False)
        return message

    def remove(self, message: Message, by: Remover) -> None:
        """Let a message disappear, and remember it."""
        del self.messages[message.id]
        self.deletions.append(Deletion(message=message, by=by, at=self.clock.now()))

    def remove_channel(self, channel_id: str) -> None:
        """Let a channel disappear with its threads, webhooks and messages."""
        gone = {one.id for one in self.channels.values() if channel_id in (one.id, one.parent_id)}
        for message in [one for one in self.messages.values() if one.channel_id in gone]:
            self.remove(message, "channel")
        for webhook in [one for one in self.webhooks.values() if one.channel_id in gone]:
            del self.webhooks[webhook.id]
        for one in gone:
            del self.channels[one]

    def shown(self, channel_id: str, to: str | None = None) -> tuple[Message, ...]:
        """What everybody sees in a channel, or one user alone, oldest first."""
        place = (channel_id, to)
        found = (one for one in self.messages.values() if (one.channel_id, one.shown_to) == place)
        return tuple(sorted(found, key=lambda one: int(one.id)))

    def keep_nonce(self, author_id: str, nonce: str | int, message_id: str) -> None:
        """Remember which message came with a nonce."""
        self._nonces[author_id, nonce] = (message_id, self.clock.monotonic() + NONCE_LIVES_S)

    def message_of_nonce(self, author_id: str, nonce: str | int) -> str | None:
        """The id of the message that came with a nonce in the last minutes, deleted or not."""
        message_id, until_s = self._nonces.get((author_id, nonce), ("", 0.0))
        return message_id if message_id and self.clock.monotonic() < until_s else None
