import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st
from raw_server import NEVER_OPEN, WAIT_S, Peer, answering, serving

from turnkeeper.application.ports.runner import Runner
from turnkeeper.domain.conversation import MediaKind
from turnkeeper.domain.media import Readable, Reading, Unreadable, as_claimed
from turnkeeper.infrastructure.address_check import AddressCheck
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.media import HEAD_BYTES, MediaCheck
from turnkeeper.infrastructure.media_fetcher import MediaFetcher
from turnkeeper.infrastructure.threads import ThreadRunner

IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO
HTML = b"\n<!DOCTYPE html><html><body>Sign in to see this.</body></html>"
GIF = b"GIF89a\x03\x00\x02\x00\x80\x00\x00"
MP4 = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"


def png(width: int = 3, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * (width * 3 + 1) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels)


def inline(data: bytes, mime_type: str = "image/png") -> str:
    return f"data:{mime_type};base64,{b64encode(data).decode()}"


def read(uri: str, kind: MediaKind = IMAGE) -> Reading:
    return one_of(MediaCheck(), uri, None, kind)


def one_of(
    check: MediaCheck, uri: str, mime_type: str | None = None, kind: MediaKind = IMAGE
) -> Reading:
    asked = (kind, uri, mime_type)
    return check.read((asked,)).get(asked, as_claimed(*asked))


# ── inline ──────────────────────────────────────────────────────────────────────────────────


def test_what_is_what_it_says_stays_as_it_is() -> None:
    assert read(inline(png())) == Readable(uri=inline(png()), mime_type="image/png")


def test_what_says_it_is_something_else_gets_its_true_type() -> None:
    assert read(inline(GIF)) == Readable(uri=inline(GIF, "image/gif"), mime_type="image/gif")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (HTML, "is really a web page"),
        (b"\xef\xbb\xbf<HTML><head>", "is really a web page"),
        (b'{"error":"expired"}', "is really application/json, which cannot be sent"),
        (MP4, "is really video/mp4, which cannot be sent"),
        (b"This content is no longer available.", "is of no kind that is known"),
        (b"", "is empty"),
        (png(0, 5), "is broken"),
        (png()[:14], "is broken"),
    ],
)
def test_what_is_no_image_cannot_be_read(data: bytes, why: str) -> None:
    assert read(inline(data)) == Unreadable(why)


def test_what_is_no_base64_is_broken() -> None:
    assert read("data:image/png;base64,@@@@") == Unreadable("is broken")


def test_what_is_inline_without_base64_is_read_too() -> None:
    assert read("data:text/html,%3Chtml%3E") == Unreadable("is really a web page")


def test_a_video_is_a_video_whatever_kind() -> None:
    said = inline(MP4, "video/quicktime")

    assert read(said, VIDEO) == Readable(uri=inline(MP4, "video/mp4"), mime_type="video/mp4")


def test_an_image_is_no_video() -> None:
    assert read(inline(png()), VIDEO) == Unreadable("is really image/png, which cannot be sent")


@given(st.binary(max_size=64), st.sampled_from(MediaKind))
def test_no_bytes_can_make_it_fail(data: bytes, kind: MediaKind) -> None:
    for start in (b"", png()[:12], GIF[:6], b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP"):
        assert isinstance(read(inline(start + data), kind), Readable | Unreadable)


# ── elsewhere ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def http() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper/test", connect_timeout_s=5)
    yield client
    client.close()


@pytest.fixture
def threads() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


def checking(http: HttpClient, threads: Runner, *hosts: str, limit_s: float = 5.0) -> MediaCheck:
    check = AddressCheck(allowed_hosts=hosts)
    return MediaCheck(MediaFetcher(http, check, threads, limit_s=limit_s))


def reply(body: bytes, status: str = "200 OK", more: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n".encode()
    return head + more + b"\r\n" + body


def test_without_a_fetcher_an_address_is_taken_at_its_word() -> None:
    uri = "https://img.example.org/a.png"

    assert one_of(MediaCheck(), uri, "image/png") == Readable(uri=uri, mime_type="image/png")


def test_a_web_page_that_is_called_an_image_is_found_out(http: HttpClient, threads: Runner) -> None:
    with answering(reply(HTML, more=b"Content-Type: image/png\r\n")) as server:
        reading = one_of(
            checking(http, threads, server.host), f"http://{server.host}/a.png", "image/png"
        )

    assert reading == Unreadable("is really a web page")


def test_what_is_elsewhere_keeps_its_address_and_gets_its_true_type(
    http: HttpClient, threads: Runner
) -> None:
    with answering(reply(GIF, "206 Partial Content")) as server:
        uri = f"http://{server.host}/a.png"
        reading = one_of(checking(http, threads, server.host), uri, "image/png")

    assert reading == Readable(uri=uri, mime_type="image/gif")


def test_only_the_beginning_is_asked_for_and_only_once(http: HttpClient, threads: Runner) -> None:
    with answering(reply(png())) as server:
        check = checking(http, threads, server.host)
        readings = {one_of(check, f"http://{server.host}/a.png", None) for _ in range(3)}

    assert len(readings) == 1
    assert [one.headers["Range"] for one in server.received] == [f"bytes=0-{HEAD_BYTES - 1}"]


def test_of_an_endless_body_only_the_beginning_is_read(http: HttpClient, threads: Runner) -> None:
    def talk(peer: Peer) -> None:
        peer.receive()
        peer.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", png(), b"\0" * HEAD_BYTES)
        peer.wait_for_close()

    with serving(talk) as server:
        reading = one_of(checking(http, threads, server.host), f"http://{server.host}/a", None)

    assert isinstance(reading, Readable)


def test_a_redirect_is_not_followed(http: HttpClient, threads: Runner) -> None:
    moved = reply(b"", "302 Found", b"Location: http://169.254.169.254/\r\n")
    with answering(moved) as server:
        uri = f"http://{server.host}/a.png"
        reading = one_of(checking(http, threads, server.host), uri, "image/png")

    assert reading == Readable(uri=uri, mime_type="image/png")
    assert len(server.received) == 1


@pytest.mark.parametrize("status", ["404 Not Found", "403 Forbidden", "500 Oops"])
def test_what_is_not_there_could_not_be_fetched(
    status: str, http: HttpClient, threads: Runner
) -> None:
    with answering(reply(b"no", status)) as server:
        reading = one_of(checking(http, threads, server.host), f"http://{server.host}/a", None)

    assert reading == Unreadable("could not be fetched")


def test_nothing_is_fetched_from_inside_of_a_network(http: HttpClient, threads: Runner) -> None:
    with answering(reply(png())) as server:
        reading = one_of(checking(http, threads), f"http://{server.host}/a.png", None)

    assert (reading, server.received) == (Unreadable("could not be fetched"), [])


def test_where_nobody_answers_it_could_not_be_fetched(http: HttpClient, threads: Runner) -> None:
    check = checking(http, threads, NEVER_OPEN)

    assert one_of(check, f"http://{NEVER_OPEN}/a", None) == Unreadable("could not be fetched")


def test_what_never_comes_is_not_waited_for(http: HttpClient, threads: Runner) -> None:
    def talk(peer: Peer) -> None:
        peer.receive()
        peer.wait_for_close()

    with serving(talk) as server:
        check = checking(http, threads, server.host, limit_s=0.05)
        reading = one_of(check, f"http://{server.host}/a", None)

    assert reading == Unreadable("could not be fetched")


def test_what_failed_once_is_asked_for_again(http: HttpClient, threads: Runner) -> None:
    with answering(reply(b"", "503 Busy")) as server:
        check = checking(http, threads, server.host)
        for _ in range(2):
            one_of(check, f"http://{server.host}/a", None)

    assert len(server.received) == 2


def test_of_many_addresses_those_not_used_lately_are_forgotten(
    http: HttpClient, threads: Runner
) -> None:
    with answering(reply(png())) as server:
        fetcher = MediaFetcher(http, AddressCheck(allowed_hosts=(server.host,)), threads)
        check = MediaCheck(fetcher, most_uris=2)
        for name in "abacab":
            one_of(check, f"http://{server.host}/{name}", None)

    assert [one.line.split()[1] for one in server.received] == ["/a", "/b", "/c", "/b"]


def test_many_are_fetched_side_by_side(http: HttpClient, threads: Runner) -> None:
    together = Barrier(3)

    def talk(peer: Peer) -> None:
        peer.receive()
        together.wait(WAIT_S)  # each of them waits until all have been asked for
        peer.send(reply(png()))

    with serving(talk) as server:
        uris = tuple(f"http://{server.host}/{name}" for name in "abc")
        asked = tuple((IMAGE, uri, None) for uri in uris)
        readings = checking(http, threads, server.host).read(asked)

    assert readings == {one: Readable(uri=one[1], mime_type="image/png") for one in asked}


def test_of_too_many_the_rest_are_taken_at_their_word(http: HttpClient, threads: Runner) -> None:
    with answering(reply(HTML)) as server:
        fetcher = MediaFetcher(http, AddressCheck(allowed_hosts=(server.host,)), threads, most=1)
        asked = tuple((IMAGE, f"http://{server.host}/{name}", None) for name in "ab")
        readings = MediaCheck(fetcher).read(asked)

    assert readings == {asked[0]: Unreadable("is really a web page")}


def test_where_fetching_is_over_it_could_not_be_fetched(http: HttpClient) -> None:
    closed = ThreadRunner()
    closed.close()

    reading = one_of(checking(http, closed, "127.0.0.1:9"), "http://127.0.0.1:9/a")

    assert reading == Unreadable("could not be fetched")
