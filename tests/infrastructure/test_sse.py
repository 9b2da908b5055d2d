from collections import deque

import pytest

from turnkeeper.infrastructure.sse import EventTooLarge, SseEvent, SseReader, SseTail, in_words


def message(data: str) -> SseEvent:
    return SseEvent("message", data)


def fed(reader: SseReader, *chunks: bytes) -> list[SseEvent]:
    return [in_words(event) for chunk in chunks for event in reader.feed(chunk)]


def events_of(*chunks: bytes) -> list[SseEvent]:
    return fed(SseReader(), *chunks)


def tail_of(*chunks: bytes) -> SseTail:
    reader = SseReader()
    for chunk in chunks:
        reader.feed(chunk)
    return reader.end()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        pytest.param(b"data: a\n\n", [message("a")], id="one line"),
        pytest.param(b"data:a\n\n", [message("a")], id="no space behind the colon"),
        pytest.param(b"data:  a\n\n", [message(" a")], id="only one space is dropped"),
        pytest.param(b"data: a\n\ndata: b\n\n", [message("a"), message("b")], id="two events"),
        pytest.param(b"data: a\ndata: b\n\n", [message("a\nb")], id="two lines of one event"),
        pytest.param(b"data: a: b\n\n", [message("a: b")], id="a colon in the data"),
        pytest.param(b"event: error\ndata: a\n\n", [SseEvent("error", "a")], id="named"),
        pytest.param(b"data: a\nevent: error\n\n", [SseEvent("error", "a")], id="named behind"),
        pytest.param(b"event: x\nevent:\ndata: a\n\n", [message("a")], id="name taken back"),
        pytest.param(b"id: 7\nretry: 5\ndata: a\n\n", [message("a")], id="other fields"),
        pytest.param(b"data: a\nda: b\n\n", [message("a")], id="unknown field"),
        pytest.param(b"event: ping\n\ndata: a\n\n", [message("a")], id="name without data"),
        pytest.param(b"data:\n\n", [message("")], id="empty data"),
        pytest.param(b"data\n\n", [message("")], id="data without a colon"),
        pytest.param(b"data\ndata\n\n", [message("\n")], id="two empty lines of data"),
        pytest.param(b": hi\n\n: hi\n\ndata: a\n\n", [message("a")], id="comments"),
        pytest.param(b"data: a\n: hi\ndata: b\n\n", [message("a\nb")], id="comment inside"),
        pytest.param(
            b"\n\n\ndata: a\n\n\n\ndata: b\n\n", [message("a"), message("b")], id="blanks"
        ),
        pytest.param(b"data: [DONE]\n\n", [message("[DONE]")], id="the end mark"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_events_are_what_the_lines_say(stream: bytes, events: list[SseEvent]) -> None:
    assert events_of(stream) == events


class TestOneLineOfData:
    """Most events are nothing else, and are handed on as they came."""

    @pytest.mark.parametrize("line", [b"data: a", b"data:a"])
    @pytest.mark.parametrize("before", [b"", b": hi\n\n"], ids=["", "behind a comment"])
    def test_it_is_data_alone(self, before: bytes, line: bytes) -> None:
        assert SseReader().feed(before + line + b"\n\n" + line + b"\n\n") == [b"a", b"a"]

    def test_with_a_name_it_is_not(self) -> None:
        assert SseReader().feed(b"data: a\n\nevent: message\ndata: b\n\n") == [b"a", message("b")]


class TestLineEnds:
    @pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
    def test_all_three_kinds_end_a_line(self, end: bytes) -> None:
        stream = b"event: x" + end + b"data: a" + end + end + b"data: b" + end + end

        assert events_of(stream) == [SseEvent("x", "a"), message("b")]

    @pytest.mark.parametrize("end", [b"\n\r\n", b"\r\n\n", b"\r\n\r", b"\n\r", b"\r\r\n"])
    def test_mixed_line_ends_do_not_merge_events(self, end: bytes) -> None:
        assert events_of(b"data: a" + end + b"data: b" + end) == [message("a"), message("b")]

    def test_a_pair_cut_in_two_is_one_line_end(self) -> None:
        assert events_of(b"data: a\r", b"\ndata: b\r", b"\n", b"\r", b"\n") == [message("a\nb")]

    def test_an_empty_piece_between_the_two_changes_nothing(self) -> None:
        assert events_of(b"data: a\r", b"", b"\ndata: b\r\n\r\n") == [message("a\nb")]

    def test_an_event_is_not_held_back_for_the_second_half_of_a_pair(self) -> None:
        assert events_of(b"data: a\r\n\r") == [message("a")]

    def test_line_ends_of_unicode_are_data(self) -> None:
        data = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"

        assert events_of(f"data: {data}\n\nevent: x\ndata: {data}\n\n".encode()) == [
            message(data),
            SseEvent("x", data),
        ]


class TestText:
    def test_a_bom_at_the_start_is_dropped(self) -> None:
        assert events_of(b"\xef\xbb\xbfdata: a\n\n") == [message("a")]

    def test_a_bom_that_comes_byte_by_byte_is_dropped(self) -> None:
        assert events_of(b"\xef", b"\xbb", b"\xbf", b"data: a\n\n") == [message("a")]

    def test_a_bom_later_on_is_text(self) -> None:
        assert events_of(b"data: a\n\ndata: \xef\xbb\xbf\n\n") == [message("a"), message("\ufeff")]

    @pytest.mark.parametrize("name", [b"", b"event: x\n"])
    def test_broken_utf8_is_replaced_and_the_stream_goes_on(self, name: bytes) -> None:
        first, second = events_of(name + b"data: a\xff\xe2\x82b\n\n", b"data: c\n\n")

        assert (first.data, second.data) == ("a\ufffd\ufffdb", "c")

    def test_a_character_cut_in_two_is_whole(self) -> None:
        assert events_of(b"data: \xe2\x82", b"\xac\n\n") == [message("€")]


class TestComments:
    def test_each_comment_line_is_counted_when_its_block_is_complete(self) -> None:
        reader = SseReader()

        reader.feed(b": OPENROUTER PROCESSING\n\n:\n: two\ndata: a\n\n")

        assert reader.comments == 3

    def test_data_that_starts_with_a_colon_is_no_comment(self) -> None:
        reader = SseReader()

        assert (fed(reader, b"data: : a\n\n"), reader.comments) == ([message(": a")], 0)


class TestTail:
    def test_a_stream_that_ends_well_has_none(self) -> None:
        assert tail_of(b"data: a\n\n") == SseTail(None, "")

    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
    def test_the_last_event_without_its_blank_line_is_no_event_but_the_tail(
        self, end: bytes
    ) -> None:
        reader = SseReader()

        assert fed(reader, b'data: a\n\ndata: {"choi' + end) == [message("a")]
        assert reader.end() == SseTail(message('{"choi'), 'data: {"choi')

    def test_a_cut_event_keeps_its_name(self) -> None:
        assert tail_of(b"event: error\ndata: a\n").unterminated == SseEvent("error", "a")

    @pytest.mark.parametrize("end", [b"", b"\n", b"\n\n", b"\n\ndata: [DONE]\n\n"])
    def test_bare_json_is_kept_wherever_it_stands(self, end: bytes) -> None:
        error = b'{\n  "error": {\n    "message": "quota"\n  }\n}'

        assert tail_of(b"data: a\n\n" + error + end) == SseTail(None, error.decode())

    def test_a_bare_line_among_fields_is_kept_and_does_not_harm_them(self) -> None:
        reader = SseReader()

        assert fed(reader, b'event: x\n{"error": 1}\ndata: a\n\n') == [SseEvent("x", "a")]
        assert reader.end() == SseTail(None, '{"error": 1}')

    def test_of_much_that_is_no_event_only_the_end_is_kept(self) -> None:
        reader = SseReader()

        for number in range(10_000):
            reader.feed(b"<p>line %d</p>\n\n" % number)

        raw = reader.end().raw
        assert len(raw) < 80_000
        assert raw.endswith("<p>line 9999</p>")

    def test_a_stream_of_half_a_bom_is_its_tail(self) -> None:
        assert tail_of(b"\xef\xbb") == SseTail(None, "\ufffd")


class TestSize:
    @pytest.mark.parametrize(
        "chunks",
        [
            pytest.param([b"data: 1234\n\n"], id="in one piece"),
            pytest.param([b"data: 1234\n", b"\n"], id="half of the blank line later"),
            pytest.param([b"\n\n\ndata: 1234\n\n"], id="behind blank lines"),
            pytest.param([b"\n", b"data: 1234\n", b"\n"], id="behind a blank line in pieces"),
            pytest.param([b"data: 1\n\n\ndata: 1234\n\n"], id="behind an event and blank lines"),
        ],
    )
    def test_an_event_of_just_the_limit_is_read(self, chunks: list[bytes]) -> None:
        reader = SseReader(max_event_bytes=10)

        events = fed(reader, *chunks)

        assert events[-1] == message("1234")

    def test_a_larger_event_is_refused(self) -> None:
        with pytest.raises(EventTooLarge, match="more than 10 bytes"):
            SseReader(max_event_bytes=10).feed(b"data: 12345\n\n")

    def test_an_endless_event_is_refused_before_it_ends(self) -> None:
        reader = SseReader(max_event_bytes=1000)

        with pytest.raises(EventTooLarge):
            deque(map(reader.feed, [b"data"] * 300))

    def test_endless_lines_without_an_event_are_refused(self) -> None:
        reader = SseReader(max_event_bytes=1000)

        with pytest.raises(EventTooLarge):
            deque(map(reader.feed, [b": hi\n"] * 300))

    def test_events_before_the_large_one_come_first(self) -> None:
        reader = SseReader(max_event_bytes=10)

        assert fed(reader, b"data: a\n\ndata: 12345\n\ndata: b\n\n") == [message("a")]
        with pytest.raises(EventTooLarge):
            reader.feed(b"data: c\n\n")
        with pytest.raises(EventTooLarge):
            reader.end()

    def test_many_small_events_are_no_large_one(self) -> None:
        reader = SseReader(max_event_bytes=10)

        assert fed(reader, b"data: a\n\n" * 100) == [message("a")] * 100

    def test_a_large_event_in_small_pieces_is_whole(self) -> None:
        data = "x" * 2 * 1024 * 1024
        stream = f"data: {data}\n\n".encode()

        assert events_of(*(stream[at : at + 64] for at in range(0, len(stream), 64))) == [
            message(data)
        ]

    @pytest.mark.parametrize("lines", [31, 32, 33, 200_000])  # the last takes minutes if quadratic
    @pytest.mark.parametrize("name", ["", "x"])
    def test_an_event_of_many_lines_is_whole(self, name: str, lines: int) -> None:
        stream = b"id: 1\nevent:" + name.encode() + b"\n" + b"data: a\ndata:b\n" * lines + b"\n"

        assert events_of(stream) == [SseEvent(name or "message", "\n".join(["a", "b"] * lines))]
