from builders import a_request

from turnkeeper.application.ports.sink import Sink, Spoken
from turnkeeper.domain.outcome import Delivery, Origin, StreamResult, TurnStatus
from turnkeeper.interfaces.simple_sink import SimpleSink


class Lines(SimpleSink):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def send(self, text: str) -> None:
        self.lines.append(text)


class Deletable(Lines):
    def delete(self, message_id: str) -> bool:
        self.lines.append(f"deleted {message_id}")
        return True


def posted(sink: Sink, text: str = "hello") -> Delivery:
    target = sink.prepare(a_request())
    return sink.post(text, target=target, origin=Origin.STREAM, nonce="n")


def test_a_sink_with_nothing_but_send_shows_what_is_posted() -> None:
    sink = Lines()

    delivery = posted(sink)

    assert (sink.lines, delivery.text, delivery.channel_id) == (["hello"], "hello", "channel")


def test_messages_without_an_id_of_their_own_are_numbered() -> None:
    sink = Lines()

    assert [posted(sink).message_id, posted(sink).message_id] == ["message-1", "message-2"]


def test_only_a_sink_that_can_delete_takes_back() -> None:
    assert (SimpleSink().can_take_back, Lines().can_take_back) == (False, False)
    assert Deletable().can_take_back


def test_taking_back_deletes_the_message() -> None:
    sink = Deletable()

    assert sink.take_back(posted(sink))
    assert sink.lines == ["hello", "deleted message-1"]


def test_what_is_said_of_the_turn_is_sent_too() -> None:
    sink = Lines()

    sink.emit_stream_result(
        StreamResult(status=TurnStatus.ERROR), Spoken(title="No answer", text="why", tips=("tip",))
    )

    assert sink.lines == ["No answer\nwhy\ntip"]


def test_a_bare_sink_shows_nothing_and_fails_at_nothing() -> None:
    assert posted(SimpleSink()).message_id == "message-1"
