"""One request sent, and the head of its reply read.

urllib3 finds and makes the connections, through proxies and with TLS. What goes over them
is written here in one piece, as urllib3 and the standard library take half of a short turn's time
for it, most of it for checks of headers that were checked already.
"""

import errno

from turnkeeper.infrastructure.http_adapter import Route
from turnkeeper.infrastructure.http_head import Head, head_from
from turnkeeper.infrastructure.timed_socket import TimedSocket
from turnkeeper.infrastructure.wire import WIRE, Wire
from turnkeeper.infrastructure.wired_connections import WiredConnection

_SMALL_BODY_BYTES = 65_536
# The other side may have replied, and then closed without reading all.
_MAY_HAVE_REPLIED = frozenset({errno.EPIPE, errno.ECONNRESET})


def exchanged(
    verb: str, route: Route, head: bytes, body: bytes, wire: Wire
) -> tuple[WiredConnection, Head]:
    """Send a request, and return the head of its reply and the connection that the rest comes on.

    Args:
        verb: As in its first line.
        route: Where it goes.
        head: Up to and with the blank line.
        body: What follows.
        wire: What the connection is held by meanwhile.

    Raises:
        OSError: It cannot be sent, or nothing came.
        HTTPException: What came is no reply.
        urllib3.exceptions.HTTPError: There is no connection.
    """
    if wire.is_cut:
        wire.check()
    connection = route.pool.take(wire.terms.idle_limit_s)
    try:
        if connection.is_closed:
            _connect(connection, route, wire)
        else:
            connection.hold(wire)
        _send(connection.timed, head, body)
        reply = head_from(connection.source, verb)
    except BaseException:
        connection.close()
        raise
    return connection, reply


def _connect(connection: WiredConnection, route: Route, wire: Wire) -> None:
    token = WIRE.set(wire)
    try:
        route.pool.connect(connection, is_tunnelled=route.is_tunnelled)
    finally:
        WIRE.reset(token)


def _send(sock: TimedSocket, head: bytes, body: bytes) -> None:
    try:
        if len(body) <= _SMALL_BODY_BYTES:
            sock.send(head + body)
        else:
            sock.send(head)
            sock.send(body)
    except OSError as error:
        if error.errno not in _MAY_HAVE_REPLIED:
            raise
