from collections import defaultdict
from datetime import UTC, datetime

import pytest
from contracts.channel_reader import HERE, ChannelReaderContract, ReadChannel

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.domain.errors import SinkError
from turnkeeper.infrastructure.memory.channel_reader import MemoryChannelReader
from turnkeeper.infrastructure.memory.sink import MemoryChannel


class TestMemoryChannelReader(ChannelReaderContract):
    @pytest.fixture
    def channel(self) -> ReadChannel:
        channels: dict[str, MemoryChannel] = defaultdict(MemoryChannel)

        def post(place: Place, text: str, webhook_id: str | None = None) -> str:
            where = channels[place.thread_id or place.channel_id]
            return where.put(text, "stream", webhook_id=webhook_id).id

        began = datetime.now(UTC)
        return ReadChannel(reader=MemoryChannelReader(channels), post=post, began=began)


def test_what_it_refuses_to_delete_stays() -> None:
    def refuse(name: str) -> None:
        raise SinkError(f"{name} stays")

    channel = MemoryChannel()
    channel.put("one", "stream")
    reader = MemoryChannelReader({"here": channel}, trouble=refuse)

    with pytest.raises(SinkError, match="m1 stays"):
        reader.delete_message(HERE, "m1")
    assert [message.text for message in channel.messages] == ["one"]
