"""Where the turns of the crash test speak, and what stands there afterwards."""

from collections.abc import Mapping
from typing import Any, Protocol

from turnkeeper.application.ports.sink import Sink
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.interfaces.crashtest.observed import Channel

ANSWER = ("stream", "progress", "tool")


class Place(Protocol):
    """A channel for one turn."""

    @property
    def asked(self) -> Mapping[str, Any]:
        """What the turn's request says of the channel."""
        ...

    def sink(self) -> Sink:
        """What the turn speaks through."""
        ...

    def look(self) -> Channel:
        """What stands there now."""
        ...


class MemoryPlace(Place):
    """A channel in memory."""

    def __init__(self, channel_id: str = "channel", *, sink: MemorySink | None = None) -> None:
        self._channel_id = channel_id
        self._sink = sink or MemorySink()

    @property
    def asked(self) -> Mapping[str, Any]:
        return {"channel_id": self._channel_id}

    def sink(self) -> Sink:
        return self._sink

    def look(self) -> Channel:
        channel = self._sink.channel
        return Channel(
            said=tuple(one.text for one in channel.messages if one.by in ANSWER),
            notices=len(channel.said("notice")),
            errors=len(channel.said("error")),
            taken_back=len(channel.deleted),
        )
