"""One request sent, and the head of its reply read.

urllib3 finds, makes and keeps the connections, through proxies and with TLS. What goes over them
is written here in one piece, as urllib3 and the standard library take half of a short turn's time
for it, most of it for checks of headers that were checked already.
"""

import errno
from dataclasses import field

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.http_head import Head, head_from
from turnkeeper.infrastructure.wire import WIRE, Wire
from turnkeeper.infrastructure.wired_connections import WiredConnection, WiredPool

_SMALL_BODY_BYTES = 65_536
# The other side may have replied, and then closed without reading all.
_MAY_HAVE_REPLIED = frozenset({errno.EPIPE, errno.ECONNRESET})


@frozen
class RoutedRequest:
    """What is sent, and on which connections.

    Attributes:
        verb: As in its first line.
        head: Up to and with the blank line.
        body: What follows.
        pool: The connections that lead there.
        is_tunnelled: Whether a proxy has to be asked for a way through it first.
    """

    verb: str
    head: bytes = field(repr=False)  # it holds the key
    body: bytes = field(repr=False)
    pool: WiredPool
    is_tunnelled: bool


class Exchange:
    """A reply whose head is there. Used by one thread.

    Attributes:
        head: The head.
        source: Its body, as it was sent.
    """

    def __init__(self, head: Head, pool: WiredPool, connection: WiredConnection) -> None:
        self.head = head
        self.source = connection.source
        self._pool = pool
        self._connection = connection

    def release(self, *, is_complete: bool) -> bool:
        """Give the connection back, and say whether it can be used again.

        Args:
            is_complete: Whether the body was read to its end.
        """
        is_kept = is_complete and not self.head.is_last and self.source.is_empty
        if is_kept:
            self._pool.resting.put(self._connection)
        else:
            self._connection.close()
        return is_kept


def exchanged(request: RoutedRequest, wire: Wire) -> Exchange:
    """Send the request and return its reply once its head is there.

    Raises:
        OSError: It cannot be sent, or nothing came.
        HTTPException: What came is no reply.
        urllib3.exceptions.HTTPError: There is no connection.
    """
    wire.check()
    connection = request.pool.take(wire.idle_limit_s)
    try:
        if connection.is_closed:
            _connect(connection, request, wire)
        else:
            connection.hold(wire)
        _send(connection, request)
        head = head_from(connection.source, request.verb)
    except BaseException:
        connection.close()
        raise
    return Exchange(head, request.pool, connection)


def _connect(connection: WiredConnection, request: RoutedRequest, wire: Wire) -> None:
    token = WIRE.set(wire)
    try:
        request.pool.connect(connection, is_tunnelled=request.is_tunnelled)
    finally:
        WIRE.reset(token)


def _send(connection: WiredConnection, request: RoutedRequest) -> None:
    try:
        if len(request.body) <= _SMALL_BODY_BYTES:
            connection.timed.send(request.head + request.body)
        else:
            connection.timed.send(request.head)
            connection.timed.send(request.body)
    except OSError as error:
        if error.errno not in _MAY_HAVE_REPLIED:
            raise
