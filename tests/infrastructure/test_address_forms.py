"""Ways to write an address inside of the network, tried on everything that connects for a member.

A server really listens there, and most of these forms lead a resolver or a browser to it.
"""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from builders import a_model
from raw_server import RawServer, answering, reply

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.stream import Finished, StreamFailed
from turnkeeper.infrastructure.address_check import AddressCheck, Found
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.media_fetcher import Fetch, MediaFetcher
from turnkeeper.infrastructure.providers.openai_compatible import OpenAICompatibleProvider
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop

# `PORT` is where the server listens.
FORMS = (
    # as it is
    "http://127.0.0.1:PORT/v1",
    "HTTP://127.0.0.1:PORT/v1",
    "hTtP://127.0.0.1:PORT/v1",
    "http://127.1.2.3:PORT/v1",
    "http://0.0.0.0:PORT/v1",
    "http://localhost:PORT/v1",
    "http://LOCALHOST:PORT/v1",
    "http://localhost.:PORT/v1",
    "http://127.0.0.1.:PORT/v1",
    "http://a.localhost:PORT/v1",
    # numbers
    "http://2130706433:PORT/v1",
    "http://0x7f000001:PORT/v1",
    "http://0X7F000001:PORT/v1",
    "http://017700000001:PORT/v1",
    "http://0177.0.0.1:PORT/v1",
    "http://0x7f.0.0.1:PORT/v1",
    "http://0x7f.0x0.0x0.0x1:PORT/v1",
    "http://127.1:PORT/v1",
    "http://127.0.1:PORT/v1",
    "http://0177.1:PORT/v1",
    "http://127.0.0.01:PORT/v1",
    "http://0:PORT/v1",
    # IPv6, and IPv4 within
    "http://[::1]:PORT/v1",
    "http://[::]:PORT/v1",
    "http://[0:0:0:0:0:0:0:1]:PORT/v1",
    "http://[::ffff:127.0.0.1]:PORT/v1",
    "http://[::ffff:7f00:1]:PORT/v1",
    "http://[::FFFF:7F00:0001]:PORT/v1",
    "http://[::127.0.0.1]:PORT/v1",
    "http://[64:ff9b::127.0.0.1]:PORT/v1",
    "http://[64:ff9b:1::127.0.0.1]:PORT/v1",
    "http://[2002:7f00:1::]:PORT/v1",
    "http://[2001:0:7f00:1::]:PORT/v1",
    "http://[fe80::1%25lo]:PORT/v1",
    "http://[fe80::1%lo]:PORT/v1",
    "http://[::1%25lo]:PORT/v1",
    "http://[fc00::1]:PORT/v1",
    "http://[fec0::1]:PORT/v1",
    "http://[ff02::1]:PORT/v1",
    # the insides of others, and the clouds' own
    "http://10.0.0.1:PORT/v1",
    "http://172.16.0.1:PORT/v1",
    "http://192.168.0.1:PORT/v1",
    "http://100.64.0.1:PORT/v1",
    "http://100.100.100.200/latest",
    "http://169.254.169.254/latest",
    "http://169.254.170.2/v2",
    "http://168.63.129.16/machine",
    "http://192.0.0.192/opc",
    "http://[fd00:ec2::254]/latest",
    "http://metadata.google.internal/computeMetadata",
    "http://metadata/computeMetadata",
    "http://224.0.0.1:PORT/v1",
    "http://255.255.255.255:PORT/v1",
    "http://240.0.0.1:PORT/v1",
    # other scripts
    "http://１２７．０．０．１:PORT/v1",
    "http://127。0。0。1:PORT/v1",
    "http://①②⑦.⓪.⓪.①:PORT/v1",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/v1",
    "http://127.0.0.1\u200b:PORT/v1",
    "http://127%2e0%2e0%2e1:PORT/v1",
    # somebody else in front
    "http://example.org@127.0.0.1:PORT/v1",
    "http://user:word@127.0.0.1:PORT/v1",
    "http://example.org:80@127.0.0.1:PORT/v1",
    "http://127.0.0.1:PORT#@example.org/v1",
    "http://127.0.0.1:PORT?@example.org/v1",
    "http://127.0.0.1:PORT\\@example.org/v1",
    "http://example.org\\@127.0.0.1:PORT/v1",
    "http:\\\\127.0.0.1:PORT\\v1",
    # what may be stripped on the way
    " http://127.0.0.1:PORT/v1",
    "http://127.0.0.1:PORT/v1 ",
    "\thttp://127.0.0.1:PORT/v1",
    "http://127.0.\t0.1:PORT/v1",
    "http://127.0.0.1\n:PORT/v1",
    "ht\ntp://127.0.0.1:PORT/v1",
    "http://127.0.0.1:PORT\r\nHost: example.org/v1",
    "http://\x00127.0.0.1:PORT/v1",
    # schemes and ports
    "//127.0.0.1:PORT/v1",
    "http:127.0.0.1:PORT/v1",
    "http:/127.0.0.1:PORT/v1",
    "http:///127.0.0.1:PORT/v1",
    "http+unix://127.0.0.1:PORT/v1",
    "ftp://127.0.0.1:PORT/v1",
    "file:///etc/passwd",
    "gopher://127.0.0.1:PORT/v1",
    "http://127.0.0.1:0PORT/v1",
    "http://127.0.0.1:+PORT/v1",
    "http://127.0.0.1: PORT/v1",
)

ANSWER = reply(
    b'{"choices": [{"message": {"content": "secret"}, "finish_reason": "stop"}]}',
    headers="Content-Type: application/json",
)


class Answers:
    """A resolver that gives its next answer to each question, and the last one for ever."""

    def __init__(self, *addresses: str) -> None:
        self._left = list(addresses)
        self.asked = 0

    def __call__(self, host: str, port: int, *, type: int) -> Found:
        self.asked += 1
        address = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        found: tuple[Any, ...] = (socket.AF_INET, type, 6, "", (address, port))
        return [found]


Visit = Callable[[str, AddressCheck], bool]
"""Goes to an address as it is told to by a member; whether anything came from there."""


@pytest.fixture
def http() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper/test", connect_timeout_s=2.0)
    yield client
    client.close()


@pytest.fixture(params=["endpoint", "media"])
def visit(request: pytest.FixtureRequest, http: HttpClient) -> Iterator[Visit]:
    runner = ThreadRunner()

    def as_endpoint(url: str, check: AddressCheck) -> bool:
        endpoint = Endpoint(
            id=1, connection_id=None, label="mine", base_url=url, requires_auth=False
        )
        call = ChatCall(model=a_model(), conversation=Conversation.of("Hello"), endpoint=endpoint)
        provider = OpenAICompatibleProvider(http=http, clock=SystemClock(), address_of=check)
        *_, last = provider.stream(call, key=None, stop=ThreadStop(), deadline=NEVER)
        if isinstance(last, StreamFailed):
            assert last.failure.kind in (FailureKind.BAD_REQUEST, FailureKind.NETWORK)
        return isinstance(last, Finished)

    def as_media(url: str, check: AddressCheck) -> bool:
        head = MediaFetcher(http, check, runner).heads((url,), 64)[url]
        assert head in (Fetch.FAILED, Fetch.MOVED) or isinstance(head, bytes)
        return isinstance(head, bytes)

    yield as_endpoint if request.param == "endpoint" else as_media
    runner.close()


@pytest.fixture(scope="module")
def inside() -> Iterator[RawServer]:
    with answering(ANSWER) as server:
        yield server


@pytest.mark.parametrize("form", FORMS)
def test_no_way_to_write_it_leads_inside(form: str, inside: RawServer, visit: Visit) -> None:
    url = form.replace("PORT", str(inside.port))

    assert not visit(url, AddressCheck())
    assert inside.connections == 0


@pytest.mark.parametrize(
    ("allowed", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:PORT/v1"),
        ("127.0.0.1:PORT", "HTTP://127.0.0.1:PORT/v1"),
        ("localhost", "http://localhost:PORT/v1"),
        ("models.home:PORT", "http://Models.Home:PORT/v1"),
    ],
)
def test_a_host_that_the_operator_allows_is_reached(allowed: str, url: str, visit: Visit) -> None:
    with answering(ANSWER) as server:
        allowed, url = (text.replace("PORT", str(server.port)) for text in (allowed, url))
        check = AddressCheck(allowed_hosts=(allowed,), resolve=Answers("127.0.0.1"))

        assert visit(url, check)
        assert server.connections == 1


@pytest.mark.parametrize("second", ["169.254.169.254", "10.0.0.1", "127.0.0.2"])
def test_a_name_that_changes_its_answer_is_connected_to_where_it_was_checked(
    second: str, visit: Visit
) -> None:
    names = Answers("127.0.0.1", second)
    with answering(ANSWER) as server:
        check = AddressCheck(allowed_hosts=("models.home",), resolve=names)

        assert visit(f"http://models.home:{server.port}/v1", check)
        assert (names.asked, server.connections) == (1, 1)


def test_a_public_name_that_leads_inside_is_not_followed(inside: RawServer, visit: Visit) -> None:
    names = Answers("127.0.0.1")

    assert not visit(f"http://rebound.example.org:{inside.port}/v1", AddressCheck(resolve=names))
    assert (names.asked, inside.connections) == (1, 0)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Moved", "308 Moved"])
def test_a_redirect_inside_is_not_followed(status: str, inside: RawServer, visit: Visit) -> None:
    moved = reply(status=status, headers=f"Location: {inside.url}")
    with answering(moved) as server:
        check = AddressCheck(allowed_hosts=(f"127.0.0.1:{server.port}",))

        assert not visit(f"http://127.0.0.1:{server.port}/v1", check)
        assert (server.connections, inside.connections) == (1, 0)
