"""Where in Discord something is."""

from dataclasses import dataclass

from turnkeeper.application.ports.sink import Target
from turnkeeper.domain.outcome import Delivery
from turnkeeper.domain.turn import TurnRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A channel, or a thread of it.

    Attributes:
        channel_id: The channel, which webhooks belong to.
        thread_id: The thread, or None.
    """

    channel_id: str
    thread_id: str | None = None

    @property
    def id(self) -> str:
        """What the bot's own routes call it."""
        return self.thread_id or self.channel_id

    @classmethod
    def of(cls, thing: Target | Delivery) -> "Place":
        """Where a turn speaks, or a message is."""
        return cls(channel_id=thing.channel_id, thread_id=thing.thread_id)

    @classmethod
    def asked_for(cls, request: TurnRequest) -> "Place":
        """Where a request is answered."""
        if request.parent_channel_id is None:
            return cls(channel_id=request.channel_id)
        return cls(channel_id=request.parent_channel_id, thread_id=request.channel_id)
