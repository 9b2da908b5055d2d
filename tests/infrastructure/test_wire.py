"""A stop ends whatever a request waits for. None of these ends by a timeout."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest
from raw_server import (
    WAIT_S,
    Certificate,
    Gate,
    Peer,
    RawServer,
    answering,
    chunk,
    full_backlog,
    head,
    make_certificate,
    reply,
    serving,
)

from turnkeeper.application.ports.runner import Stop
from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpErrorKind, HttpRequest
from turnkeeper.infrastructure.name_lookup import Found, NameLookup
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop
from turnkeeper.infrastructure.wire import Wire, WireTerms

LONG_S = 600.0  # longer than the time limit of a test


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def client(certificate: Certificate) -> Iterator[HttpClient]:
    client = a_client(certificate)
    yield client
    client.close()


def a_client(certificate: Certificate, **proxies: str) -> HttpClient:
    return HttpClient(
        user_agent="turnkeeper/test",
        connect_timeout_s=LONG_S,
        verify=certificate.path,
        proxies=proxies,
    )


class Call:
    """A call in a thread of its own, up to its end."""

    def __init__(self, client: HttpClient, request: HttpRequest) -> None:
        self.stop = ThreadStop()
        self.outcome: bytes | HttpErrorKind | None = None
        self.read = Event()
        self._client = client
        self._request = request
        self._thread = Thread(target=self._run)
        self._thread.start()

    def end(self) -> bytes | HttpErrorKind | None:
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive(), "the call was not woken"
        return self.outcome

    def _run(self) -> None:
        try:
            self.outcome = self._all()
        except HttpError as error:
            self.outcome = error.kind

    def _all(self) -> bytes:
        body = b""
        with self._client.post_stream(
            self._request, stop=self.stop, read_timeout_s=LONG_S
        ) as stream:
            for piece in stream.chunks():
                body += piece
                self.read.set()
        return body


def stopped_when(
    ready: Callable[[], bool], client: HttpClient, request: HttpRequest
) -> bytes | HttpErrorKind | None:
    call = Call(client, request)
    assert ready()
    call.stop.set()
    return call.end()


@contextmanager
def silent_after(
    sent: bytes, *, certificate: Certificate | None = None
) -> Iterator[tuple[RawServer, Gate]]:
    """A server that sends this and nothing more; the gate opens once it was sent."""
    silent = Gate()

    def talk(peer: Peer) -> None:
        peer.receive()
        if sent:
            peer.send(sent)
        silent.open()
        peer.wait_for_close()

    with serving(talk, certificate.context if certificate else None) as server:
        yield server, silent


class TestAStopEnds:
    def test_looking_up_a_name(self) -> None:
        begun, answer = Gate(), Gate()

        def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
            begun.open()
            answer.wait()
            return []

        runner = ThreadRunner()
        client = HttpClient(
            user_agent="turnkeeper/test",
            connect_timeout_s=LONG_S,
            names=NameLookup(runner, resolve=resolve),
        )
        request = HttpRequest(url="http://api.test/")

        assert stopped_when(begun.is_open, client, request) is HttpErrorKind.CANCELLED
        assert runner.running == 1  # it runs out by itself
        answer.open()
        runner.close()
        client.close()

    def test_connecting(self, client: HttpClient) -> None:
        with full_backlog() as host:
            request = HttpRequest(url=f"http://{host}/")
            call = Call(client, request)
            # Nothing tells from outside that it is connecting; stopped before, it ends as well.
            Event().wait(0.05)
            call.stop.set()

            assert call.end() is HttpErrorKind.CANCELLED

    def test_a_tls_handshake(self, client: HttpClient) -> None:
        begun = Gate()

        def talk(peer: Peer) -> None:
            peer.source.peek(1)
            begun.open()
            peer.wait_for_close()

        with serving(talk) as server:
            request = HttpRequest(url=f"https://{server.host}/")

            assert stopped_when(begun.is_open, client, request) is HttpErrorKind.CANCELLED

    def test_a_proxy_that_opens_no_tunnel(self, certificate: Certificate) -> None:
        with silent_after(b"") as (proxy, silent):
            client = a_client(certificate, https=f"http://{proxy.host}")
            request = HttpRequest(url="https://api.test/")

            assert stopped_when(silent.is_open, client, request) is HttpErrorKind.CANCELLED
            client.close()

    @pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
    @pytest.mark.parametrize(
        "sent", [b"", b"HTTP/1.1 200 OK\r\nX-"], ids=["nothing came", "half a head came"]
    )
    def test_waiting_for_the_head(
        self, client: HttpClient, certificate: Certificate, sent: bytes, is_tls: bool
    ) -> None:
        with silent_after(sent, certificate=certificate if is_tls else None) as (server, silent):
            request = HttpRequest(url=server.url)

            assert stopped_when(silent.is_open, client, request) is HttpErrorKind.CANCELLED

    @pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
    @pytest.mark.parametrize(
        "sent",
        [
            pytest.param(head("Transfer-Encoding: chunked") + chunk(b"a"), id="chunked"),
            pytest.param(head("Transfer-Encoding: chunked") + b"9\r\na", id="within a chunk"),
            pytest.param(head("Content-Length: 100") + b"a", id="length"),
            pytest.param(head("Connection: close") + b"a", id="to the end"),
            pytest.param(head("Content-Length: 100", "Connection: close") + b"a", id="closing"),
        ],
    )
    def test_waiting_for_the_body(
        self, client: HttpClient, certificate: Certificate, sent: bytes, is_tls: bool
    ) -> None:
        with silent_after(sent, certificate=certificate if is_tls else None) as (server, _):
            call = Call(client, HttpRequest(url=server.url))
            assert call.read.wait(WAIT_S)
            call.stop.set()

            assert call.end() is HttpErrorKind.CANCELLED

    @pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
    def test_sending_a_body_that_nobody_takes(
        self, client: HttpClient, certificate: Certificate, is_tls: bool
    ) -> None:
        started, done = Gate(), Gate()

        def talk(peer: Peer) -> None:
            peer.source.readline()
            started.open()
            done.wait()

        with serving(talk, certificate.context if is_tls else None) as server:
            request = HttpRequest(url=server.url, body=bytes(50_000_000))

            assert stopped_when(started.is_open, client, request) is HttpErrorKind.CANCELLED
            done.open()

    def test_a_stream_that_never_pauses(self, client: HttpClient) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(head("Transfer-Encoding: chunked"))
            while True:
                peer.send(chunk(b"data: 1\n\n"))

        with serving(talk) as server:
            call = Call(client, HttpRequest(url=server.url))
            assert call.read.wait(WAIT_S)
            call.stop.set()

            assert call.end() is HttpErrorKind.CANCELLED

    def test_a_wait_on_a_connection_that_was_used_before(self, client: HttpClient) -> None:
        second = Gate()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(reply(b"first"))
            peer.receive()
            second.open()
            peer.wait_for_close()

        with serving(talk) as server:
            request = HttpRequest(url=server.url)
            assert Call(client, request).end() == b"first"
            assert stopped_when(second.is_open, client, request) is HttpErrorKind.CANCELLED
            assert server.connections == 1

    def test_work_that_is_abandoned(self, client: HttpClient) -> None:
        def work(stop: Stop) -> None:
            request = HttpRequest(url=server.url)
            client.post_stream(request, stop=stop, read_timeout_s=LONG_S)

        runner = ThreadRunner()
        with silent_after(b"") as (server, silent):
            call = runner.start(work, "call")
            assert silent.is_open()

            assert call.abandon(WAIT_S)
            with pytest.raises(HttpError) as caught:
                call.result(0)
        runner.close()

        assert caught.value.kind is HttpErrorKind.CANCELLED


class TestAStopThatComes:
    def test_before_the_call_lets_none_begin(self, client: HttpClient) -> None:
        stop = ThreadStop()
        stop.set()

        with answering(reply()) as server, pytest.raises(HttpError) as caught:
            client.post_stream(HttpRequest(url=server.url), stop=stop, read_timeout_s=LONG_S)

        assert (caught.value.kind, server.connections) == (HttpErrorKind.CANCELLED, 0)

    def test_before_the_call_leaves_the_connections_that_rest_alone(
        self, client: HttpClient
    ) -> None:
        stop = ThreadStop()
        stop.set()

        with answering(reply(b"a")) as server:
            request = HttpRequest(url=server.url)
            assert Call(client, request).end() == b"a"
            with pytest.raises(HttpError):
                client.post_stream(request, stop=stop, read_timeout_s=LONG_S)
            assert Call(client, request).end() == b"a"

        assert server.connections == 1

    def test_between_reads_lets_no_more_be_read(self, client: HttpClient) -> None:
        stop = ThreadStop()
        with (
            answering(reply(bytes(500_000))) as server,
            client.post_stream(
                HttpRequest(url=server.url), stop=stop, read_timeout_s=LONG_S
            ) as stream,
        ):
            chunks = stream.chunks()
            assert next(chunks)
            stop.set()
            with pytest.raises(HttpError) as caught:
                next(chunks)
            assert not stream.finish(grace_s=WAIT_S)

        assert caught.value.kind is HttpErrorKind.CANCELLED

    def test_after_the_end_leaves_the_connection_to_the_next_call(self, client: HttpClient) -> None:
        stop, seen = ThreadStop(), Gate()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(reply(b"first"))
            peer.receive()
            seen.wait()
            peer.send(reply(b"second"))

        with serving(talk) as server:
            request = HttpRequest(url=server.url)
            with client.post_stream(request, stop=stop, read_timeout_s=LONG_S) as stream:
                list(stream.chunks())
            call = Call(client, request)
            stop.set()
            seen.open()

            assert (call.end(), server.connections) == (b"second", 1)

    @pytest.mark.parametrize(
        "sent", [b"", reply(b"whole"), head("Content-Length: 9")], ids=["failed", "read", "left"]
    )
    def test_after_a_call_finds_nothing_registered(self, client: HttpClient, sent: bytes) -> None:
        registered: list[Callable[[], None]] = []

        class Watched(ThreadStop):
            def on_stop(self, wake: Callable[[], None]) -> Callable[[], None]:
                registered.append(wake)

                def forget() -> None:
                    registered.remove(wake)

                return forget

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(sent)

        with serving(talk) as server, suppress(HttpError):
            request = HttpRequest(url=server.url)
            client.post_stream(request, stop=Watched(), read_timeout_s=LONG_S).finish(grace_s=0.01)

        assert registered == []

    def test_at_any_moment_of_a_call_ends_it_or_comes_too_late(
        self, client: HttpClient, certificate: Certificate
    ) -> None:
        whole = head("Transfer-Encoding: chunked") + chunk(b"a") * 50 + chunk(b"")
        with answering(whole, context=certificate.context) as server:
            for _ in range(100):
                call = Call(client, HttpRequest(url=server.url))
                call.stop.set()
                assert call.end() in (HttpErrorKind.CANCELLED, b"a" * 50)

            assert Call(client, HttpRequest(url=server.url)).end() == b"a" * 50


class TestWire:
    @pytest.fixture
    def wire(self) -> Wire:
        return Wire(WireTerms(connect_timeout_s=WAIT_S, idle_limit_s=WAIT_S), WAIT_S)

    def test_the_next_address_is_tried_if_one_refuses(self, wire: Wire) -> None:
        # "localhost" may stand for ::1 too, where nobody listens.
        with answering(reply()) as server:
            sock = wire.open("localhost", server.port, [])
            assert sock.getpeername() == ("127.0.0.1", server.port)
            sock.close()

    @pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
    def test_once_cut_it_opens_nothing(self, wire: Wire, host: str) -> None:
        wire.cut()

        with pytest.raises(ConnectionAbortedError):
            wire.open(host, 1, [])

    def test_looking_up_and_connecting_share_the_time(self) -> None:
        taken_s: list[float] = []
        given_s: list[float] = []

        def resolve(*_: object, **__: object) -> Found:
            since_s = time.monotonic()
            Event().wait(0.01)
            taken_s.append(time.monotonic() - since_s)
            return getaddrinfo("127.0.0.1", 1, type=socket.SOCK_STREAM)

        class Watched(Wire):
            def _connect(
                self, sock: socket.socket, address: object, options: object, timeout_s: float
            ) -> None:
                sock.close()
                given_s.append(timeout_s)
                raise TimeoutError

        getaddrinfo = socket.getaddrinfo
        names = NameLookup(resolve=resolve)
        terms = WireTerms(connect_timeout_s=60.0, idle_limit_s=1.0, names=names)
        wire = Watched(terms, read_timeout_s=1.0)
        with pytest.raises(TimeoutError):
            wire.open("api.test", 1, [])

        assert (len(taken_s), len(given_s)) == (1, 1)
        assert given_s[0] <= 60.0 - taken_s[0]

    def test_once_cut_it_holds_nothing_new(self, wire: Wire) -> None:
        ours, theirs = socket.socketpair()
        wire.cut()

        with pytest.raises(ConnectionAbortedError):
            wire.hold(ours)
        ours.close()
        theirs.close()

    def test_what_it_let_go_is_not_shut_down(self, wire: Wire) -> None:
        ours, theirs = socket.socketpair()
        wire.hold(ours)
        wire.let_go()

        wire.cut()
        ours.sendall(b"still open")

        assert theirs.recv(100) == b"still open"
        ours.close()
        theirs.close()

    def test_a_socket_that_is_closed_already_is_no_error(self, wire: Wire) -> None:
        ours, theirs = socket.socketpair()
        wire.hold(ours)
        ours.close()

        wire.cut()

        assert wire.is_cut
        theirs.close()
