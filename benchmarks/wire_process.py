"""A server in a process of its own that shows how a client treats connections and bodies.

``python -m benchmarks.wire_process FOLDER`` writes a certificate into the folder, prints the ports
of HTTP and of HTTPS, and ends with its standard input. What it is asked for:

* ``/short``: a small reply, after which the connection closes.
* ``/chunked`` and ``/unchunked``: events that say when they were sent, `GAP_S` apart.
* ``/large/MIB``: one event of so many MiB, in chunks of 128 bytes.
"""

import datetime
import ipaddress
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import certifi
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

EVENTS, GAP_S = 50, 0.01
PIECE = 128
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where it is, and the certificates to trust: all that is usual, and its own."""

    http: str
    https: str
    certificates: Path


@contextmanager
def wire_served(folder: Path) -> Iterator[Served]:
    """The server, for the time of a block."""
    command = [sys.executable, "-m", "benchmarks.wire_process", str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            http, https = process.stdout.readline().split()
            trusted = folder / "trusted.pem"
            trusted.write_text(Path(certifi.where()).read_text() + _certificate(folder).read_text())
            yield Served(
                http=f"http://127.0.0.1:{http}",
                https=f"https://127.0.0.1:{https}",
                certificates=trusted,
            )
        finally:
            process.communicate("")


def _certificate(folder: Path) -> Path:
    return folder / "certificate.pem"


def make_certificate(folder: Path) -> ssl.SSLContext:
    """Write a certificate for this machine, and return what shows it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "turnkeeper benchmarks")])
    local = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    today, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - day)
        .not_valid_after(today + day)
        .add_extension(x509.SubjectAlternativeName([local]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    _certificate(folder).write_bytes(certificate.public_bytes(encoding))
    private = folder / "key.pem"
    private.write_bytes(
        key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(folder), private)
    return context


def _serve(listener: socket.socket, context: ssl.SSLContext | None) -> None:
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_talk, args=(connection, context), daemon=True).start()


def _talk(plain: socket.socket, context: ssl.SSLContext | None) -> None:
    with suppress(OSError):
        connection = plain if context is None else context.wrap_socket(plain, server_side=True)
        with connection, connection.makefile("rb") as source:
            while line := source.readline():
                length = 0
                while (header := source.readline().lower().strip()) != b"":
                    if header.startswith(b"content-length:"):
                        length = int(header.partition(b":")[2])
                source.read(length)
                if not _answered(connection, line.split()[1].decode()):
                    return


def _answered(connection: socket.socket, path: str) -> bool:
    """Answer, and say whether the connection goes on."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    match path.strip("/").split("/"):
        case ["short"]:
            connection.sendall(head + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}")
            return False
        case ["unchunked"]:
            connection.sendall(head + b"Connection: close\r\n\r\n")
            for event in _events():
                connection.sendall(event)
            return False
        case ["chunked"]:
            connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
            for event in _events():
                connection.sendall(_chunk(event))
            connection.sendall(_chunk(b""))
        case ["large", mib]:
            connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
            event = b"data: " + b"x" * (int(mib) * MIB) + b"\n\n"
            pieces = (event[at : at + PIECE] for at in range(0, len(event), PIECE))
            connection.sendall(b"".join(_chunk(piece) for piece in pieces) + _chunk(b""))
    return True


def _events() -> Iterator[bytes]:
    for _ in range(EVENTS):
        yield b"data: %d\n\n" % time.monotonic_ns()
        time.sleep(GAP_S)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def main() -> None:
    ports = []
    for context in (None, make_certificate(Path(sys.argv[1]))):
        listener = socket.create_server(("127.0.0.1", 0))
        ports.append(listener.getsockname()[1])
        threading.Thread(target=_serve, args=(listener, context), daemon=True).start()
    print(*ports, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
