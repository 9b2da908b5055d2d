from http.client import HTTPException

import pytest
from hypothesis import given
from hypothesis import strategies as st
from received import Blocks, received

from turnkeeper.infrastructure.http_chunks import chunked_pieces
from turnkeeper.infrastructure.http_errors import BodyCut
from turnkeeper.infrastructure.http_source import Source

BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=12)
CUTS = st.lists(st.integers(min_value=0, max_value=300), max_size=12)
PLAIN = b"%x\r\n%b\r\n"
STYLES = st.sampled_from([PLAIN, b"%X;name=1\r\n%b\r\n", b"0%x \n%b\n"])
ENDS = st.sampled_from([b"0\r\n\r\n", b"000\r\nX-Sum: 1\r\n\r\n", b"0;last\n\n"])


def framed(body: list[bytes], style: bytes, end: bytes) -> bytes:
    return b"".join(style % (len(data), data) for data in body) + end


@given(BODIES, STYLES, ENDS, CUTS)
def test_a_body_comes_out_whole_however_it_was_cut(
    body: list[bytes], style: bytes, end: bytes, cuts: list[int]
) -> None:
    pieces = list(chunked_pieces(received(framed(body, style, end), cuts)))

    assert b"".join(pieces) == b"".join(body)
    assert all(pieces)


@given(st.lists(st.sampled_from([b"a", b"\r\n", b"1\r\n0\r\n\r\n", b"\r\n0"]), max_size=6), CUTS)
def test_data_may_look_like_the_framing(body: list[bytes], cuts: list[int]) -> None:
    stream = framed(body, PLAIN, b"0\r\n\r\n")

    assert b"".join(chunked_pieces(received(stream, cuts))) == b"".join(body)


def test_what_stands_behind_the_last_chunk_is_no_data() -> None:
    stream = framed([b"hello"], PLAIN, b"0\r\n\r\n")

    assert list(chunked_pieces(received(stream + stream, []))) == [b"hello"]


def test_line_ends_may_be_of_either_kind_in_one_body() -> None:
    stream = b"1\na\n" + framed([b"hello"], PLAIN, b"0\r\n\r\n")

    assert b"".join(chunked_pieces(received(stream, []))) == b"ahello"


@pytest.mark.parametrize("size", [b"0x5", b"+5", b"5_0", b"-5", b"", b"0" * 16 + b"5"])
def test_a_size_is_of_at_most_sixteen_digits(size: bytes) -> None:
    stream = size + b"\r\nhello\r\n0\r\n\r\n"

    with pytest.raises(HTTPException):
        list(chunked_pieces(received(stream, [])))


@given(BODIES, CUTS, st.data())
def test_a_body_that_breaks_off_gives_what_came_and_an_error(
    body: list[bytes], cuts: list[int], data: st.DataObject
) -> None:
    stream = framed(body, PLAIN, b"0\r\n\r\n")
    length = data.draw(st.integers(0, len(stream) - len(b"0\r\n\r\n")))
    got: list[bytes] = []

    with pytest.raises(BodyCut):
        got.extend(chunked_pieces(received(stream[:length], cuts)))

    assert b"".join(got) == data_in(stream[:length])


@given(BODIES, CUTS)
def test_each_byte_is_given_out_before_the_next_is_waited_for(
    body: list[bytes], cuts: list[int]
) -> None:
    stream, got = framed(body, PLAIN, b"0\r\n\r\n"), b""
    seen = 0

    class Watched(Blocks):
        def recv(self, limit: int, /) -> bytes:
            nonlocal seen
            assert data_in(stream[:seen]) == got
            block = super().recv(limit)
            seen += len(block)
            return block

    for piece in chunked_pieces(Source(Watched(stream, cuts))):
        got += piece

    assert got == b"".join(body)


def data_in(start: bytes) -> bytes:
    """The data in the start of a body that is framed plainly."""
    data = b""
    while b"\r\n" in start:
        size, _, start = start.partition(b"\r\n")
        part = start[: int(size, 16)]
        data, start = data + part, start[int(size, 16) + 2 :]
    return data
