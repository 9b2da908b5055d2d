"""The line of one request, which another thread can cut."""

import socket
import time
from contextlib import suppress
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from threading import RLock
from typing import Any

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.name_lookup import Found, NameLookup
from turnkeeper.infrastructure.timed_socket import possible

_Options = list[tuple[int, int, int | bytes]]
_NOTHING: Found = ()  # what wakes who waits for a name


@frozen
class WireTerms:
    """What all requests of a client have in common.

    Attributes:
        connect_timeout_s: The longest wait for a connection with its TLS.
        idle_limit_s: After how long a rest a connection is not used again.
        names: How names are looked up.
    """

    connect_timeout_s: float
    idle_limit_s: float
    names: NameLookup = NameLookup()


class Wire:
    """What one request holds of the network, from its first look-up to its last byte.

    Its lock guards the socket that it holds: shutting down excludes closing and letting go, as a
    closed descriptor may belong to somebody else a moment later.

    Args:
        terms: Those of its client.
        read_timeout_s: The longest wait for a next byte.

    Attributes:
        is_cut: The request was cancelled; whatever fails from now on fails for that.
        is_connected: The connection stands, TLS and all.
    """

    is_connected = False
    _socket: socket.socket | None = None
    _answers: SimpleQueue[Found | Exception] | None = None

    def __init__(self, terms: WireTerms, read_timeout_s: float) -> None:
        self.terms = terms
        self.read_timeout_s = read_timeout_s
        self.is_cut = False
        self.lock = RLock()  # one that a signal handler may take again

    def cut(self) -> None:
        """End a look-up and whatever call on the socket blocks, and let none begin."""
        with self.lock:
            self.is_cut = True
            answers = self._answers
            if answers is not None:
                answers.put(_NOTHING)
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
        # In this order, so that a cut at any time either finds the socket or is seen here.
        self._socket = sock
        if self.is_cut:
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

        Looking up its name and all of the addresses share the time.

        Raises:
            OSError: The name is not found, or no address answers in time.
        """
        until_s = time.monotonic() + possible(self.terms.connect_timeout_s)
        found = self._addresses(host.strip("[]"), port, until_s)
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

    def _addresses(self, host: str, port: int, until_s: float) -> Found:
        answers = self._answers = SimpleQueue()
        self.check()  # only now, as in `hold`
        self.terms.names.ask(host, port, answers.put)
        try:
            answer = answers.get(timeout=max(0.0, until_s - time.monotonic()))
        except Empty:
            raise TimeoutError("the name was not found in time") from None
        finally:
            self._answers = None
        self.check()
        if isinstance(answer, Exception):
            raise answer
        return answer

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
