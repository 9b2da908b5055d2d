"""The check of addresses that people name, with its table of forms, and over real sockets."""

import socket
from collections.abc import Iterator
from ipaddress import ip_address
from threading import Event
from typing import Any

import pytest
from builders import a_model, an_endpoint
from hypothesis import given
from hypothesis import strategies as st
from raw_server import WAIT_S, answering, reply
from urllib3.util import parse_url

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.stream import StreamFailed
from turnkeeper.infrastructure.address_check import AddressCheck, Found
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpErrorKind, HttpRequest
from turnkeeper.infrastructure.providers.openai_compatible import OpenAICompatibleProvider
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop
from turnkeeper.infrastructure.url_place import place_of

CANARY = "k4n4r13nv0g3l"
PUBLIC = "93.184.215.14"
PUBLIC_6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"


class Names:
    """A resolver that knows some names, and notes what it is asked."""

    def __init__(self, **answers: list[str]) -> None:
        self._answers = {name.replace("__", "."): list(found) for name, found in answers.items()}
        self.asked: list[tuple[str, int]] = []

    def __call__(self, host: str, port: int, *, type: int) -> Found:
        self.asked.append((host, port))
        if host not in self._answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [_found(address, port, type) for address in self._answers[host]]


class ChangingNames(Names):
    """One that gives its next answer to each question."""

    def __call__(self, host: str, port: int, *, type: int) -> Found:
        found = super().__call__(host, port, type=type)
        self._answers[host].append(self._answers[host].pop(0))
        return found[:1]


def _found(address: str, port: int, kind: int) -> tuple[Any, ...]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return (family, kind, socket.IPPROTO_TCP, "", (address, port))


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper/test")
    yield client
    client.close()


def error_of(check: AddressCheck, url: str) -> HttpError:
    with pytest.raises(HttpError) as caught:
        check(url)
    return caught.value


# ── the table ───────────────────────────────────────────────────────────────────────────────

REFUSED = [
    # the insides of networks
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/v1",
    "http://127.255.255.254/",
    "http://0.0.0.0/",
    "http://10.1.2.3/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://100.64.0.1/",
    "http://169.254.1.1/",
    "http://198.18.0.1/",
    "http://192.0.2.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    # the clouds' own
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/v2/credentials",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    "http://168.63.129.16/",
    "http://[fd00:ec2::254]/",
    "http://metadata.google.internal/computeMetadata/v1/",
    # IPv6, and IPv4 inside of it
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]:80/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[fc00::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::FFFF:169.254.169.254]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2001:0:0:0:0:0:80ff:fffe]/",
    "http://[::ffff:0177.0.0.1]/",
    "http://[v1.127.0.0.1]/",
    "http://::1/",
    "http://[::1/",
    # numbers that only some programs take for an address
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://127.0.0.01/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0X7F000001/",
    "http://017700000001/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0x7f.1/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://127.0.0.0x1/",
    "http://0/",
    "http://1.1.1.1.1/",
    "http://256.1.1.1/",
    "http://4294967297/",
    "http://1.1.1/",
    "http://0x/",
    # other scripts, other writings
    "http://１２７．０．０．１/",
    "http://127。0。0。1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://١٢٧.٠.٠.١/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http://locаlhost/",
    "http://bücher.example.org/",
    "http://127.0.0.1\u200b/",
    "http://exam\u00adple.org/",
    "http://127%2e0%2e0%2e1/",
    "http://%31%32%37.0.0.1/",
    "http://localhost%00.example.org/",
    "http://example.org%2f@127.0.0.1/",
    # dots and labels
    "http://127.0.0.1./",
    "http://localhost./",
    "http://example.org./",
    "http://.example.org/",
    "http://example..org/",
    "http://-example.org/",
    "http://*.example.org/",
    f"http://{'a' * 64}.example.org/",
    # names of some inside
    "http://localhost/",
    "http://LOCALHOST:11434/v1",
    "http://anything.localhost/",
    "http://printer.local/",
    "http://router.home.arpa/",
    "http://database/",
    # names and passwords
    f"http://{CANARY}@example.org/",
    f"http://user:{CANARY}@example.org/",
    f"http://example.org:{CANARY}@127.0.0.1/",
    "http://@example.org/",
    "http://:@example.org/",
    "http://example.org&@127.0.0.1/",
    "http://127.0.0.1#@example.org/",
    "http://127.0.0.1?@example.org/",
    # ports
    "http://example.org:/",
    "http://example.org:0/",
    "http://example.org:080/",
    "http://example.org:-1/",
    "http://example.org:+80/",
    "http://example.org:8_0/",
    "http://example.org:65536/",
    "http://example.org:999999999999/",
    "http://example.org:80:80/",
    "http://example.org:８０/",
    "http://example.org:http/",
    "http://example.org: 80/",
    # white space, backslashes, control characters
    " http://example.org/",
    "http://exa mple.org/",
    "http://exam\tple.org/",
    "http://example.org\r\nHost: 127.0.0.1/",
    "http://127.0.0.1\\@example.org/",
    "http:\\\\127.0.0.1\\",
    "http://example.org\\.127.0.0.1/",
    "http://example.org\x7f/",
    "http://example.org/\x00",
    # other schemes, no scheme, no host
    "file:///etc/passwd",
    "ftp://example.org/",
    "gopher://example.org/",
    "ws://example.org/",
    "unix:///var/run/docker.sock",
    "data:text/plain,hello",
    "jar:http://example.org!/",
    "//example.org/",
    "example.org",
    "http:example.org",
    "http:/example.org",
    "http:///example.org",
    "http://",
    "http://?",
    "",
]


@pytest.mark.parametrize("url", REFUSED)
def test_an_address_that_is_not_plainly_public_is_refused_and_nothing_looked_up(url: str) -> None:
    names = Names()

    error = error_of(AddressCheck(resolve=names), url)

    assert (error.kind, names.asked) == (HttpErrorKind.BAD_REQUEST_VALUE, [])
    assert CANARY not in str(error)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://1.1.1.1/", "1.1.1.1"),
        ("https://8.8.8.8:8443/v1", "8.8.8.8"),
        ("https://[2606:4700:4700::1111]/v1", "2606:4700:4700::1111"),
        ("https://[2606:4700:4700:0:0:0:0:1111]:8443", "2606:4700:4700::1111"),
        ("https://[64:ff9b::808:808]/", "64:ff9b::808:808"),
    ],
)
def test_a_public_ip_address_needs_no_look_up(url: str, address: str) -> None:
    names = Names()

    assert (AddressCheck(resolve=names)(url), names.asked) == (address, [])


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://example.org", ("example.org", 80)),
        ("https://example.org/v1?a=b#c", ("example.org", 443)),
        ("HTTPS://Example.ORG:8443/v1", ("example.org", 8443)),
        ("https://xn--bcher-kva.example.org/", ("xn--bcher-kva.example.org", 443)),
        ("https://my_models.example.org/", ("my_models.example.org", 443)),
        ("https://1.2.3.4.example.org/", ("1.2.3.4.example.org", 443)),
    ],
)
def test_a_public_name_is_looked_up_once(url: str, asked: tuple[str, int]) -> None:
    names = Names(**{asked[0].replace(".", "__"): [PUBLIC]})

    assert (AddressCheck(resolve=names)(url), names.asked) == (PUBLIC, [asked])


SIGNS = ["http://", "https://", "//", "@", ":", "/", "?", "#", "[", "]", "%", "\\", ".", "-", "\t"]
WORDS = ["127", "0", "1", "017", "80", "65535", "0x", "１", "a", "_", "example.org", "localhost"]
PIECES = st.sampled_from(SIGNS) | st.sampled_from(WORDS)


@given(st.lists(PIECES, min_size=1, max_size=9).map("".join))
def test_an_address_that_can_be_read_is_read_alike_by_the_client(rest: str) -> None:
    url = f"http://{rest}"
    try:
        place = place_of(url)
    except HttpError:
        return
    theirs = parse_url(url)

    assert (theirs.port or 80) == place.port
    if place.ip is not None:
        assert ip_address((theirs.host or "").strip("[]")) == place.ip
    else:
        assert theirs.host == place.host
        with pytest.raises(OSError, match="illegal IP address string"):
            socket.inet_aton(place.host)


# ── names ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "inside",
    ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fe80::1%eth0"],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_address_inside_of_a_network_spoils_a_name(inside: str, place: int) -> None:
    addresses = [PUBLIC, PUBLIC_6]
    addresses.insert(place, inside)

    error = error_of(AddressCheck(resolve=Names(example__org=addresses)), "https://example.org/")

    assert error.kind is HttpErrorKind.BAD_REQUEST_VALUE
    assert inside not in str(error)


def test_the_first_of_several_public_addresses_is_taken() -> None:
    check = AddressCheck(resolve=Names(example__org=[PUBLIC_6, PUBLIC]))

    assert check("https://example.org/") == PUBLIC_6


def test_a_refusal_says_the_kind_and_the_way_out() -> None:
    error = error_of(AddressCheck(resolve=Names(example__org=["10.0.0.7"])), "https://example.org/")

    assert str(error) == (
        "example.org is at a private address;"
        " give a public address, or let the operator allow this host"
    )


def test_a_password_in_an_address_is_named_as_the_reason() -> None:
    error = error_of(AddressCheck(), f"https://user:{CANARY}@example.org/")

    assert str(error) == "an address holds a user name or password: leave it out"


@pytest.mark.parametrize("names", [Names(), Names(example__org=[])])
def test_a_name_without_an_address_does_not_resolve(names: Names) -> None:
    error = error_of(AddressCheck(resolve=names), "https://example.org/")

    assert error.kind is HttpErrorKind.DNS
    assert (error.__cause__, error.__context__) == (None, None)


def test_a_look_up_beside_the_caller_finds_the_same() -> None:
    runner = ThreadRunner()
    names = Names(example__org=[PUBLIC])
    check = AddressCheck(resolve=names, runner=runner)

    assert check("https://example.org/") == PUBLIC
    assert error_of(check, "https://example.net/").kind is HttpErrorKind.DNS
    runner.close()


def test_a_look_up_that_hangs_is_not_waited_for() -> None:
    runner, answered = ThreadRunner(), Event()

    def hangs(host: str, port: int, *, type: int) -> Found:
        answered.wait(WAIT_S)
        return [_found(PUBLIC, port, type)]

    error = error_of(
        AddressCheck(resolve=hangs, runner=runner, lookup_limit_s=0.01), "https://example.org/"
    )
    answered.set()
    runner.close()

    assert (error.kind, str(error)) == (
        HttpErrorKind.DNS,
        "looking up example.org took more than 0.01 s",
    )


# ── the operator's hosts ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("allowed", "url", "address"),
    [
        ("ollama", "http://ollama:11434/v1", "10.0.0.5"),
        ("ollama:11434", "http://ollama:11434/v1", "10.0.0.5"),
        ("Ollama", "http://OLLAMA/v1", "10.0.0.5"),
        ("ollama:80", "http://ollama/v1", "10.0.0.5"),
        ("ollama:443", "https://ollama/v1", "10.0.0.5"),
        ("127.0.0.1", "http://127.0.0.1:8080/v1", "127.0.0.1"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/v1", "127.0.0.1"),
        ("::1", "http://[::1]:8080/v1", "::1"),
        ("[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080/v1", "::1"),
        ("fd00::7", "http://[fd00::7]/", "fd00::7"),
        ("169.254.1.1", "http://169.254.1.1/", "169.254.1.1"),
    ],
)
def test_an_allowed_host_may_be_anywhere(allowed: str, url: str, address: str) -> None:
    check = AddressCheck(allowed_hosts=(allowed,), resolve=Names(ollama=["10.0.0.5"]))

    assert check(url) == address


@pytest.mark.parametrize(
    ("allowed", "url"),
    [
        ("ollama:11434", "http://ollama:8080/"),
        ("ollama:11434", "http://ollama/"),
        ("ollama", "http://my.ollama/"),
        ("ollama", "http://ollama.example.org/"),
        ("127.0.0.1", "http://127.0.0.2/"),
        ("127.0.0.1", "http://127.1/"),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/"),
        ("localhost", "http://127.0.0.1/"),
        ("localhost", f"http://user:{CANARY}@localhost/"),
        ("localhost", "http://localhost./"),
        ("localhost", "ftp://localhost/"),
    ],
)
def test_an_allowed_host_is_that_host_and_no_other(allowed: str, url: str) -> None:
    inside = ["127.0.0.1"]
    names = Names(ollama=inside, localhost=inside, my__ollama=inside, ollama__example__org=inside)

    error = error_of(AddressCheck(allowed_hosts=(allowed,), resolve=names), url)

    assert error.kind is HttpErrorKind.BAD_REQUEST_VALUE


def test_an_allowed_host_of_this_machine_is_asked_at_its_ipv4_address() -> None:
    names = Names(localhost=["::1", "127.0.0.1"])

    assert AddressCheck(allowed_hosts=("localhost",), resolve=names)("http://localhost/") == (
        "127.0.0.1"
    )


@pytest.mark.parametrize(
    "host", ["", "http://ollama", "ollama/v1", "*.example.org", "10.0.0.0/8", "ollama:", "a b"]
)
def test_an_allowed_host_that_is_none_is_said_at_once(host: str) -> None:
    with pytest.raises(SettingsError, match=r"is neither a host nor host:port; write it"):
        AddressCheck(allowed_hosts=(host,))


# ── on the wire ─────────────────────────────────────────────────────────────────────────────


def test_the_address_that_was_checked_is_the_one_connected_to(client: HttpClient) -> None:
    names = ChangingNames(api__example__org=["127.0.0.1", "127.0.0.2"])

    with answering(reply(b"hello")) as server:
        check = AddressCheck(allowed_hosts=("api.example.org",), resolve=names)
        url = f"http://api.example.org:{server.port}/v1"
        request = HttpRequest(url=url, address=check(url))
        with client.post_stream(request, stop=ThreadStop(), read_timeout_s=WAIT_S) as stream:
            body = stream.whole_body(100, WAIT_S)

    assert (body, names.asked) == (b"hello", [("api.example.org", server.port)])
    assert server.received[0].headers["Host"] == f"api.example.org:{server.port}"


def test_a_redirect_to_a_private_address_is_not_followed(client: HttpClient) -> None:
    with answering(reply(b"secret")) as inside:
        moved = reply(status="307 Temporary Redirect", headers=f"Location: {inside.url}")
        with answering(moved) as server:
            check = AddressCheck(
                allowed_hosts=("api.example.org",), resolve=Names(api__example__org=["127.0.0.1"])
            )
            url = f"http://api.example.org:{server.port}/v1"
            request = HttpRequest(url=url, address=check(url))
            with client.post_stream(request, stop=ThreadStop(), read_timeout_s=WAIT_S) as stream:
                status = stream.status

    assert (status, inside.connections) == (307, 0)


def test_an_endpoint_inside_of_the_network_is_never_connected_to(client: HttpClient) -> None:
    with answering(reply(b"secret")) as inside:
        endpoint = untrusted(f"http://127.0.0.1:{inside.port}/v1")
        provider = OpenAICompatibleProvider(
            http=client, clock=SystemClock(), address_of=AddressCheck()
        )
        call = ChatCall(model=a_model(), conversation=Conversation(), endpoint=endpoint)
        (event,) = provider.stream(call, key=None, stop=ThreadStop(), deadline=NEVER)

    assert isinstance(event, StreamFailed)
    assert (event.failure.kind, inside.connections) == (FailureKind.BAD_REQUEST, 0)


def untrusted(base_url: str) -> Endpoint:
    made = an_endpoint(base_url=base_url, requires_auth=False)
    return Endpoint(
        id=made.id, connection_id=None, label=made.label, base_url=base_url, trusted=False
    )
