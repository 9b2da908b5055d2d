import gc
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import socketpair
from threading import Event, Semaphore, Thread

import pytest
from raw_server import (
    NEVER_OPEN,
    WAIT_S,
    Certificate,
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
    HttpJson,
    HttpRequest,
    HttpStream,
)
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.timed_socket import TimedSocket
from turnkeeper.infrastructure.wired_connections import WiredPool

KEY = (("Authorization", "Bearer sk-canary"),)
JSON = (("Content-Type", "application/json"),)


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper/test")
    yield client
    client.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls_client(certificate: Certificate) -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper/test", verify=certificate.path)
    yield client
    client.close()


def post(
    client: HttpClient, request: HttpRequest | str, stop: ThreadStop | None = None
) -> HttpStream:
    if isinstance(request, str):
        request = HttpRequest(url=request, headers=JSON, secret_headers=KEY, body=b"{}")
    return client.post_stream(request, stop=stop or ThreadStop(), read_timeout_s=WAIT_S)


def body_of(client: HttpClient, request: HttpRequest | str) -> bytes:
    with post(client, request) as stream:
        return b"".join(stream.chunks())


def replies_until_closed(gone: Event) -> Callable[[Peer], None]:
    """Replies once, and says when the other side has hung up."""

    def talk(peer: Peer) -> None:
        peer.receive()
        peer.send(reply(b"a"))
        peer.wait_for_close()
        gone.set()

    return talk


class TestRequest:
    def test_it_arrives_as_it_was_given(self, client: HttpClient) -> None:
        with answering(reply(b"ok")) as server:
            body_of(client, server.url + "?alt=sse")

        (received,) = server.received
        assert (received.line, received.body) == ("POST /v1/chat?alt=sse HTTP/1.1", b"{}")
        assert received.headers == {
            "Host": server.host,
            "User-Agent": "turnkeeper/test",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "Authorization": "Bearer sk-canary",
            "Content-Length": "2",
        }

    def test_a_header_of_the_one_call_replaces_a_common_one_in_any_case(
        self, client: HttpClient
    ) -> None:
        with answering(reply()) as server:
            common, own = (("X-Api-Key", "none"),), (("x-api-key", "mine"), ("USER-AGENT", "me"))
            body_of(client, HttpRequest(url=server.url, headers=common, secret_headers=own))

        headers = server.received[0].headers
        assert (headers["X-Api-Key"], headers["User-Agent"]) == ("mine", "me")

    def test_a_post_without_a_body_says_so(self, client: HttpClient) -> None:
        with answering(reply()) as server:
            body_of(client, HttpRequest(url=server.url))

        assert server.received[0].headers["Content-Length"] == "0"

    def test_headers_of_one_call_are_not_in_the_next(self, client: HttpClient) -> None:
        with answering(reply()) as server:
            body_of(client, HttpRequest(url=server.url, secret_headers=KEY))
            body_of(client, HttpRequest(url=server.url))

        assert "Authorization" not in server.received[1].headers

    @pytest.mark.parametrize("verb", ["GET", "PATCH", "DELETE", "PUT"])
    def test_other_verbs_may_be_used(self, client: HttpClient, verb: str) -> None:
        with answering(reply(status="204 No Content")) as server:
            request = HttpRequest(url=server.url)
            with client.open_stream(
                verb, request, stop=ThreadStop(), read_timeout_s=WAIT_S
            ) as stream:
                assert (stream.status, list(stream.chunks())) == (204, [])

        assert server.received[0].line == f"{verb} /v1/chat HTTP/1.1"

    def test_a_large_body_may_take_longer_than_a_connection(self) -> None:
        def talk(peer: Peer) -> None:
            while peer.source.peek(1):
                Event().wait(0.2)
                request = peer.receive()
                assert request is not None
                peer.send(reply(b"%d" % len(request.body)))

        client = HttpClient(user_agent="turnkeeper/test", connect_timeout_s=0.05)
        with serving(talk) as server:
            request = HttpRequest(url=server.url, body=bytes(30_000_000))
            bodies = [body_of(client, request) for _ in range(2)]
            assert (bodies, server.connections) == ([b"30000000"] * 2, 1)
        client.close()


class TestNothingFromAround:
    def test_a_redirect_is_a_reply_and_is_not_followed(self, client: HttpClient) -> None:
        with answering(reply()) as elsewhere:
            away = reply(status="307 Temporary Redirect", headers=f"Location: {elsewhere.url}")
            with answering(away) as server, post(client, server.url) as stream:
                assert (stream.status, stream.headers["location"]) == (307, elsewhere.url)

        assert elsewhere.received == []

    def test_netrc_does_not_replace_the_key(
        self, client: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login somebody password else\n")
        monkeypatch.setenv("NETRC", str(netrc))

        with answering(reply()) as server:
            body_of(client, server.url)
            body_of(client, HttpRequest(url=server.url))

        assert [request.headers.get("Authorization") for request in server.received] == [
            "Bearer sk-canary",
            None,
        ]

    @pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
    def test_proxies_of_the_environment_are_not_used(
        self, client: HttpClient, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setenv(name, f"http://{NEVER_OPEN}")

        with answering(reply(b"direct")) as server:
            assert body_of(client, server.url) == b"direct"

    def test_certificates_of_the_environment_are_not_used(
        self, client: HttpClient, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", certificate.path)

        with (
            answering(reply(), context=certificate.context) as server,
            pytest.raises(HttpError, match="CERTIFICATE_VERIFY_FAILED"),
        ):
            post(client, server.url)

    def test_cookies_are_not_sent_back(self, client: HttpClient) -> None:
        with answering(reply(headers="Set-Cookie: id=7; Path=/")) as server:
            body_of(client, server.url)
            body_of(client, server.url)

        assert "Cookie" not in server.received[1].headers


class TestReply:
    def test_its_headers_are_found_in_any_case(self, client: HttpClient) -> None:
        headers = "Retry-After: 7\r\nX-Id: a\r\nX-Id: b"
        with (
            answering(reply(status="429 Too Many Requests", headers=headers)) as server,
            post(client, server.url) as stream,
        ):
            assert stream.status == 429
            assert (stream.headers["retry-after"], stream.headers["x-ID"]) == ("7", "a, b")

    def test_a_preliminary_reply_is_skipped(self, client: HttpClient) -> None:
        with answering(head(status="100 Continue") + reply(b"real")) as server:
            assert body_of(client, server.url) == b"real"


class TestConnections:
    def test_one_is_used_for_call_after_call(self, client: HttpClient) -> None:
        with answering(
            reply(b"a"), head("Transfer-Encoding: chunked") + chunk(b"b") + chunk(b"")
        ) as server:
            bodies = [body_of(client, server.url) for _ in range(20)]

        assert (bodies, server.connections) == ([b"a", b"b"] * 10, 1)

    def test_one_is_used_again_over_tls(
        self, tls_client: HttpClient, certificate: Certificate
    ) -> None:
        with answering(reply(b"a"), context=certificate.context) as server:
            bodies = [body_of(tls_client, server.url) for _ in range(5)]

        assert (bodies, server.connections) == ([b"a"] * 5, 1)

    def test_one_that_the_server_closed_is_replaced(self, client: HttpClient) -> None:
        closed = Event()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(reply(b"a"))
            peer.connection.shutdown(2)
            closed.set()

        with serving(talk) as server:
            first = body_of(client, server.url)
            assert closed.wait(WAIT_S)
            assert (first, body_of(client, server.url), server.connections) == (b"a", b"a", 2)

    def test_one_that_rested_too_long_is_replaced(self) -> None:
        client = HttpClient(user_agent="turnkeeper/test", idle_limit_s=0.0)

        with answering(reply(b"a")) as server:
            body_of(client, server.url)
            body_of(client, server.url)
            assert server.connections == 2
        client.close()

    def test_calls_at_the_same_time_have_one_each_and_all_are_kept(
        self, client: HttpClient
    ) -> None:
        together = threading.Barrier(16)

        def talk(peer: Peer) -> None:
            while request := peer.receive():
                together.wait(WAIT_S)
                peer.send(reply(request.body))

        def call(number: int) -> None:
            request = HttpRequest(url=server.url, body=b"%d" % number)
            bodies.append(body_of(client, request))

        with serving(talk) as server:
            for _ in range(5):
                bodies: list[bytes] = []
                threads = [Thread(target=call, args=(number,)) for number in range(16)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(WAIT_S)
                assert sorted(bodies) == sorted(b"%d" % number for number in range(16))

            assert server.connections == 16

    def test_one_on_which_something_came_unasked_is_replaced(self, client: HttpClient) -> None:
        spoken = Event()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(reply(b"a"))
            if server.connections == 1:
                assert read.wait(WAIT_S)
                peer.send(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
                spoken.set()
            peer.wait_for_close()

        read = Event()
        with serving(talk) as server:
            body_of(client, server.url)
            read.set()
            assert spoken.wait(WAIT_S)
            assert (body_of(client, server.url), server.connections) == (b"a", 2)

    @pytest.mark.parametrize("pool_size", [1, 3])
    def test_as_many_are_kept_as_was_said_and_the_others_closed(self, pool_size: int) -> None:
        client = HttpClient(user_agent="turnkeeper/test", pool_size=pool_size)
        closed = Semaphore(0)

        def talk(peer: Peer) -> None:
            while peer.receive():
                peer.send(reply(b"a"))
            closed.release()

        with serving(talk) as server:
            streams = [post(client, server.url) for _ in range(5)]
            for stream in streams:
                stream.finish(grace_s=WAIT_S)
            for _ in range(5 - pool_size):
                assert closed.acquire(timeout=WAIT_S)
            streams = [post(client, server.url) for _ in range(pool_size)]
            for stream in streams:
                stream.finish(grace_s=WAIT_S)

            assert server.connections == 5
            assert not closed.acquire(blocking=False)
            client.close()

    def test_one_that_is_in_use_while_the_client_closes_is_closed_behind_its_reply(self) -> None:
        client, gone = HttpClient(user_agent="turnkeeper/test"), Event()

        with serving(replies_until_closed(gone)) as server, post(client, server.url) as stream:
            client.close()
            assert b"".join(stream.chunks()) == b"a"
            assert gone.wait(WAIT_S)

    def test_those_of_an_address_that_nobody_asks_any_more_are_closed(self) -> None:
        pool = WiredPool("127.0.0.1", maxsize=1)
        connection = pool.take(WAIT_S)
        ours, theirs = socketpair()
        connection.sock, connection.timed = ours, TimedSocket(ours)
        pool.resting.put(connection)
        del pool, connection
        gc.collect()

        assert theirs.recv(1) == b""
        theirs.close()

    def test_closing_the_client_closes_those_that_rest(self) -> None:
        client, gone = HttpClient(user_agent="turnkeeper/test"), Event()

        with serving(replies_until_closed(gone)) as server:
            body_of(client, server.url)
            client.close()
            assert gone.wait(WAIT_S)

    def test_it_closes_them_also_where_somebody_holds_on_to_a_reply(self) -> None:
        client, gone = HttpClient(user_agent="turnkeeper/test"), Event()

        with serving(replies_until_closed(gone)) as server:
            request = HttpRequest(url=server.url)
            held = client.post_stream(request, stop=ThreadStop(), read_timeout_s=WAIT_S)
            assert b"".join(held.chunks()) == b"a"
            client.close()
            assert gone.wait(WAIT_S)


class TestPinnedAddress:
    def test_it_is_connected_to_and_the_name_stays_in_the_request(self, client: HttpClient) -> None:
        with answering(reply(b"pinned")) as server:
            url = f"http://api.test:{server.port}/v1"
            assert body_of(client, HttpRequest(url=url, address="127.0.0.1")) == b"pinned"

        assert server.received[0].headers["Host"] == f"api.test:{server.port}"

    def test_the_certificate_is_checked_for_the_name(
        self, tls_client: HttpClient, certificate: Certificate
    ) -> None:
        names = []
        certificate.context.sni_callback = lambda sock, name, context: names.append(name)
        with answering(reply(b"pinned"), context=certificate.context) as server:
            good = HttpRequest(url=f"https://api.test:{server.port}/", address="127.0.0.1")
            bad = HttpRequest(url=f"https://other.test:{server.port}/", address="127.0.0.1")

            assert body_of(tls_client, good) == b"pinned"
            with pytest.raises(HttpError) as caught:
                post(tls_client, bad)
            assert body_of(tls_client, good) == b"pinned"
        certificate.context.sni_callback = None

        assert caught.value.kind is HttpErrorKind.TLS
        assert names == ["api.test", "other.test"]

    def test_no_name_is_looked_up(self, client: HttpClient) -> None:
        with answering(reply(b"pinned")) as server:
            url = f"http://no-such-name.invalid:{server.port}/"
            assert body_of(client, HttpRequest(url=url, address="127.0.0.1")) == b"pinned"

    def test_it_must_be_an_ip_address(self) -> None:
        with pytest.raises(ValueError, match="'localhost' does not appear to be an IPv4 or IPv6"):
            HttpRequest(url="http://api.test/", address="localhost")


class TestProxies:
    def test_a_plain_call_is_handed_to_the_proxy(self) -> None:
        with answering(reply(b"by proxy")) as proxy:
            client = HttpClient(
                user_agent="turnkeeper/test", proxies={"http": f"http://{proxy.host}"}
            )
            assert body_of(client, "http://api.test/v1") == b"by proxy"
            client.close()

        assert proxy.received[0].line == "POST http://api.test/v1 HTTP/1.1"

    def test_a_tls_call_goes_through_a_tunnel(self, certificate: Certificate) -> None:
        lines = []

        def talk(peer: Peer) -> None:
            connect = peer.receive()
            assert connect is not None
            lines.append(connect.line)
            peer.send(head(status="200 Connection established"))
            peer.start_tls(certificate.context)
            while peer.receive():
                peer.send(reply(b"by tunnel"))

        with serving(talk) as proxy:
            client = HttpClient(
                user_agent="turnkeeper/test",
                verify=certificate.path,
                proxies={"https": f"http://{proxy.host}"},
            )
            bodies = [body_of(client, "https://api.test/v1") for _ in range(2)]
            client.close()

        assert (bodies, proxy.connections) == ([b"by tunnel"] * 2, 1)
        assert [line.rpartition("/")[0] for line in lines] == ["CONNECT api.test:443 HTTP"]

    def test_a_pinned_address_goes_past_the_proxy(self) -> None:
        client = HttpClient(user_agent="turnkeeper/test", proxies={"http": f"http://{NEVER_OPEN}"})

        with answering(reply(b"direct")) as server:
            url = f"http://api.test:{server.port}/"
            assert body_of(client, HttpRequest(url=url, address="127.0.0.1")) == b"direct"
        client.close()


class TestJson:
    def get(self, client: HttpClient, url: str, *, limit_bytes: int = 1000) -> HttpJson:
        request = HttpRequest(url=url, secret_headers=KEY)
        return client.get_json(
            request, stop=ThreadStop(), limit_bytes=limit_bytes, timeout_s=WAIT_S
        )

    def test_it_is_read_as_a_whole(self, client: HttpClient) -> None:
        with answering(reply(b'{"data": [1]}', headers="X-Id: a")) as server:
            got = self.get(client, server.url)
            self.get(client, server.url)

        assert (got.status, got.headers["x-id"], got.value) == (200, "a", {"data": [1]})
        assert server.received[0].line == "GET /v1/chat HTTP/1.1"
        assert "Content-Length" not in server.received[0].headers
        assert server.connections == 1

    @pytest.mark.parametrize(("body", "value"), [(b'{"error": 1}', {"error": 1}), (b"<p>", None)])
    def test_an_error_status_is_a_reply_with_or_without_json(
        self, client: HttpClient, body: bytes, value: object
    ) -> None:
        with answering(reply(body, status="401 Unauthorized")) as server:
            got = self.get(client, server.url)

        assert (got.status, got.value) == (401, value)

    @pytest.mark.parametrize(
        "body", [b"<p>", b"", b"\xff", b"[" * 100_000], ids=["html", "", "bytes", "deep"]
    )
    def test_a_good_status_without_json_is_an_error(self, client: HttpClient, body: bytes) -> None:
        with answering(reply(body)) as server, pytest.raises(HttpError) as caught:
            self.get(client, server.url, limit_bytes=200_000)

        assert caught.value.kind is HttpErrorKind.BAD_REPLY

    def test_as_much_as_the_limit_is_read(self, client: HttpClient) -> None:
        with answering(reply(b'{"data": [1]}')) as server:
            assert self.get(client, server.url, limit_bytes=13).value == {"data": [1]}

    def test_more_than_the_limit_is_an_error(self, client: HttpClient) -> None:
        message = re.escape("has more than 9 bytes")
        with (
            answering(reply(b'"%s"' % bytes(8))) as server,
            pytest.raises(HttpError, match=message) as caught,
        ):
            self.get(client, server.url, limit_bytes=9)

        assert caught.value.kind is HttpErrorKind.TOO_LARGE

    def test_a_reply_that_drips_is_given_up(self, client: HttpClient) -> None:
        gone = Event()

        def talk(peer: Peer) -> None:
            peer.receive()
            peer.send(head("Transfer-Encoding: chunked"))
            while not gone.is_set():
                peer.send(chunk(b" "))

        with serving(talk) as server:
            request = HttpRequest(url=server.url)
            with pytest.raises(HttpError) as caught:
                client.get_json(request, stop=ThreadStop(), limit_bytes=10**9, timeout_s=0.05)
            gone.set()

        assert caught.value.kind is HttpErrorKind.READ_TIMEOUT
