"""The line of one request, which another thread can cut."""

import socket
import time
from contextlib import suppress
from contextvars import ContextVar
from threading import RLock
from typing import Any

from turnkeeper.infrastructure.timed_socket import possible

_Options = list[tuple[int, int, int | bytes]]


class Wire:
    """What one request holds of the network, from its first look-up to its last byte.

    Its lock guards the socket that it holds: shutting down and closing exclude each other, as a
    closed descriptor may belong to somebody else a moment later.

    Attributes:
        is_cut: The request was cancelled; whatever fails from now on fails for that.
        is_connected: The connection stands, TLS and all.
    """

    def __init__(
        self, *, connect_timeout_s: float, read_timeout_s: float, idle_limit_s: float
    ) -> None:
        self.connect_timeout_s = connect_timeout_s
        self.read_timeout_s = read_timeout_s
        self.idle_limit_s = idle_limit_s
        self.is_cut = False
        self.is_connected = False
        self.lock = RLock()  # one that a signal handler may take again
        self._socket: socket.socket | None = None

    def cut(self) -> None:
        """End whatever call on the socket blocks, and let none begin."""
        with self.lock:
            self.is_cut = True
            if self._socket is not None:
                with suppress(OSError):
                    # Not a TLS socket's own shutdown: it takes the state from under a read.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def check(self) -> None:
        """Raise ConnectionAbortedError if the request was cancelled."""
        if self.is_cut:
            raise ConnectionAbortedError("the request was cancelled")

    def hold(self, sock: socket.socket) -> None:
        """Make this the socket that `cut` shuts down.

        Raises:
            ConnectionAbortedError: It was cut already.
        """
        with self.lock:
            self._socket = sock
            self.check()

    def connected(self, sock: socket.socket) -> None:
        """Hold the socket and go over from connecting to waiting for the reply."""
        self.hold(sock)
        self.is_connected = True

    def let_go(self) -> None:
        """Hold nothing: from now on `cut` touches no socket."""
        with self.lock:
            self._socket = None

    def open(self, host: str, port: int, options: _Options) -> socket.socket:
        """Return a socket that is connected to the first of the host's addresses that answers.

        Looking up a name cannot be cut. Connecting can; the addresses share the time.
        """
        until_s = time.monotonic() + possible(self.connect_timeout_s)
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        error = OSError("the name has no address")
        for number, (family, kind, protocol, _, address) in enumerate(found):
            share_s = (until_s - time.monotonic()) / (len(found) - number)
            try:
                sock = socket.socket(family, kind, protocol)
                self._connect(sock, address, options, possible(share_s))
            except OSError as failed:
                self.check()
                error = failed
            else:
                sock.settimeout(possible(until_s - time.monotonic()))  # what is left for TLS
                return sock
        raise error

    def _connect(
        self, sock: socket.socket, address: Any, options: _Options, timeout_s: float
    ) -> None:
        try:
            for option in options:
                sock.setsockopt(*option)
            sock.settimeout(timeout_s)
            self.hold(sock)
            sock.connect(address)
        except BaseException:
            self.let_go()
            sock.close()
            raise


WIRE: ContextVar[Wire] = ContextVar("wire")  # of the request that this thread is sending
