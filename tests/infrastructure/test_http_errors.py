import logging
import socket
import traceback
from collections.abc import Iterator
from threading import Event

import pytest
import requests
import urllib3
from raw_server import (
    NEVER_OPEN,
    WAIT_S,
    Certificate,
    Peer,
    Talk,
    chunk,
    full_backlog,
    head,
    make_certificate,
    reply,
    serving,
)

from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpErrorKind, HttpRequest
from turnkeeper.infrastructure.http_errors import raise_http_error
from turnkeeper.infrastructure.name_lookup import Found, NameLookup
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop
from turnkeeper.infrastructure.wire import Wire, WireTerms

CANARY = "canary-7f3a"
SECRET = (("Authorization", f"Bearer {CANARY}"),)
CHUNKED = head("Transfer-Encoding: chunked")


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper/test")
    yield client
    client.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


def error_of(
    client: HttpClient, request: HttpRequest | str, read_timeout_s: float = WAIT_S
) -> HttpError:
    """The error that reading the whole reply ends with; each call holds the canary."""
    if isinstance(request, str):
        request = HttpRequest(
            url=f"{request}/{CANARY}?key={CANARY}",
            headers=(("X-Own", CANARY),),
            secret_headers=SECRET,
            body=CANARY.encode(),
        )
    with pytest.raises(HttpError) as caught:  # noqa: SIM117
        with client.post_stream(
            request, stop=ThreadStop(), read_timeout_s=read_timeout_s
        ) as stream:
            list(stream.chunks())
    assert_tells_nothing(caught.value)
    return caught.value


def assert_tells_nothing(error: HttpError) -> None:
    everything = "".join(traceback.format_exception(error)) + repr(error) + repr(error.args)
    assert CANARY not in everything
    assert (error.__cause__, error.__context__) == (None, None)


def sends(*parts: bytes) -> Talk:
    """Answers one request with these bytes and closes."""

    def talk(peer: Peer) -> None:
        peer.receive()
        peer.send(*parts)

    return talk


def is_silent(peer: Peer) -> None:
    peer.receive()
    peer.wait_for_close()


class TestNoConnection:
    def test_refused(self, client: HttpClient) -> None:
        error = error_of(client, f"http://{NEVER_OPEN}")

        assert error.kind is HttpErrorKind.REFUSED
        assert str(error) == f"{NEVER_OPEN} cannot be reached (ECONNREFUSED)"

    def test_a_name_that_does_not_resolve(self, client: HttpClient) -> None:
        error = error_of(client, "http://no-such-name.invalid")

        assert error.kind is HttpErrorKind.DNS
        assert str(error) == "the name of no-such-name.invalid:80 does not resolve"

    @pytest.mark.parametrize("has_threads", [False, True], ids=["here", "in a thread"])
    def test_a_name_whose_look_up_fails(self, has_threads: bool) -> None:
        def resolve(*_: object, **__: object) -> Found:
            raise socket.gaierror(socket.EAI_AGAIN, CANARY)

        runner = ThreadRunner()
        names = NameLookup(runner if has_threads else None, resolve=resolve)
        client = HttpClient(user_agent="turnkeeper/test", names=names)

        assert error_of(client, "http://api.test").kind is HttpErrorKind.DNS
        client.close()
        runner.close()

    def test_a_name_that_is_not_found_in_time(self) -> None:
        answer, runner = Event(), ThreadRunner()

        def resolve(*_: object, **__: object) -> Found:
            answer.wait(WAIT_S)
            return ()

        names = NameLookup(runner, resolve=resolve)
        client = HttpClient(user_agent="turnkeeper/test", connect_timeout_s=0.05, names=names)
        error = error_of(client, "http://api.test")
        answer.set()

        assert (error.kind, str(error)) == (
            HttpErrorKind.CONNECT_TIMEOUT,
            "api.test:80 took no connection in time",
        )
        client.close()
        runner.close()

    def test_a_name_once_names_are_no_longer_looked_up(self) -> None:
        runner = ThreadRunner()
        runner.close()
        client = HttpClient(user_agent="turnkeeper/test", names=NameLookup(runner))

        assert error_of(client, "http://api.test").kind is HttpErrorKind.REFUSED
        client.close()

    def test_a_name_that_no_name_can_be(self, client: HttpClient) -> None:
        assert error_of(client, f"http://{'a' * 64}.test").kind is HttpErrorKind.BAD_REQUEST_VALUE

    def test_no_answer_in_time(self) -> None:
        client = HttpClient(user_agent="turnkeeper/test", connect_timeout_s=0.05)

        with full_backlog() as host:
            error = error_of(client, f"http://{host}")

        assert error.kind is HttpErrorKind.CONNECT_TIMEOUT
        client.close()

    def test_no_tls_in_time(self) -> None:
        client = HttpClient(user_agent="turnkeeper/test", connect_timeout_s=0.05)

        with serving(Peer.wait_for_close) as server:
            error = error_of(client, f"https://{server.host}")

        assert error.kind is HttpErrorKind.CONNECT_TIMEOUT
        client.close()

    def test_a_certificate_that_nobody_vouches_for(
        self, client: HttpClient, certificate: Certificate
    ) -> None:
        with serving(is_silent, certificate.context) as server:
            error = error_of(client, f"https://{server.host}")

        assert error.kind is HttpErrorKind.TLS
        assert "CERTIFICATE_VERIFY_FAILED" in str(error)

    def test_no_tls_where_it_is_asked_for(self, client: HttpClient) -> None:
        def talk(peer: Peer) -> None:
            peer.source.read1(100)
            peer.send(reply(b"plain"))

        with serving(talk) as server:
            assert error_of(client, f"https://{server.host}").kind is HttpErrorKind.TLS

    def test_a_proxy_that_refuses(self) -> None:
        refusal = head(f"X: {CANARY}", status=f"407 {CANARY}")
        with serving(sends(refusal)) as proxy:
            url = f"http://user:{CANARY}@{proxy.host}"
            client = HttpClient(user_agent="turnkeeper/test", proxies={"https": url})
            error = error_of(client, "https://api.test")
            client.close()

        assert (error.kind, str(error)) == (
            HttpErrorKind.REFUSED,
            "api.test:443 cannot be reached",
        )


class TestNoReply:
    def test_closed_without_a_word(self, client: HttpClient) -> None:
        with serving(sends()) as server:
            error = error_of(client, f"http://{server.host}")

        assert (error.kind, str(error)) == (
            HttpErrorKind.RESET,
            f"{server.host} broke the connection",
        )

    def test_reset(self, client: HttpClient) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.reset()

        with serving(talk) as server:
            assert error_of(client, f"http://{server.host}").kind is HttpErrorKind.RESET

    def test_silence(self, client: HttpClient) -> None:
        with serving(is_silent) as server:
            error = error_of(client, f"http://{server.host}", read_timeout_s=0.05)

        assert (error.kind, str(error)) == (
            HttpErrorKind.READ_TIMEOUT,
            f"{server.host} sent nothing in time",
        )

    @pytest.mark.parametrize(
        "sent",
        [
            pytest.param(f"{CANARY} is not HTTP\r\n\r\n".encode(), id="other words"),
            pytest.param(b"HTTP/3.0 200 OK\r\n\r\n", id="other version"),
            pytest.param(b"HTTP/1.1 2000 OK\r\n\r\n", id="odd status"),
            pytest.param(head(*["X: 1"] * 200), id="too many headers"),
            pytest.param(head("Content-Length: 1, 2") + b"ab", id="two lengths"),
            pytest.param(head("Content-Length: 1", "Content-Length: 2") + b"ab", id="twice"),
            pytest.param(head("Content-Length: -1") + b"ab", id="negative length"),
        ],
    )
    def test_something_else_than_http(self, client: HttpClient, sent: bytes) -> None:
        with serving(sends(sent)) as server:
            assert error_of(client, f"http://{server.host}").kind is HttpErrorKind.BAD_REPLY

    @pytest.mark.parametrize(
        "sent",
        [
            pytest.param(head("X: " + "a" * 70_000), id="one long line"),
            pytest.param(head(*["X: " + "a" * 1_000] * 90), id="many lines"),
            pytest.param(head(status="100 Continue") * 5_000, id="endless beginnings"),
            pytest.param(b"HTTP/1.1 200 " + b"a" * 70_000, id="a long reason"),
        ],
    )
    def test_a_head_without_end(self, client: HttpClient, sent: bytes) -> None:
        with serving(sends(sent)) as server:
            assert error_of(client, f"http://{server.host}").kind is HttpErrorKind.TOO_LARGE


class TestNoWholeBody:
    @pytest.mark.parametrize(
        "sent",
        [
            pytest.param(CHUNKED, id="before the first chunk"),
            pytest.param(CHUNKED + b"5", id="within a size"),
            pytest.param(CHUNKED + b"5\r\nab", id="within a chunk"),
            pytest.param(CHUNKED + b"2\r\nab", id="before a chunk's end"),
            pytest.param(CHUNKED + chunk(b"ab"), id="between chunks"),
            pytest.param(head("Content-Length: 5") + b"ab", id="within a length"),
            pytest.param(
                head("Content-Length: 12", "Content-Encoding: gzip")
                + bytes.fromhex("1f8b08000000000000034b4c"),
                id="within gzip",
            ),
        ],
    )
    def test_cut(self, client: HttpClient, sent: bytes) -> None:
        with serving(sends(sent)) as server:
            error = error_of(client, f"http://{server.host}")

        assert (error.kind, str(error)) == (
            HttpErrorKind.CUT,
            f"the reply of {server.host} ended early",
        )

    @pytest.mark.parametrize(
        "sent",
        [
            pytest.param(CHUNKED + b"zz\r\nab", id="no size"),
            pytest.param(CHUNKED + b"2\r\nabc\r\n0\r\n\r\n", id="wrong size"),
            pytest.param(CHUNKED + b"-5\r\nab", id="negative size"),
            pytest.param(CHUNKED + b"2x\r\nab", id="size and more"),
            pytest.param(CHUNKED + b"1;" + b"x" * 70_000, id="endless size"),
            pytest.param(CHUNKED + b"\r\nab", id="empty size"),
            pytest.param(CHUNKED + b"0\r\n" + b"X: 1\r\n" * 20_000, id="endless trailers"),
            pytest.param(
                head("Content-Length: 4", "Content-Encoding: gzip") + b"abcd", id="no gzip"
            ),
        ],
    )
    def test_badly_framed(self, client: HttpClient, sent: bytes) -> None:
        with serving(sends(sent)) as server:
            assert error_of(client, f"http://{server.host}").kind is HttpErrorKind.BAD_REPLY

    @pytest.mark.parametrize("start", [CHUNKED + chunk(b"a"), head("Connection: close") + b"a"])
    def test_reset(self, client: HttpClient, start: bytes) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(start)
            peer.reset()

        with serving(talk) as server:
            assert error_of(client, f"http://{server.host}").kind is HttpErrorKind.RESET

    def test_silence(self, client: HttpClient) -> None:
        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(CHUNKED, chunk(b"a"))
            peer.wait_for_close()

        with serving(talk) as server:
            error = error_of(client, f"http://{server.host}", read_timeout_s=0.05)

        assert error.kind is HttpErrorKind.READ_TIMEOUT

    def test_what_came_before_was_given_out(self, client: HttpClient) -> None:
        with (
            serving(sends(CHUNKED, chunk(b"a"), b"5\r\nab")) as server,
            client.post_stream(
                HttpRequest(url=server.url), stop=ThreadStop(), read_timeout_s=WAIT_S
            ) as stream,
        ):
            chunks = stream.chunks()
            assert next(chunks) == b"aab"
            with pytest.raises(HttpError):
                next(chunks)


class TestRequestsThatCannotBeSent:
    @pytest.mark.parametrize(
        "url",
        [
            f"ftp://api.test/{CANARY}",
            f"{CANARY}",
            f"//api.test/{CANARY}",
            f"https:///{CANARY}",
            f"https://api.test:port/{CANARY}",
            f"https://api.test:99999/{CANARY}",
            f"https://user:{CANARY}@api.test/",
            f"https://[::1/{CANARY}",
            f"https://*.test/{CANARY}",
        ],
    )
    def test_bad_addresses_are_refused_unnamed(self, client: HttpClient, url: str) -> None:
        error = error_of(client, HttpRequest(url=url))

        assert error.kind is HttpErrorKind.BAD_REQUEST_VALUE

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("Authorization", f"Bearer {CANARY}\r\nX: 1", "header 'Authorization' holds a line"),
            ("Authorization", f"Bearer {CANARY}\n", "header 'Authorization' holds a line break"),
            ("X-Api-Key", f"{CANARY}\x00", "header 'X-Api-Key' holds a line break or control"),
            ("X-Api-Key", f"{CANARY}\x7f", "header 'X-Api-Key' holds a line break or control"),
            ("X-Api-Key", f"{CANARY}\u200b", "header 'X-Api-Key' holds a character beyond"),
            ("X-Api-Key", f"“{CANARY}”", "header 'X-Api-Key' holds a character beyond Latin-1"),
            ("X-Api-Key", f"{CANARY} ", "header 'X-Api-Key' has white space around its value"),
            (f"{CANARY}: a", "b", "the name of header 1 is not made of letters and dashes"),
            ("", "b", "the name of header 1 is not made of letters and dashes"),
            ("Host", CANARY, "header 'Host' is set by the connection"),
            ("content-length", CANARY, "header 'content-length' is set by the connection"),
        ],
    )
    @pytest.mark.parametrize("is_secret", [True, False])
    def test_bad_headers_are_refused_by_name_and_never_value(
        self, client: HttpClient, name: str, value: str, message: str, is_secret: bool
    ) -> None:
        headers = ((name, value),)
        with serving(is_silent) as server:
            request = HttpRequest(
                url=server.url,
                headers=() if is_secret else headers,
                secret_headers=headers if is_secret else (),
            )
            error = error_of(client, request)
            assert server.connections == 0

        assert error.kind is HttpErrorKind.BAD_REQUEST_VALUE
        assert str(error).startswith(message)

    def test_latin_1_and_tabs_can_be_sent(self, client: HttpClient) -> None:
        received = []

        def talk(peer: Peer) -> None:
            received.append(peer.receive())
            peer.send(reply())

        with serving(talk) as server:
            request = HttpRequest(url=server.url, secret_headers=(("X-Name", "Zo\xeb\tA"),))
            client.post_stream(request, stop=ThreadStop(), read_timeout_s=WAIT_S).close()

        assert received[0] is not None
        assert received[0].headers["X-Name"] == "Zo\xeb\tA"

    def test_a_request_shows_nothing_of_itself(self) -> None:
        request = HttpRequest(
            url=f"https://api.test/{CANARY}",
            headers=(("X", CANARY),),
            secret_headers=SECRET,
            body=CANARY.encode(),
        )

        assert repr(request) == "HttpRequest(address=None)"


class TestLogs:
    @pytest.mark.parametrize(
        "sent", [head("no header", "Content-Length: 0"), head(" odd", "Content-Length: 0")]
    )
    def test_an_odd_head_is_not_commented_upon(
        self, client: HttpClient, sent: bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO), serving(sends(sent)) as server:
            request = HttpRequest(url=f"{server.url}/{CANARY}")
            client.post_stream(request, stop=ThreadStop(), read_timeout_s=WAIT_S).close()

        assert caplog.text == ""


class TestTranslation:
    @pytest.fixture
    def wire(self) -> Wire:
        return Wire(WireTerms(connect_timeout_s=1.0, idle_limit_s=1.0), 1.0)

    def translated(self, wire: Wire, error: Exception, cause: Exception | None = None) -> None:
        try:
            raise error from cause
        except Exception as caught:
            raise_http_error(caught, "api.test:443", wire)
            raise

    def test_foreign_exceptions_leave_nothing_behind(self, wire: Wire) -> None:
        inner = urllib3.exceptions.HTTPError(f"inner {CANARY}")
        with pytest.raises(HttpError) as caught:
            self.translated(wire, requests.ConnectionError(f"outer {CANARY}", inner), inner)

        assert_tells_nothing(caught.value)

    def test_an_error_that_is_being_handled_does_not_count(self, wire: Wire) -> None:
        wire.is_connected = True
        try:
            raise TimeoutError("of an earlier call")
        except TimeoutError:
            with pytest.raises(HttpError) as caught:
                self.translated(wire, ConnectionResetError())

        assert caught.value.kind is HttpErrorKind.RESET

    def test_bugs_are_not_translated(self, wire: Wire) -> None:
        with pytest.raises(LookupError):
            self.translated(wire, LookupError())

    def test_our_own_errors_pass(self, wire: Wire) -> None:
        ours = HttpError(HttpErrorKind.TOO_LARGE, "too large")
        with pytest.raises(HttpError) as caught:
            self.translated(wire, ours)

        assert caught.value is ours
