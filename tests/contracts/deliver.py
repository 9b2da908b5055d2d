"""What every sink's `Deliver` does. Subclass as Test… and give `sink`, `target` and `shown`."""

import pytest

from turnkeeper.application.ports.sink import Sink, Target
from turnkeeper.domain.outcome import Origin


class DeliverContract:
    @pytest.fixture
    def sink(self) -> Sink:
        raise NotImplementedError

    @pytest.fixture
    def target(self, sink: Sink) -> Target:
        raise NotImplementedError

    def shown(self, sink: Sink) -> tuple[str, ...]:
        """The messages that people see, in order."""
        raise NotImplementedError

    def test_what_is_posted_is_shown(self, sink: Sink, target: Target) -> None:
        delivery = sink.post("hello", target=target, origin=Origin.STREAM, nonce="n1")

        assert self.shown(sink) == ("hello",)
        assert (delivery.text, delivery.origin) == ("hello", Origin.STREAM)

    def test_each_message_has_an_id_of_its_own(self, sink: Sink, target: Target) -> None:
        one = sink.post("one", target=target, origin=Origin.STREAM, nonce="n1")
        two = sink.post("two", target=target, origin=Origin.STREAM, nonce="n2")

        assert one.message_id != two.message_id

    def test_messages_stand_in_the_order_of_posting(self, sink: Sink, target: Target) -> None:
        for number in range(5):
            sink.post(f"text {number}", target=target, origin=Origin.STREAM, nonce=f"n{number}")

        assert self.shown(sink) == tuple(f"text {number}" for number in range(5))

    def test_an_edit_replaces_the_text(self, sink: Sink, target: Target) -> None:
        delivery = sink.post("hel", target=target, origin=Origin.STREAM, nonce="n1")

        edited = sink.edit(delivery, "hello")

        assert self.shown(sink) == ("hello",)
        assert (edited.message_id, edited.text) == (delivery.message_id, "hello")

    def test_what_is_taken_back_is_gone(self, sink: Sink, target: Target) -> None:
        delivery = sink.post("hello", target=target, origin=Origin.STREAM, nonce="n1")

        assert sink.take_back(delivery)
        assert self.shown(sink) == ()

    def test_taking_back_twice_is_gone_all_the_same(self, sink: Sink, target: Target) -> None:
        delivery = sink.post("hello", target=target, origin=Origin.STREAM, nonce="n1")
        sink.take_back(delivery)

        assert sink.take_back(delivery)

    def test_taking_back_one_leaves_the_others(self, sink: Sink, target: Target) -> None:
        first = sink.post("one", target=target, origin=Origin.STREAM, nonce="n1")
        sink.post("two", target=target, origin=Origin.STREAM, nonce="n2")

        sink.take_back(first)

        assert self.shown(sink) == ("two",)
