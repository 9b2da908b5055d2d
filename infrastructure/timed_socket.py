"""A connected socket, and how long its calls may block."""

import os
import socket
import ssl
import struct
import sys
from functools import partial
from time import monotonic

STALLED = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
"""What a call raises that the system ended: its limit has passed, or a signal came."""

_LONGEST_S = 86_400.0  # sockets know no infinite time
_SHORTEST_S = 0.001  # and 0 would mean not to block at all, or for ever
_HARDLY_LONGER = 1.01
_TICK_S = 0.02  # the system's clock is coarse, and may wake a call so much too early
_UNKNOWN_S = -1.0
_SYSTEM_KEEPS_TIME = sys.platform == "linux" and sys.maxsize > 2**32
_PIECE_BYTES = 131_072  # the system may wait anew for each part of a piece that is taken
_PEEK = int(socket.MSG_PEEK) | int(getattr(socket, "MSG_DONTWAIT", 0))


def possible(timeout_s: float) -> float:
    """Return the limit that a socket can have which is nearest to this."""
    return min(max(timeout_s, _SHORTEST_S), _LONGEST_S)


class TimedSocket:
    """A connected socket, plain or with TLS. Used by one thread at a time.

    A socket that has a timeout of Python's waits by one call of the system and reads by the next,
    and gives way to all other threads for each: with many of them that costs more than the calls.
    So the system keeps the limit, where it is known to.

    Attributes:
        plain: What can be shut down and waited for.
        recv: As a socket's. It raises one of `STALLED` once a limit of `limit_each` has passed,
            and with TLS for any signal as well; `check` tells which. Without TLS, Python lets a
            wait begin anew that a signal broke off.

    Args:
        sock: What is read and written.
        system_keeps_time: Whether the system keeps the limit, or Python.
    """

    def __init__(
        self, sock: socket.socket, *, system_keeps_time: bool = _SYSTEM_KEEPS_TIME
    ) -> None:
        # TLS inside of a proxy's TLS is no socket but has one.
        self.plain: socket.socket = getattr(sock, "socket", sock)
        # A TLS socket's recv does nothing but call read.
        self.recv = sock.read if isinstance(sock, ssl.SSLSocket) else sock.recv
        self.recv_into = sock.recv_into
        self._send = sock.send
        # Not a TLS socket's own: that one cannot look without taking.
        self._peek = partial(socket.socket.recv, self.plain, 1, _PEEK)
        # TLS inside of TLS loses what it was to send if a signal breaks it off.
        self._system_keeps_time = system_keeps_time and self.plain is sock
        self._each_s = _UNKNOWN_S
        self._system_s = _UNKNOWN_S

    def limit_each(self, timeout_s: float) -> None:
        """Let each call block so long, or one hundredth longer where that saves setting it."""
        if not timeout_s <= self._each_s <= timeout_s * _HARDLY_LONGER:
            timeout_s = possible(timeout_s)
            # What is left up to a deadline is never the same twice, in whole seconds it mostly is.
            self._each_s = timeout_s if timeout_s < 100.0 else timeout_s // 1.0 + 1.0
            if self._system_keeps_time:
                self._let_system_keep(self._each_s)
            else:
                self.plain.settimeout(self._each_s)

    def limit_next(self, timeout_s: float) -> None:
        """Let the next call block no longer than this, whatever it takes to make up what it reads.

        The system's own limit would begin anew with each part of a record of TLS.
        """
        self._each_s = _UNKNOWN_S
        self.plain.settimeout(possible(timeout_s))

    def check(self, since_s: float) -> None:
        """Return if less than the limit has passed.

        Args:
            since_s: Monotonic seconds.

        Raises:
            TimeoutError: The limit has passed.
        """
        if monotonic() - since_s > self._each_s - _TICK_S:
            raise TimeoutError("the limit of the socket has passed")

    def send(self, data: bytes) -> None:
        """Send all of it, within the limit of one call.

        Raises:
            OSError: It cannot be sent, or is not taken in time.
        """
        since_s = monotonic()
        rest: bytes | memoryview = data
        while True:
            try:
                sent = self._send(rest[:_PIECE_BYTES])
                if sent == len(rest):
                    return
            except STALLED:
                sent = 0
            self.check(since_s)
            rest = memoryview(rest)[sent:]

    def is_silent(self) -> bool:
        """Whether the other side has neither closed nor sent anything. It does not wait."""
        try:
            if self._each_s == _UNKNOWN_S or not self._system_keeps_time:
                self._each_s = _UNKNOWN_S
                self.plain.settimeout(0.0)
            self._peek()
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _let_system_keep(self, timeout_s: float) -> None:
        # Python is to take it for one that does not block: else it would wait by itself, and its
        # TLS would ask again for ever, whatever the system says.
        self.plain.settimeout(0.0)
        os.set_blocking(self.plain.fileno(), True)
        if timeout_s != self._system_s:
            self._system_s = timeout_s
            limit = struct.pack("ll", int(timeout_s), int(timeout_s % 1 * 1_000_000))
            self.plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self.plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
