"""urllib3's connections, put on the wire of the request that uses them."""

import socket
import weakref
from collections import deque
from contextlib import nullcontext, suppress
from time import monotonic
from typing import Any, cast

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

    def is_usable(self, idle_limit_s: float) -> bool:
        """Whether it can be used again: the other side is there and was so not long ago.

        What rested for long may have been dropped on the way without a word.
        """
        return monotonic() - self._rests_since_s < idle_limit_s and self.timed.is_silent()

    def connect(self) -> None:
        self._wire = wire = WIRE.get()
        super().connect()
        self.timed = TimedSocket(self.sock)
        self.source = Source(self.timed)
        self.hold(wire)

    def hold(self, wire: Wire) -> None:
        """Put it on the wire of a request."""
        self._wire = wire
        wire.connected(self.timed.plain)
        self.source.limit_each(wire.read_timeout_s)

    def rest(self) -> None:
        """Note that nobody uses it from now on."""
        self._wire = None
        self._rests_since_s = monotonic()

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


class Resting:
    """Connections that nobody uses. Safe to use from several threads.

    Args:
        most: How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._connections: deque[WiredConnection] = deque()
        self._is_closed = False

    def take(self, idle_limit_s: float) -> WiredConnection | None:
        """Return the one that was used last, if it can be used again, and close what cannot.

        Raises:
            ConnectionError: It was closed.
        """
        if self._is_closed:
            raise ConnectionError("the client was closed")
        while self._connections:
            try:
                connection = self._connections.pop()
            except IndexError:  # another thread took the last one
                break
            if connection.is_usable(idle_limit_s):
                return connection
            connection.close()
        return None

    def put(self, connection: WiredConnection) -> None:
        """Keep it for the next; those that are too many are closed."""
        connection.rest()
        self._connections.append(connection)
        if self._is_closed:
            self.close()
        elif len(self._connections) > self._most:
            self._close_oldest()

    def close(self) -> None:
        """Close them, and each that is still to come."""
        self._is_closed = True
        while self._connections:
            self._close_oldest()

    def _close_oldest(self) -> None:
        with suppress(IndexError):
            self._connections.popleft().close()


class WiredPool(HTTPConnectionPool):
    """The plain connections to one host and port.

    urllib3 makes them. Those that rest are not in its queue, whose locks cost as much as all else
    that is done with a connection which is used again.
    """

    ConnectionCls = WiredConnection

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.resting = Resting(kwargs["maxsize"])
        weakref.finalize(self, self.resting.close)

    def take(self, idle_limit_s: float) -> WiredConnection:
        """Return a connection that rested, or else one that is still to be connected.

        Args:
            idle_limit_s: After how long a rest it is not used again.

        Raises:
            ConnectionError: The pool was closed.
        """
        return self.resting.take(idle_limit_s) or cast(WiredConnection, self._new_conn())

    def connect(self, connection: WiredConnection, *, is_tunnelled: bool) -> None:
        """Connect it, through the proxy if need be."""
        if is_tunnelled:
            self._prepare_proxy(connection)
        if connection.is_closed:
            connection.connect()
        self._validate_conn(connection)  # warns of TLS that checks nothing

    def close(self) -> None:
        self.resting.close()
        super().close()


class WiredTlsPool(WiredPool, HTTPSConnectionPool):
    """The TLS connections to one host and port."""

    ConnectionCls = WiredTlsConnection
