"""What a hostile server sends without end is bounded, for providers and for media alike."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from builders import a_model
from raw_server import WAIT_S, Peer, RawServer, chunk, head, serving

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.stream import StreamFailed
from turnkeeper.infrastructure.address_check import AddressCheck
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpErrorKind, HttpRequest
from turnkeeper.infrastructure.media_fetcher import Fetch, Head, MediaFetcher
from turnkeeper.infrastructure.providers.anthropic import AnthropicProvider
from turnkeeper.infrastructure.providers.gemini import GeminiProvider
from turnkeeper.infrastructure.providers.openai_compatible import OpenAICompatibleProvider
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop

MEBIBYTE = 1024 * 1024
# Far more than is ever read: who reads it all never ends, or needs memory that is not there.
ENDLESS_BYTES = 1024 * MEBIBYTE
HEAD_BYTES = 4_096

Pieces = Callable[[], Iterator[bytes]]


def for_ever(*pieces: bytes, begin: bytes = b"") -> Pieces:
    """These pieces over and over, up to far too much."""

    def made() -> Iterator[bytes]:
        yield begin
        sent = 0
        while sent < ENDLESS_BYTES:
            for piece in pieces:
                yield piece
                sent += len(piece)

    return made


@contextmanager
def sending(*headers: str, body: Pieces, status: str = "200 OK") -> Iterator[RawServer]:
    """A server that sends a body to the connection's end, as far as anybody takes it."""

    def talk(peer: Peer) -> None:
        peer.receive()
        peer.send(head(*headers, status=status))
        for piece in body():
            peer.send(piece)

    with serving(talk) as server:
        yield server


@pytest.fixture
def http() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper/test")
    yield client
    client.close()


@pytest.fixture
def media(http: HttpClient) -> Iterator[Callable[[RawServer], Head]]:
    """Fetches what is at the server, as media."""
    runner = ThreadRunner()

    def fetched(server: RawServer) -> Head:
        check = AddressCheck(allowed_hosts=(server.host,))
        return MediaFetcher(http, check, runner, limit_s=WAIT_S).heads((server.url,), HEAD_BYTES)[
            server.url
        ]

    yield fetched
    runner.close()


Ask = Callable[[RawServer], StreamFailed]


@pytest.fixture(params=["openai", "custom", "google", "anthropic"])
def ask(request: pytest.FixtureRequest, http: HttpClient) -> Ask:
    """Asks the server, as a provider's, and returns how it failed."""

    def asked(server: RawServer) -> StreamFailed:
        provider, endpoint = _provider(request.param, http, server)
        call = ChatCall(model=a_model(), conversation=Conversation.of("Hello"), endpoint=endpoint)
        last = None
        for event in provider.stream(call, key=None, stop=ThreadStop(), deadline=NEVER):
            last = event
        assert isinstance(last, StreamFailed)
        return last

    return asked


def _provider(
    name: str, http: HttpClient, server: RawServer
) -> tuple[ChatProvider, Endpoint | None]:
    base_url = f"http://{server.host}/v1"
    if name == "google":
        return GeminiProvider(http=http, clock=SystemClock(), base_url=base_url), None
    if name == "anthropic":
        return AnthropicProvider(http=http, clock=SystemClock(), base_url=base_url), None
    endpoint = Endpoint(
        id=1, connection_id=None, label="mine", base_url=base_url, requires_auth=False,
        trusted=name == "openai",
    )  # fmt: skip
    check = AddressCheck(allowed_hosts=(server.host,))
    made = OpenAICompatibleProvider(http=http, clock=SystemClock(), address_of=check)
    return made, endpoint


@contextmanager
def at_most(mebibytes: int) -> Iterator[None]:
    """No more memory than this is held meanwhile, at any time."""
    tracemalloc.start()
    try:
        yield
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < mebibytes * MEBIBYTE


# ── heads ───────────────────────────────────────────────────────────────────────────────────

HEADS = {
    "one header without end": ("X-Long: " + "a" * 100_000,),
    "many headers": tuple(f"X-{number}: a" for number in range(200)),
    "more bytes than a head has": tuple(f"X-{number}: {'a' * 1_000}" for number in range(90)),
}


@pytest.mark.parametrize("headers", HEADS.values(), ids=HEADS)
def test_a_head_without_end_fails_a_call(headers: tuple[str, ...], ask: Ask) -> None:
    with sending(*headers, body=lambda: iter([b"data: [DONE]\n\n"])) as server:
        failed = ask(server)

    assert failed.failure.rule in ("http-too-large", "http-bad-reply")


@pytest.mark.parametrize("headers", HEADS.values(), ids=HEADS)
def test_a_head_without_end_is_no_media(
    headers: tuple[str, ...], media: Callable[[RawServer], Head]
) -> None:
    with sending(*headers, body=lambda: iter([b"GIF89a"])) as server:
        assert media(server) is Fetch.FAILED


def test_preliminary_replies_without_end_fail_a_call(ask: Ask) -> None:
    def talk(peer: Peer) -> None:
        peer.receive()
        while True:
            peer.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)

    with serving(talk) as server:
        failed = ask(server)

    assert failed.failure.rule == "http-too-large"


# ── bodies ──────────────────────────────────────────────────────────────────────────────────

BODIES = {
    "an event without end": for_ever(b"a" * 65_536, begin=b"data: "),
    "JSON without end": for_ever(b" " * 65_536, begin=b'{"choices": [{"message": "'),
    "a page without end": for_ever(b"<p>" * 20_000, begin=b"<html>"),
    "an event of lines without end": for_ever(b"data: a\n" * 8_000),
    "lines that are no events": for_ever((b"what is this? " * 2_000 + b"\n\n") * 2),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_without_end_fails_a_call_in_bounded_memory(body: Pieces, ask: Ask) -> None:
    with at_most(128), sending("Content-Type: text/event-stream", body=body) as server:
        failed = ask(server)

    assert failed.failure.rule == "too-large"


def test_an_error_without_end_is_read_as_far_as_it_is_of_use(ask: Ask) -> None:
    body = for_ever(b"a" * 65_536, begin=b'{"error": {"message": "')
    with at_most(8), sending(body=body, status="500 Internal Server Error") as server:
        failed = ask(server)

    assert failed.failure.status == 500
    assert len(failed.failure.message) <= 600


def test_of_media_without_end_only_the_beginning_is_read(
    media: Callable[[RawServer], Head],
) -> None:
    with at_most(4), sending(body=for_ever(b"GIF89a" * 10_000)) as server:
        found = media(server)

    assert isinstance(found, bytes)
    assert len(found) == HEAD_BYTES


# ── what unpacks to more ────────────────────────────────────────────────────────────────────


def bomb(wbits: int, *, begin: bytes = b"") -> Pieces:
    """A gibibyte, packed to a mebibyte."""

    def made() -> Iterator[bytes]:
        packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
        yield packer.compress(begin)
        for _ in range(ENDLESS_BYTES // MEBIBYTE):
            if packed := packer.compress(b"a" * MEBIBYTE):
                yield packed
        yield packer.flush()

    return made


PACKINGS = {"gzip": 31, "x-gzip": 31, "deflate": zlib.MAX_WBITS}


@pytest.mark.parametrize("encoding", PACKINGS)
def test_a_bomb_fails_a_call_in_bounded_memory(encoding: str, ask: Ask) -> None:
    body = bomb(PACKINGS[encoding], begin=b"data: ")
    with at_most(64), sending(f"Content-Encoding: {encoding}", body=body) as server:
        failed = ask(server)

    assert failed.failure.rule == "too-large"


@pytest.mark.parametrize("encoding", PACKINGS)
def test_of_a_bomb_as_media_only_the_beginning_is_unpacked(
    encoding: str, media: Callable[[RawServer], Head]
) -> None:
    body = bomb(PACKINGS[encoding], begin=b"GIF89a")
    with at_most(8), sending(f"Content-Encoding: {encoding}", body=body) as server:
        found = media(server)

    assert isinstance(found, bytes)
    assert (len(found), found[:6]) == (HEAD_BYTES, b"GIF89a")


NOTHING = zlib.compressobj(9, zlib.DEFLATED, 31)
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
PACKED = {
    "bytes behind its end": for_ever(b"a" * 65_536, begin=gzip.compress(b"data: {}\n\n")),
    "blocks of nothing": for_ever(EMPTY_BLOCK * 10_000, begin=NOTHING.compress(b"")),
    "packed files one behind the other": for_ever(gzip.compress(b"data: {}\n\n") * 1_000),
}


@pytest.mark.parametrize("body", PACKED.values(), ids=PACKED)
def test_packed_data_that_brings_nothing_more_ends_a_call(body: Pieces, ask: Ask) -> None:
    with at_most(8), sending("Content-Encoding: gzip", body=body) as server:
        failed = ask(server)

    assert failed.failure.rule == "http-bad-reply"


@pytest.mark.parametrize("body", PACKED.values(), ids=PACKED)
def test_packed_data_that_brings_nothing_more_is_no_reply(body: Pieces, http: HttpClient) -> None:
    with at_most(8), sending("Content-Encoding: gzip", body=body) as server:
        request = HttpRequest(url=server.url)
        with (
            http.open_stream("GET", request, stop=ThreadStop(), read_timeout_s=WAIT_S) as reply,
            pytest.raises(HttpError) as caught,
        ):
            reply.whole_body(MEBIBYTE, WAIT_S)

    assert caught.value.kind is HttpErrorKind.BAD_REPLY


def test_a_little_behind_the_end_of_packed_data_does_no_harm(http: HttpClient) -> None:
    packed = gzip.compress(b"hello") + b"\0" * 512

    def talk(peer: Peer) -> None:
        while peer.receive():
            peer.send(head("Content-Encoding: gzip", "Transfer-Encoding: chunked"))
            peer.send(chunk(packed), chunk(b""))

    with serving(talk) as server:
        for _ in range(2):
            request = HttpRequest(url=server.url)
            with http.open_stream(
                "GET", request, stop=ThreadStop(), read_timeout_s=WAIT_S
            ) as reply:
                assert reply.whole_body(100, WAIT_S) == b"hello"
        assert server.connections == 1


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "gzip, br"])
def test_what_was_never_asked_for_is_not_unpacked(
    encoding: str, ask: Ask, media: Callable[[RawServer], Head]
) -> None:
    with sending(f"Content-Encoding: {encoding}", body=lambda: iter([b"GIF89a"])) as server:
        assert ask(server).failure.rule == "http-bad-reply"
        assert media(server) in (Fetch.FAILED, b"")
