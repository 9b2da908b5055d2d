"""A server that sends and keeps back exactly the bytes that a test says."""

import ipaddress
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BufferedReader
from pathlib import Path
from threading import Event, Thread

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

WAIT_S = 10.0  # only ever waited out by a test that fails
NAMES = ("localhost", "api.test")  # and 127.0.0.1: those that the certificate is for
NEVER_OPEN = "127.0.0.1:1"

Talk = Callable[["Peer"], None]


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Peer:
    """The server's side of one connection."""

    connection: socket.socket
    source: BufferedReader

    def receive(self) -> Received | None:
        """Read the next request; None if the other side has closed."""
        line = self.source.readline().decode("latin-1").rstrip("\r\n")
        if not line:
            return None
        headers = {}
        while header := self.source.readline().decode("latin-1").rstrip("\r\n"):
            name, _, value = header.partition(": ")
            assert name not in headers
            headers[name] = value
        return Received(line, headers, self.source.read(int(headers.get("Content-Length", "0"))))

    def send(self, *parts: bytes) -> None:
        self.connection.sendall(b"".join(parts))

    def wait_for_close(self) -> None:
        """Return once the other side has closed; what it still sends is dropped."""
        with suppress(OSError):
            while self.source.read1(65_536):
                pass

    def reset(self) -> None:
        """Break the connection off, so that the other side sees a reset and no end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.source.close()
        self.connection.close()

    def start_tls(self, context: ssl.SSLContext) -> None:
        self.source.detach().close()
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.source = self.connection.makefile("rb")


@dataclass
class RawServer:
    """Lets `talk` speak with each connection, in a thread of its own.

    Attributes:
        received: All requests that were received by `answers`.
        connections: How many were accepted.
    """

    talk: Talk
    context: ssl.SSLContext | None = None
    received: list[Received] = field(default_factory=list)
    connections: int = 0

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"{'http' if self.context is None else 'https'}://{self.host}/v1/chat"
        self._sockets: list[socket.socket] = [self._listener]
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        for sock in list(self._sockets):
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(WAIT_S)
            assert not thread.is_alive(), "the test's server hangs"
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections += 1
                # A second descriptor, as TLS takes the first one away.
                self._sockets.append(connection.dup())
                thread = Thread(target=self._serve, args=(connection, self._sockets[-1]))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket, lever: socket.socket) -> None:
        peer = Peer(connection, connection.makefile("rb"))
        try:
            with suppress(OSError):
                if self.context is not None:
                    peer.start_tls(self.context)
                self.talk(peer)
        finally:
            with suppress(OSError, ValueError):  # it broke off between plain and TLS
                peer.source.close()
            peer.connection.close()
            connection.close()
            self._sockets.remove(lever)
            lever.close()


@contextmanager
def serving(talk: Talk, context: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    """A server for the time of a block."""
    server = RawServer(talk, context)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def answering(*replies: bytes, context: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    """A server whose connections give these replies, one a request and over and over.

    A reply that ends with its connection is to be the only one.
    """

    def talk(peer: Peer) -> None:
        while request := peer.receive():
            reply = replies[len(server.received) % len(replies)]
            server.received.append(request)
            peer.send(reply)
            if b"Content-Length" not in reply and b"chunked" not in reply:
                return

    server = RawServer(talk, context)
    try:
        yield server
    finally:
        server.close()


def reply(body: bytes = b"", *, status: str = "200 OK", headers: str = "") -> bytes:
    """A reply with a length."""
    return head(f"Content-Length: {len(body)}", *headers.splitlines(), status=status) + body


def head(*headers: str, status: str = "200 OK") -> bytes:
    """The head of a reply."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1")


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; empty is the last one."""
    return b"%x\r\n%b\r\n" % (len(data), data)


@dataclass(frozen=True)
class Certificate:
    """A certificate that trusts itself, for `NAMES` and 127.0.0.1.

    Attributes:
        path: What a client is told to trust.
        context: What a server shows.
    """

    path: str
    context: ssl.SSLContext


def make_certificate(folder: Path) -> Certificate:
    """Make a new one, and write it into the folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "turnkeeper tests")])
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in NAMES]
    names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return Certificate(str(path), context)


@contextmanager
def full_backlog() -> Iterator[str]:
    """Host and port where connecting blocks, as nobody accepts and the queue is full."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    waiting: list[socket.socket] = []
    try:
        while len(waiting) < 10:
            sock = socket.socket()
            waiting.append(sock)
            sock.settimeout(0.05)
            sock.connect(listener.getsockname())
    except TimeoutError:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for sock in [*waiting, listener]:
            sock.close()


@dataclass
class Gate:
    """Where test and server wait for each other."""

    event: Event = field(default_factory=Event)

    def open(self) -> None:
        self.event.set()

    def wait(self) -> None:
        assert self.event.wait(WAIT_S), "the test never let the server go on"

    def is_open(self) -> bool:
        """Whether it is opened in time."""
        return self.event.wait(WAIT_S)
