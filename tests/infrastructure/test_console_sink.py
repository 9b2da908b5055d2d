import io
import os
from contextlib import suppress

import pytest
from builders import a_model, a_request
from contracts.deliver import DeliverContract

from turnkeeper.application.ports.sink import Sink, Spoken, Target
from turnkeeper.domain.errors import DestinationGone, SinkError
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.outcome import Delivery, Origin, StreamResult, TurnStatus
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Slot
from turnkeeper.domain.stream import Usage
from turnkeeper.domain.turn import AttemptFailure, TurnResult
from turnkeeper.infrastructure.console.sink import ConsoleSink
from turnkeeper.infrastructure.console.terminal import Terminal

STRUCK = "\x1b[2;9m"


def a_console(*, terminal: bool = False, height: int = 24) -> Terminal:
    return Terminal(
        file=io.StringIO(),
        force_terminal=terminal,
        width=60,
        height=height,
        color_system="standard" if terminal else None,
        _environ={},
    )


def written(console: Terminal) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def posted(sink: Sink, text: str) -> Delivery:
    target = sink.prepare(a_request())
    return sink.post(text, target=target, origin=Origin.STREAM, nonce=text)


def a_result(**more: object) -> TurnResult:
    settings: dict[str, object] = {"status": TurnStatus.COMPLETED, "turn_id": "t1", **more}
    return TurnResult(**settings)  # type: ignore[arg-type]


class ConsoleContract(DeliverContract):
    @pytest.fixture
    def target(self, sink: Sink) -> Target:
        return sink.prepare(a_request())

    def shown(self, sink: Sink) -> tuple[str, ...]:
        assert isinstance(sink, ConsoleSink)
        return sink.messages


class TestPlainConsoleSink(ConsoleContract):
    @pytest.fixture
    def sink(self) -> ConsoleSink:
        return ConsoleSink(a_console())


class TestLiveConsoleSink(ConsoleContract):
    @pytest.fixture
    def sink(self) -> ConsoleSink:
        return ConsoleSink(a_console(terminal=True))


def test_messages_grow_only_where_there_is_a_terminal() -> None:
    plain = ConsoleSink(a_console()).prepare(a_request())
    live = ConsoleSink(a_console(terminal=True)).prepare(a_request())

    assert (plain.edit_interval_s, live.edit_interval_s) == (None, 0.1)


def test_without_a_terminal_a_line_says_what_was_taken_back() -> None:
    console = a_console()
    sink = ConsoleSink(console)

    sink.take_back(posted(sink, "half an answer"))
    posted(sink, "the whole answer")

    assert written(console) == "half an answer\ntaken back: half an answer\nthe whole answer\n"


def test_a_message_that_grows_goes_on_in_its_line() -> None:
    console = a_console()
    sink = ConsoleSink(console, grows=True)

    growing = sink.edit(posted(sink, "half an "), "half an ans")
    sink.take_back(sink.edit(growing, "half an answer"))
    posted(sink, "the whole answer")
    sink.finalize(a_result())

    assert written(console) == (
        "half an answer\ntaken back: half an answer\nthe whole answer\ncompleted · turn t1\n"
    )


def test_on_a_terminal_what_was_taken_back_is_struck_through() -> None:
    console = a_console(terminal=True)
    sink = ConsoleSink(console)

    sink.take_back(posted(sink, "half an answer"))
    posted(sink, "the whole answer")
    sink.cleanup()

    drawn_last = written(console).rsplit("\x1b[2K", 1)[-1]
    assert f"{STRUCK}half an answer" in drawn_last
    assert "the whole answer" in drawn_last


def test_a_live_message_longer_than_the_terminal_stands_whole_at_the_end() -> None:
    console = a_console(terminal=True, height=5)
    sink = ConsoleSink(console)
    text = "\n".join(f"line {number}" for number in range(20))

    posted(sink, text)
    while_live = written(console)
    sink.cleanup()

    assert ("line 0" in while_live, "line 19" in while_live) == (False, True)
    assert "line 0" in written(console)[len(while_live) :]


def test_the_end_names_who_answered_and_what_failed_before() -> None:
    console = a_console()
    failure = Failure(kind=FailureKind.NETWORK, message="cut")
    failed = AttemptFailure(attempt_no=0, label="primary", model="alpha", failure=failure)

    ConsoleSink(console).finalize(
        a_result(success_model=a_model("beta"), failures=(failed,), usage=Usage(output_tokens=7))
    )

    assert written(console) == "beta answered · after 1 failed · 7 tokens · turn t1\n"


def test_errors_and_notices_are_written_as_they_are_worded() -> None:
    console = a_console()
    sink = ConsoleSink(console)
    notice = FallbackNotice(
        slot=Slot(number=1, is_lead=False),
        model="beta",
        route=Route.SERVER,
        failures=(),
        offers_opt_out=False,
    )

    sink.notice(notice, Spoken(title="Another model answered", text="beta [b]answered[/b]"))
    sink.emit_stream_result(
        StreamResult(status=TurnStatus.ERROR), Spoken(title="No answer", tips=("Try again.",))
    )

    assert written(console) == (
        "Another model answered\nbeta [b]answered[/b]\nNo answer\nTry again.\n"
    )


def test_a_models_words_cannot_steer_the_terminal() -> None:
    console = a_console()
    sink = ConsoleSink(console)

    posted(sink, "red \x1b[31m, bell \x07, \x9b2J\nnext")

    assert written(console) == "red [31m, bell , 2J\nnext\n"


def test_once_the_turn_is_over_nothing_more_is_written() -> None:
    console = a_console()
    sink = ConsoleSink(console)
    target = sink.prepare(a_request())
    sink.finalize(a_result())
    before = written(console)

    with pytest.raises(SinkError, match="over"):
        sink.post("late", target=target, origin=Origin.STREAM, nonce="n")
    assert written(console) == before


def test_where_nobody_reads_any_more_the_destination_is_gone() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    file = io.TextIOWrapper(io.FileIO(writer, "wb"), write_through=True)
    try:
        with pytest.raises(DestinationGone) as gone:
            posted(ConsoleSink(Terminal(file=file, _environ={})), "hello")
    finally:
        with suppress(BrokenPipeError):
            file.close()

    assert gone.value.code == "EPIPE"
