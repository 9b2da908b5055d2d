from http.client import BadStatusLine, HTTPException, RemoteDisconnected

import pytest
from hypothesis import given
from hypothesis import strategies as st
from received import received

from turnkeeper.infrastructure.http_errors import ReplyTooLarge
from turnkeeper.infrastructure.http_head import Head, head_from

OK = b"HTTP/1.1 200 OK\r\n"
CUTS = st.lists(st.integers(min_value=0, max_value=120), max_size=12)


def head_of(stream: bytes, verb: str = "POST") -> Head:
    return head_from(received(stream), verb)


class TestWhatItSays:
    @given(CUTS)
    def test_it_is_read_however_it_was_cut_and_leaves_the_body(self, cuts: list[int]) -> None:
        source = received(OK + b"Content-Length: 4\r\nX-Two: a\r\nx-two: b\r\n\r\nbody", cuts)

        head = head_from(source, "POST")

        assert (head.status, dict(head.headers)) == (200, {"content-length": "4", "x-two": "a, b"})
        assert b"".join(iter(source.read1, b"")) == b"body"

    def test_a_header_is_found_in_any_case(self) -> None:
        assert head_of(OK + b"ReTry-After: 7\r\n\r\n").headers["RETRY-after"] == "7"

    @pytest.mark.parametrize("end", [b"\r\n", b"\n"])
    def test_lines_may_end_without_a_return(self, end: bytes) -> None:
        head = head_of(end.join((b"HTTP/1.1 429 Slow", b"Retry-After: 7", b"", b"")))

        assert (head.status, dict(head.headers)) == (429, {"retry-after": "7"})

    def test_a_value_may_go_on_in_the_next_line(self) -> None:
        assert head_of(OK + b"X: a\r\n  b\r\n\tc\r\nY: d\r\n\r\n").headers["X"] == "a  b\tc"

    def test_a_line_that_is_no_header_is_passed_over(self) -> None:
        assert dict(head_of(OK + b"no header\r\nX: 1\r\n\r\n").headers) == {"x": "1"}

    def test_a_reason_is_not_needed(self) -> None:
        assert head_of(b"HTTP/1.1 204\r\n\r\n").status == 204

    def test_preliminary_heads_are_skipped(self) -> None:
        early = b"HTTP/1.1 100 Continue\r\nX: 1\r\n\r\n"

        head = head_of(early + early + OK + b"Y: 2\r\n\r\n")

        assert (head.status, dict(head.headers)) == (200, {"y": "2"})

    def test_one_that_ends_with_its_connection_says_what_it_said(self) -> None:
        head = head_of(OK + b"X: 1\r\n")

        assert (dict(head.headers), head.framing.is_last) == ({"x": "1"}, True)


class TestWhereTheBodyEnds:
    @pytest.mark.parametrize(
        ("lines", "framing"),
        [
            (b"Content-Length: 5\r\n", (False, 5, False)),
            (b"Content-Length: 5, 5\r\n", (False, 5, False)),
            (b"Transfer-Encoding: Chunked\r\n", (True, None, False)),
            (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", (True, None, False)),
            (b"Content-Length: 5\r\nConnection: Close\r\n", (False, 5, True)),
            (b"", (False, None, True)),
        ],
    )
    def test_its_headers_say(self, lines: bytes, framing: tuple[bool, int | None, bool]) -> None:
        head = head_of(OK + lines + b"\r\n")

        assert (head.framing.is_chunked, head.framing.length, head.framing.is_last) == framing

    @pytest.mark.parametrize(("start", "is_last"), [(b"HTTP/1.0 200 OK\r\n", True), (OK, False)])
    def test_an_old_server_closes(self, start: bytes, is_last: bool) -> None:
        assert head_of(start + b"Content-Length: 0\r\n\r\n").framing.is_last is is_last

    def test_an_old_server_may_say_that_it_does_not(self) -> None:
        head = head_of(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n")

        assert not head.framing.is_last

    @pytest.mark.parametrize(
        ("stream", "verb"),
        [
            (b"HTTP/1.1 204 None\r\n\r\n", "POST"),
            (b"HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", "GET"),
            (OK + b"Content-Length: 9\r\n\r\n", "HEAD"),
            (OK + b"Transfer-Encoding: chunked\r\n\r\n", "HEAD"),
        ],
    )
    def test_some_replies_have_none(self, stream: bytes, verb: str) -> None:
        head = head_of(stream, verb)

        assert (head.framing.is_chunked, head.framing.length, head.framing.is_last) == (
            False,
            0,
            False,
        )

    @pytest.mark.parametrize("said", [b"-1", b"1, 2", b"x", b"", b"+5", b"1_0"])
    def test_a_length_that_is_no_number_is_refused(self, said: bytes) -> None:
        with pytest.raises(HTTPException, match="no number"):
            head_of(OK + b"Content-Length: " + said + b"\r\n\r\n")


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        "stream",
        [
            b"SSH-2.0-OpenSSH_9\r\n",
            b"\r\n" + OK + b"\r\n",
            b"HTTP/2 200\r\n\r\n",
            b"HTTP/1.1 20 OK\r\n\r\n",
            b"HTTP/1.1 2000 OK\r\n\r\n",
            b"HTTP/1.1 OK\r\n\r\n",
        ],
    )
    def test_what_begins_otherwise_is_no_reply(self, stream: bytes) -> None:
        with pytest.raises(BadStatusLine):
            head_of(stream)

    def test_silence_is_no_reply(self) -> None:
        with pytest.raises(RemoteDisconnected):
            head_of(b"")

    @pytest.mark.parametrize(
        "stream",
        [
            OK + b"X: " + b"a" * 70_000,
            (b"HTTP/1.1 100 Continue\r\n\r\n") * 5_000,
        ],
    )
    def test_more_than_64_kib_is_too_much(self, stream: bytes) -> None:
        with pytest.raises(ReplyTooLarge):
            head_of(stream)

    def test_more_than_100_headers_are_too_many(self) -> None:
        assert len(head_of(OK + b"".join(b"X%d: 1\r\n" % n for n in range(100)) + b"\r\n").headers)
        with pytest.raises(HTTPException, match="more than 100 lines"):
            head_of(OK + b"".join(b"X%d: 1\r\n" % n for n in range(101)) + b"\r\n")
