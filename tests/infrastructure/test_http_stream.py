import gzip
import zlib
from collections.abc import Iterator
from threading import Event
from time import sleep

import pytest
from raw_server import (
    WAIT_S,
    Certificate,
    Gate,
    Peer,
    answering,
    chunk,
    head,
    make_certificate,
    reply,
    serving,
)

from turnkeeper.infrastructure.http import (
    HttpClient,
    HttpError,
    HttpErrorKind,
    HttpRequest,
    HttpStream,
)
from turnkeeper.infrastructure.threads import ThreadStop

LONG_S = 600.0  # longer than the time limit of a test
CHUNKED = head("Transfer-Encoding: chunked")
TO_THE_END = head("Connection: close")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def client(certificate: Certificate) -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper/test", verify=certificate.path)
    yield client
    client.close()


def opened(client: HttpClient, url: str) -> HttpStream:
    request = HttpRequest(url=url, body=b"{}")
    return client.post_stream(request, stop=ThreadStop(), read_timeout_s=LONG_S)


def body_of(client: HttpClient, url: str) -> bytes:
    with opened(client, url) as stream:
        return b"".join(stream.chunks())


class TestImmediacy:
    @pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
    @pytest.mark.parametrize(
        ("start", "first", "rest"),
        [
            pytest.param(CHUNKED, chunk(b"one"), chunk(b"two") + chunk(b""), id="chunked"),
            pytest.param(CHUNKED, b"6\r\none", b"two\r\n0\r\n\r\n", id="within a chunk"),
            pytest.param(head("Content-Length: 6"), b"one", b"two", id="length"),
            pytest.param(TO_THE_END, b"one", b"two", id="to the end"),
        ],
    )
    def test_what_comes_is_given_out_at_once(
        self,
        client: HttpClient,
        certificate: Certificate,
        start: bytes,
        first: bytes,
        rest: bytes,
        is_tls: bool,
    ) -> None:
        seen = Gate()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(start, first)
            seen.wait()
            peer.send(rest)

        with (
            serving(talk, certificate.context if is_tls else None) as server,
            opened(client, server.url) as stream,
        ):
            chunks = stream.chunks()
            got = next(chunks)
            seen.open()

            assert (got, b"".join(chunks)) == (b"one", b"two")

    def test_the_head_is_there_before_the_body(self, client: HttpClient) -> None:
        seen = Gate()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(CHUNKED)
            seen.wait()
            peer.send(chunk(b""))

        with serving(talk) as server, opened(client, server.url) as stream:
            assert stream.status == 200
            seen.open()
            assert list(stream.chunks()) == []

    def test_a_compressed_event_is_given_out_at_once(self, client: HttpClient) -> None:
        seen, packer = Gate(), zlib.compressobj(wbits=zlib.MAX_WBITS | 16)

        def talk(peer: Peer) -> None:
            peer.receive()
            first = packer.compress(b"one") + packer.flush(zlib.Z_SYNC_FLUSH)
            peer.send(head("Transfer-Encoding: chunked", "Content-Encoding: gzip"), chunk(first))
            seen.wait()
            peer.send(chunk(packer.compress(b"two") + packer.flush()), chunk(b""))

        with serving(talk) as server, opened(client, server.url) as stream:
            chunks = stream.chunks()
            got = next(chunks)
            seen.open()

            assert (got, b"".join(chunks)) == (b"one", b"two")


class TestBody:
    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(chunk(b"ab") + chunk(b"c") + chunk(b""), id="plain"),
            pytest.param(b"2;ext=1\r\nab\r\n01\r\nc\r\n0\r\n\r\n", id="extension"),
            pytest.param(b"3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-B: 2\r\n\r\n", id="trailers"),
            pytest.param(b" 3 \nabc\n0\n\n", id="careless line ends"),
            pytest.param(b"3\r\nabc\r\n0\r\n", id="no line end behind the last chunk"),
        ],
    )
    def test_chunks_may_be_written_in_many_ways(self, client: HttpClient, body: bytes) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(CHUNKED, body)

        with serving(talk) as server:
            assert body_of(client, server.url) == b"abc"

    def test_a_huge_chunk_comes_in_pieces(self, client: HttpClient) -> None:
        with (
            answering(CHUNKED + chunk(bytes(1_000_000)) + chunk(b"")) as server,
            opened(client, server.url) as stream,
        ):
            sizes = [len(piece) for piece in stream.chunks()]

        assert (sum(sizes), max(sizes) <= 65_536) == (1_000_000, True)

    @pytest.mark.parametrize(
        ("encoding", "packed"),
        [
            ("gzip", gzip.compress(b"plain")),
            ("GZIP", gzip.compress(b"plain")),
            ("deflate", zlib.compress(b"plain")),
            ("identity", b"plain"),
            ("", b"plain"),
        ],
    )
    def test_what_was_packed_unasked_is_unpacked(
        self, client: HttpClient, encoding: str, packed: bytes
    ) -> None:
        with answering(reply(packed, headers=f"Content-Encoding: {encoding}")) as server:
            assert body_of(client, server.url) == b"plain"

    def test_nothing_needs_no_unpacking(self, client: HttpClient) -> None:
        with answering(reply(b"", headers="Content-Encoding: gzip")) as server:
            assert body_of(client, server.url) == b""

    def test_what_unpacks_to_very_much_comes_in_pieces(self, client: HttpClient) -> None:
        bomb = reply(gzip.compress(bytes(50_000_000)), headers="Content-Encoding: gzip")
        with answering(bomb) as server, opened(client, server.url) as stream:
            sizes = [len(piece) for piece in stream.chunks()]

        assert (sum(sizes), max(sizes) <= 65_536) == (50_000_000, True)

    @pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br"])
    def test_an_unknown_packing_is_refused(self, client: HttpClient, encoding: str) -> None:
        with (
            answering(reply(b"packed", headers=f"Content-Encoding: {encoding}")) as server,
            pytest.raises(HttpError) as caught,
        ):
            body_of(client, server.url)

        assert caught.value.kind is HttpErrorKind.BAD_REPLY

    def test_reading_goes_on_where_it_was_left(self, client: HttpClient) -> None:
        body = bytes(range(250)) * 1_000
        with answering(reply(body)) as server, opened(client, server.url) as stream:
            first = next(stream.chunks())

            assert first + b"".join(stream.chunks()) == body

    def test_chunks_that_come_together_are_given_out_together(self, client: HttpClient) -> None:
        with (
            answering(CHUNKED + chunk(b"a") * 100 + chunk(b"")) as server,
            opened(client, server.url) as stream,
        ):
            assert list(stream.chunks()) == [b"a" * 100]


class TestErrorBody:
    def test_it_is_all_of_a_small_body(self, client: HttpClient) -> None:
        with (
            answering(reply(b'{"error": 1}', status="429 Slow down")) as server,
            opened(client, server.url) as stream,
        ):
            assert (stream.status, stream.body()) == (429, b'{"error": 1}')

    def test_it_is_the_start_of_a_large_one(self, client: HttpClient) -> None:
        with answering(reply(bytes(100_000))) as server, opened(client, server.url) as stream:
            assert len(stream.body()) == 65_536

    def test_it_is_what_came_of_one_that_was_cut(self, client: HttpClient) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(head("Content-Length: 100"), b'{"error":')

        with serving(talk) as server, opened(client, server.url) as stream:
            assert stream.body() == b'{"error":'

    def test_it_is_what_came_in_time(self, client: HttpClient) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(head("Content-Length: 100"), b'{"error":')
            peer.wait_for_close()

        with serving(talk) as server, opened(client, server.url) as stream:
            assert stream.body(timeout_s=0.05) == b'{"error":'

    def test_a_stop_ends_it_with_an_error(self, client: HttpClient) -> None:
        stop = ThreadStop()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(head("Content-Length: 100"), b'{"error":')
            stop.set()
            peer.wait_for_close()

        with (
            serving(talk) as server,
            client.post_stream(
                HttpRequest(url=server.url), stop=stop, read_timeout_s=WAIT_S
            ) as stream,
            pytest.raises(HttpError) as caught,
        ):
            stream.body(timeout_s=WAIT_S)

        assert caught.value.kind is HttpErrorKind.CANCELLED


class TestFinish:
    def test_a_reply_left_at_its_last_event_gives_its_connection_back(
        self, client: HttpClient
    ) -> None:
        whole = CHUNKED + chunk(b"data: 1\n\n") + chunk(b"data: [DONE]\n\n") + chunk(b"")
        with answering(whole) as server:
            for _ in range(3):
                with opened(client, server.url) as stream:
                    assert next(stream.chunks()).startswith(b"data: 1\n\n")
                    assert stream.finish(grace_s=WAIT_S)

        assert server.connections == 1

    def test_what_is_there_is_read_even_without_grace(self, client: HttpClient) -> None:
        with answering(CHUNKED + chunk(b"data: [DONE]\n\n") + chunk(b"")) as server:
            for _ in range(3):
                with opened(client, server.url) as stream:
                    next(stream.chunks())
                    assert stream.finish(grace_s=0.0)

        assert server.connections == 1

    def test_an_error_whose_body_was_read_gives_its_connection_back(
        self, client: HttpClient
    ) -> None:
        with answering(reply(bytes(100_000), status="500 Oops")) as server:
            for _ in range(3):
                with opened(client, server.url) as stream:
                    stream.body()
                    assert stream.finish(grace_s=WAIT_S)

        assert server.connections == 1

    def test_a_reply_read_to_its_end_needs_no_finish(self, client: HttpClient) -> None:
        with answering(reply(b"a")) as server:
            with opened(client, server.url) as stream:
                list(stream.chunks())
                assert body_of(client, server.url) == b"a"
                assert stream.finish(grace_s=0.0)

            assert server.connections == 1

    def test_one_that_is_over_limits_no_other_call(self, client: HttpClient) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(reply(b"a"))
            peer.receive()
            peer.send(CHUNKED)
            sleep(0.2)
            peer.send(chunk(b"b"), chunk(b""))

        with serving(talk) as server, opened(client, server.url) as first:
            list(first.chunks())
            with opened(client, server.url) as second:
                assert first.finish(grace_s=0.01)
                assert list(second.chunks()) == [b"b"]

            assert server.connections == 1

    def test_the_time_for_its_rest_ends_with_it(self, client: HttpClient) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(CHUNKED, chunk(b"a"))
            sleep(0.05)
            peer.send(chunk(b""))
            peer.receive()
            sleep(0.4)
            peer.send(reply(b"b"))

        with serving(talk) as server:
            with opened(client, server.url) as stream:
                next(stream.chunks())
                assert stream.finish(grace_s=0.3)
            assert body_of(client, server.url) == b"b"

            assert server.connections == 1

    def test_one_with_more_behind_its_end_gives_none_back(self, client: HttpClient) -> None:
        with answering(reply(b"a") + b"HTTP/1.1 200 Not asked for\r\n\r\n") as server:
            with opened(client, server.url) as stream:
                assert list(stream.chunks()) == [b"a"]
                assert not stream.finish(grace_s=WAIT_S)
            assert body_of(client, server.url) == b"a"

            assert server.connections == 2

    def test_a_reply_that_was_left_closes_its_connection(self, client: HttpClient) -> None:
        gone = Event()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(CHUNKED, chunk(b"data: 1\n\n"))
            peer.wait_for_close()
            gone.set()

        with serving(talk) as server:
            with opened(client, server.url) as stream:
                next(stream.chunks())
            assert gone.wait(WAIT_S)

    def test_an_error_in_the_block_closes_it_too(self, client: HttpClient) -> None:
        gone = Event()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(CHUNKED, chunk(b"data: 1\n\n"))
            peer.wait_for_close()
            gone.set()

        with serving(talk) as server:
            with pytest.raises(LookupError), opened(client, server.url):
                raise LookupError
            assert gone.wait(WAIT_S)

    def test_a_body_that_does_not_end_is_given_up(self, client: HttpClient) -> None:
        gone = Event()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(CHUNKED, chunk(b"data: [DONE]\n\n"))
            peer.wait_for_close()
            gone.set()

        with serving(talk) as server, opened(client, server.url) as stream:
            next(stream.chunks())
            assert not stream.finish(grace_s=0.01)
            assert gone.wait(WAIT_S)

    def test_a_body_without_end_is_given_up_however_long_the_grace(
        self, client: HttpClient
    ) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(CHUNKED)
            while True:
                peer.send(chunk(bytes(10_000)))

        with serving(talk) as server, opened(client, server.url) as stream:
            assert not stream.finish(grace_s=10_000.0)

    def test_a_body_that_ends_with_its_connection_gives_none_back(self, client: HttpClient) -> None:
        with answering(TO_THE_END + b"a") as server:
            for _ in range(2):
                with opened(client, server.url) as stream:
                    assert list(stream.chunks()) == [b"a"]
                    assert not stream.finish(grace_s=WAIT_S)

        assert server.connections == 2

    def test_a_cut_reply_gives_none_back(self, client: HttpClient) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(head("Content-Length: 100"), b"a")

        with serving(talk) as server, opened(client, server.url) as stream:
            assert not stream.finish(grace_s=WAIT_S)

    def test_closing_twice_does_nothing_more(self, client: HttpClient) -> None:
        with answering(reply(b"a")) as server:
            stream = opened(client, server.url)
            stream.close()
            stream.close()
            assert list(stream.chunks()) == []
