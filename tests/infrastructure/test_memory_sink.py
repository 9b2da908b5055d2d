import pytest
from builders import a_request
from contracts.deliver import DeliverContract

from turnkeeper.application.ports.sink import Sink, Target
from turnkeeper.domain.errors import SinkError
from turnkeeper.domain.outcome import Origin
from turnkeeper.infrastructure.memory.sink import MemorySink


class TestMemorySink(DeliverContract):
    @pytest.fixture
    def sink(self) -> MemorySink:
        return MemorySink()

    @pytest.fixture
    def target(self, sink: Sink) -> Target:
        return sink.prepare(a_request())

    def shown(self, sink: Sink) -> tuple[str, ...]:
        assert isinstance(sink, MemorySink)
        return tuple(message.text for message in sink.channel.messages)

    def test_the_same_nonce_posts_once(self, sink: Sink, target: Target) -> None:
        sink.post("hello", target=target, origin=Origin.STREAM, nonce="n1")
        sink.post("hello", target=target, origin=Origin.STREAM, nonce="n1")

        assert self.shown(sink) == ("hello",)

    def test_a_refused_post_is_not_there(self, target: Target) -> None:
        def refuse(text: str) -> None:
            raise SinkError("no")

        sink = MemorySink(trouble=refuse)

        with pytest.raises(SinkError):
            sink.post("hello", target=target, origin=Origin.STREAM, nonce="n1")
        assert self.shown(sink) == ()
