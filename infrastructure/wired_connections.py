"""urllib3's connections, put on the wire of the request that uses them."""

import socket
import time
from contextlib import nullcontext

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from turnkeeper.infrastructure.http_source import Source
from turnkeeper.infrastructure.timed_socket import TimedSocket
from turnkeeper.infrastructure.wire import WIRE, Wire


class WiredConnection(HTTPConnection):
    """A plain connection. While a request uses it, its socket is held by the request's wire.

    Attributes:
        timed: Its socket, once it is connected.
        source: What comes from it.
    """

    timed: TimedSocket
    source: Source
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
        self._wire = WIRE.get()
        super().connect()
        self.timed = TimedSocket(self.sock)
        self.source = Source(self.timed)
        self.hold()

    def hold(self) -> None:
        """Put it on the wire of a further request."""
        self._wire = wire = WIRE.get()
        wire.connected(self.timed.plain)
        self.source.limit_each(wire.read_timeout_s)

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
