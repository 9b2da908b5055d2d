"""urllib3's connections, put on the wire of the request that uses them."""

import http.client
import socket
import time
from contextlib import nullcontext
from io import BufferedReader
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from turnkeeper.infrastructure.http_errors import ReplyTooLarge
from turnkeeper.infrastructure.wire import WIRE, Wire

_MOST_HEAD_BYTES = 65_536


class _Head:
    """Lines of a reply's head, up to a limit; what stands before them counts too."""

    def __init__(self, source: BufferedReader) -> None:
        self._source = source
        self._left = _MOST_HEAD_BYTES

    def readline(self, limit: int) -> bytes:
        line = self._source.readline(min(limit, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise ReplyTooLarge(f"the head has more than {_MOST_HEAD_BYTES} bytes")
        return line

    def close(self) -> None:
        self._source.close()


class BoundedReply(http.client.HTTPResponse):
    """A reply whose head does not grow without end, and is taken or refused without a comment."""

    def begin(self) -> None:
        source = self.fp
        self.fp = _Head(source)  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            self.fp = source if self.fp is not None else None  # it closes what is no HTTP
        # What is odd urllib3 would log, with all of an address that may hold a token.
        self.msg.defects.clear()
        self.msg.set_payload("")
        if self.length is None and not self.chunked and "content-length" in self.headers:
            # urllib3 would find out later, and then not close it.
            raise http.client.HTTPException("the length of the body is no number")


class WiredConnection(HTTPConnection):
    """A plain connection. While a request uses it, its socket is held by the request's wire."""

    response_class = BoundedReply
    _wire: Wire | None = None
    _rests_since_s = 0.0

    @property
    def is_connected(self) -> bool:
        """Whether it can be used again: the other side is there and was so not long ago.

        What rested for long may have been dropped on the way without a word.
        """
        rested_s = time.monotonic() - self._rests_since_s
        return rested_s < WIRE.get().idle_limit_s and super().is_connected

    def connect(self) -> None:
        self._wire = wire = WIRE.get()
        super().connect()
        # TLS inside of a proxy's TLS is no socket but has one.
        wire.connected(getattr(self.sock, "socket", self.sock))

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._wire = wire = WIRE.get()
        if self.sock is not None:
            wire.connected(getattr(self.sock, "socket", self.sock))
        self.timeout = wire.read_timeout_s  # else sending a large body had the time to connect
        super().request(*args, **kwargs)

    def rest(self) -> None:
        """Note that nobody uses it from now on."""
        self._wire = None
        self._rests_since_s = time.monotonic()

    def close(self) -> None:
        with nullcontext() if self._wire is None else self._wire.lock:
            super().close()

    def _new_conn(self) -> socket.socket:
        return WIRE.get().open(self._dns_host, self.port, self.socket_options or [])


class WiredTlsConnection(WiredConnection, HTTPSConnection):
    """A TLS connection; its handshake is held by `tls.WiredTlsSocket`."""

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        try:
            self._hand_over()
        except OSError:
            sock.close()
            raise
        return sock

    def _tunnel(self) -> None:
        assert self.sock is not None
        WIRE.get().hold(self.sock)
        super()._tunnel()
        self._hand_over()

    def _hand_over(self) -> None:
        # Python does not close a socket that breaks off just while TLS takes it over.
        wire = WIRE.get()
        wire.let_go()
        wire.check()


class WiredPool(HTTPConnectionPool):
    """The plain connections to one host and port."""

    ConnectionCls = WiredConnection


class WiredTlsPool(HTTPSConnectionPool):
    """The TLS connections to one host and port."""

    ConnectionCls = WiredTlsConnection
