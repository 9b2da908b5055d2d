"""The double itself: a Discord on loopback, for the time of a `with`."""

import threading
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Self

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.discord_double.desk import Desk, Exchange
from turnkeeper.infrastructure.discord_double.fault import Fault
from turnkeeper.infrastructure.discord_double.interaction import Interaction
from turnkeeper.infrastructure.discord_double.limits import DEFAULT, Limits
from turnkeeper.infrastructure.discord_double.message import Author, Deletion, Message
from turnkeeper.infrastructure.discord_double.places import (
    ALL,
    DM,
    TEXT,
    THREAD,
    Channel,
    Permission,
    Webhook,
)
from turnkeeper.infrastructure.discord_double.presses import Heard, Presses
from turnkeeper.infrastructure.discord_double.routes import BASE_PATH
from turnkeeper.infrastructure.discord_double.signing import Manner, Signer
from turnkeeper.infrastructure.discord_double.state import State
from turnkeeper.infrastructure.discord_double.transcript import transcript_of
from turnkeeper.infrastructure.discord_double.wall_dialect import DiscordDialect
from turnkeeper.infrastructure.discord_double.webhook_routes import made
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall

SOMEBODY = Author(id="100000000000000001", name="Mason")
FOREIGN_APPLICATION = "100000000000000002"


class DiscordDouble:
    """A Discord on 127.0.0.1, with one guild and one bot. Safe to use from several threads.

    Args:
        clock: For ids, ages, limits and deadlines; only slow answers and the application's own
            endpoint take real time.
        limits: `limits.NONE` for whoever looks at something else.
        scale: How long a second of a rate limit lasts; ages and deadlines stay as they are.
    """

    def __init__(
        self, *, clock: Clock | None = None, limits: Limits = DEFAULT, scale: float = 1.0
    ) -> None:
        self._state = State(clock or SystemClock())
        self._closing = threading.Event()
        self._desk = Desk(self._state, limits.scaled(scale), self._closing)
        self._signer = Signer()
        self._presses = Presses(self._state, self._signer)
        self._wall = Wall(dialects=(DiscordDialect(),))
        self._wall.script(self._desk.meet)
        self.token = self._state.token
        self.application_id = self._state.application_id
        self.guild_id = self._state.guild_id
        self.bot = self._state.bot

    def __enter__(self) -> Self:
        self._wall.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._wall.__exit__(kind, error, trace)

    @property
    def url(self) -> str:
        """What stands in for https://discord.com/api/v10."""
        return f"{self._wall.url}{BASE_PATH}"

    @property
    def public_key(self) -> str:
        """The key with which the application checks interactions, in hex."""
        return self._signer.public_key

    def add_channel(
        self, name: str = "general", *, permissions: frozenset[Permission] = ALL
    ) -> str:
        """Make a text channel, and return its id."""
        return self._added(
            name, kind=TEXT, guild_id=self.guild_id, permissions=permissions, parent_id=None
        )

    def add_thread(self, parent_id: str, name: str = "thread") -> str:
        """Make a thread of a channel, and return its id."""
        parent = self.channel(parent_id)
        return self._added(
            name,
            kind=THREAD,
            guild_id=parent.guild_id,
            permissions=parent.permissions,
            parent_id=parent_id,
        )

    def add_dm(self) -> str:
        """Begin a direct conversation, and return its channel's id."""
        return self._added("", kind=DM, guild_id=None, permissions=ALL, parent_id=None)

    def add_webhook(
        self, channel_id: str, name: str = "Lantern", *, of_application: str | None = None
    ) -> Webhook:
        """Make a webhook.

        Args:
            of_application: `application_id` for the bot's own; None for one that a person made;
                any other, as FOREIGN_APPLICATION, hides its token from the bot.
        """
        with self._state.lock:
            return made(self._state, self._state.channels[channel_id], name, of_application)

    def say(
        self, channel_id: str, text: str, *, author: Author = SOMEBODY, age_s: float = 0.0
    ) -> str:
        """Let a message stand there that came by no call, and return its id.

        Args:
            author: A person, `bot`, or who a webhook was.
            age_s: How long ago it was said.
        """
        with self._state.lock:
            snowflakes = self._state.snowflakes
            message = Message(
                id=snowflakes.earlier(age_s) if age_s else snowflakes.next(),
                channel_id=channel_id,
                author=author,
                content=text,
                posted_at=self._state.clock.now() - timedelta(seconds=age_s),
                application_id=self.application_id if author == self.bot else None,
            )
            self._state.messages[message.id] = message
            return message.id

    def remove(self, message_id: str) -> None:
        """Let a moderator delete a message."""
        with self._state.lock:
            self._state.remove(self._state.messages[message_id], "person")

    def delete_channel(self, channel_id: str) -> None:
        """Delete a channel with all that is in it."""
        with self._state.lock:
            self._state.remove_channel(channel_id)

    def delete_webhook(self, webhook_id: str) -> None:
        """Delete a webhook; what it said stays."""
        with self._state.lock:
            del self._state.webhooks[webhook_id]

    def archive(self, thread_id: str) -> None:
        """Archive a thread; the next message opens it again."""
        with self._state.lock:
            channels = self._state.channels
            channels[thread_id] = replace(channels[thread_id], archived=True)

    def lock(self, thread_id: str) -> None:
        """Lock and archive a thread; no message opens it."""
        with self._state.lock:
            channels = self._state.channels
            channels[thread_id] = replace(channels[thread_id], archived=True, locked=True)

    def revoke(self, channel_id: str, *permissions: Permission) -> None:
        """Take permissions from the bot; those of a channel are its threads' too."""
        with self._state.lock:
            channel = self._state.channels[channel_id]
            left = channel.permissions - frozenset(permissions)
            self._state.channels[channel_id] = replace(channel, permissions=left)

    def break_with(self, fault: Fault) -> None:
        """Set a fault; several may be set, and events happen before mishaps."""
        with self._state.lock:
            self._desk.breakage.put(fault, self._state.posts)

    def mend(self) -> None:
        """Set no fault any more; what they have done to the world stays."""
        with self._state.lock:
            self._desk.breakage.clear()

    @property
    def unmet(self) -> tuple[Fault, ...]:
        """The faults that are set and that no request has met so far."""
        with self._state.lock:
            return self._desk.breakage.unmet

    def visible(self, channel_id: str) -> tuple[Message, ...]:
        """What everybody sees in a channel, oldest first; nothing if the channel is gone."""
        with self._state.lock:
            return self._state.shown(channel_id)

    def private(self, channel_id: str, user: Author = SOMEBODY) -> tuple[Message, ...]:
        """What one user alone sees in a channel, oldest first."""
        with self._state.lock:
            return self._state.shown(channel_id, user.id)

    def transcript(self, channel_id: str) -> str:
        """What everybody sees in a channel, as text."""
        return transcript_of(self.visible(channel_id))

    def deleted(self, channel_id: str) -> tuple[Deletion, ...]:
        """What stood in a channel and is gone, in the order in which it went."""
        with self._state.lock:
            gone = self._state.deletions
            return tuple(one for one in gone if one.message.channel_id == channel_id)

    def channel(self, channel_id: str) -> Channel:
        """A channel as it is now.

        Raises:
            KeyError: It is gone.
        """
        with self._state.lock:
            return self._state.channels[channel_id]

    def webhooks(self, channel_id: str) -> tuple[Webhook, ...]:
        """The webhooks of a channel, oldest first."""
        with self._state.lock:
            known = self._state.webhooks.values()
            return tuple(one for one in known if one.channel_id == channel_id)

    def typed(self, channel_id: str) -> int:
        """How often the bot was seen typing there."""
        with self._state.lock:
            return self._state.typed.count(channel_id)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All requests so far and what they were answered, in order."""
        with self._state.lock:
            return tuple(self._desk.exchanges)

    @property
    def seen(self) -> tuple[Seen, ...]:
        """All requests so far as they came in, headers and bodies included."""
        return self._wall.seen

    @property
    def invalid_requests(self) -> int:
        """How many refusals count at present toward the ban of this address."""
        with self._state.lock:
            return self._desk.toll.invalid

    def ping(self, url: str, *, manner: Manner = "honest") -> Heard:
        """See whether the application's endpoint is there."""
        return self._presses.ping(url, manner)

    def press(
        self,
        message_id: str,
        custom_id: str,
        *,
        user: Author = SOMEBODY,
        url: str | None = None,
        manner: Manner = "honest",
    ) -> Heard:
        """Press a button, and return what the application's endpoint said.

        Args:
            url: The endpoint; None to send nothing, as to an application on the gateway.
            manner: How the request is signed; "replayed" sends an honest one twice.

        Raises:
            LookupError: This user sees no such button.
        """
        return self._presses.press(message_id, custom_id, user, url, manner)

    def submit(
        self,
        interaction_id: str,
        values: Mapping[str, str] | None = None,
        *,
        url: str | None = None,
        manner: Manner = "honest",
    ) -> Heard:
        """Send the modal off that an interaction has shown, with `values` by custom id.

        Raises:
            LookupError: It has shown none.
        """
        return self._presses.submit(interaction_id, values or {}, url, manner)

    def interaction(self, interaction_id: str) -> Interaction:
        """An interaction as it is now: its answer, and the modal it has shown."""
        with self._state.lock:
            return self._state.interactions[interaction_id]

    def _added(
        self,
        name: str,
        *,
        kind: int,
        guild_id: str | None,
        permissions: frozenset[Permission],
        parent_id: str | None,
    ) -> str:
        with self._state.lock:
            channel = Channel(
                id=self._state.snowflakes.next(),
                name=name,
                kind=kind,
                guild_id=guild_id,
                parent_id=parent_id,
                permissions=permissions,
            )
            self._state.channels[channel.id] = channel
            return channel.id
