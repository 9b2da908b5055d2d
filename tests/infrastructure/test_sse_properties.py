import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.infrastructure.sse import EventTooLarge, SseEvent, SseReader, in_words

PIECES = st.sampled_from(
    [
        b"data: ",
        b"data:",
        b"data",
        b"event: ",
        b"event: error",
        b"id: 1",
        b"retry: 10",
        b": ping",
        b":",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"\r\n\r\n",
        b'{"error": {"code": 429}}',
        b"[DONE]",
        b" ",
        b"x" * 40,
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\xe2\x82",
        b"\xff",
        b"\x00",
    ]
)
STREAMS = st.one_of(st.lists(PIECES, max_size=60).map(b"".join), st.binary(max_size=200))
CUTS = st.lists(st.integers(min_value=0, max_value=400), max_size=30)


def in_pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


def read(chunks: list[bytes], *, limit: int = 10_000) -> tuple[list[SseEvent], int, object]:
    reader = SseReader(max_event_bytes=limit)
    events: list[SseEvent] = []
    try:
        for chunk in chunks:
            events += map(in_words, reader.feed(chunk))
        tail: object = reader.end()
    except EventTooLarge:
        return events, 0, "too large"
    return events, reader.comments, tail


def as_the_standard_says(stream: bytes) -> tuple[list[SseEvent], int]:
    """Source: https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.6."""
    *lines, _ = re.split("\r\n|\r|\n", stream.decode("utf-8", "replace").removeprefix("\ufeff"))
    events, comments, name, data = [], 0, "", ""
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                events.append(SseEvent(name or "message", data.removesuffix("\n")))
            name, data = "", ""
        elif not field:
            comments += 1
        elif field == "data":
            data += value + "\n"
        elif field == "event":
            name = value
    return events, comments


@given(STREAMS, CUTS)
def test_the_same_bytes_cut_anywhere_give_the_same_events(stream: bytes, cuts: list[int]) -> None:
    assert read(in_pieces(stream, cuts)) == read([stream])


@given(STREAMS)
def test_the_same_bytes_one_by_one_give_the_same_events(stream: bytes) -> None:
    assert read([bytes([byte]) for byte in stream]) == read([stream])


@given(STREAMS, CUTS)
def test_events_are_those_of_the_standard(stream: bytes, cuts: list[int]) -> None:
    events, _, _ = read(in_pieces(stream, cuts))

    assert events == as_the_standard_says(stream)[0]


@given(STREAMS)
def test_comments_are_those_of_the_standard(stream: bytes) -> None:
    ended = stream + b"\n\n"

    _, comments, _ = read([ended])

    assert comments == as_the_standard_says(ended)[1]


@given(STREAMS, CUTS, st.integers(min_value=1, max_value=60))
def test_a_limit_stops_the_same_event_however_the_bytes_are_cut(
    stream: bytes, cuts: list[int], limit: int
) -> None:
    # Two blank lines behind it let every event end, as an event that has not may yet be small.
    ended = stream + b"\n\n"

    assert read(in_pieces(ended, cuts), limit=limit) == read([ended], limit=limit)


@given(STREAMS, CUTS, st.integers(min_value=1, max_value=60))
def test_no_event_is_larger_than_the_limit(stream: bytes, cuts: list[int], limit: int) -> None:
    events, _, _ = read(in_pieces(stream, cuts), limit=limit)

    assert all(len(event.data) <= limit for event in events)
