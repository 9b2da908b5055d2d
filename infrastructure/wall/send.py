"""The wall's side of one connection: writes, watched silences, closes and resets."""

import os
import socket
import struct
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from turnkeeper.infrastructure.wall.acts import Act, Leave, Pause, Send
from turnkeeper.infrastructure.wall.seen import Sent

# To linger for no time is to answer the close with a reset; Windows has the pair in shorts.
RESET_ON_CLOSE = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
DRAIN_S = 2.0


class Gone(Exception):
    """The client or the wall has left in the middle of an answer."""


class Line:
    """One accepted socket, used by its connection's thread alone.

    Args:
        scale: How long a second of a silence lasts.

    Attributes:
        client_gone: Set once the client is seen to have closed; half a close counts.
    """

    def __init__(
        self, accepted: socket.socket, closing: threading.Event, scale: float = 1.0
    ) -> None:
        self._socket = accepted
        self._closing = closing
        self._scale = scale
        self.client_gone = threading.Event()

    def hurry(self) -> None:
        """Let each write leave at once; a socket that is reset already needs none of it."""
        with suppress(OSError):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def perform(self, acts: Iterable[Act], sent: Sent) -> bool:
        """Do the acts in order; tell whether the connection may carry another request.

        Raises:
            Gone: The client or the wall left first.
        """
        # Silences add up from one instant, so that a late wake-up does not delay the rest.
        due_s = time.monotonic()
        for act in acts:
            match act:
                case Send():
                    self._write(act, sent)
                case Pause(for_s=None):
                    self._wait(None)
                case Pause(for_s=float() | int() as for_s):
                    due_s += for_s * self._scale
                    self._wait(max(0.0, due_s - time.monotonic()))
                case Leave():
                    self._leave(act)
                    return False
        return True

    def ended(self) -> None:
        """Take note that the socket has nothing more to read."""
        if not self._closing.is_set():
            self.client_gone.set()

    def drain(self) -> None:
        """Read what the client still sends, since a close with bytes unread would be a reset."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.settimeout(DRAIN_S)
            while self._socket.recv(65_536):
                pass

    def _write(self, act: Send, sent: Sent) -> None:
        try:
            self._socket.sendall(act.data)
        except OSError as error:
            self.ended()
            raise Gone from error
        sent.bytes += len(act.data)
        sent.tokens += act.tokens
        sent.last_at_s = time.monotonic()

    def _wait(self, for_s: float | None) -> None:
        """Wait, unless somebody leaves; a wall that closes shuts the socket down to wake this."""
        until_s = None if for_s is None else time.monotonic() + for_s
        if not self._readable_within(for_s):
            return
        # The next request is here already and hides a close; only the wall is watched now.
        left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
        if self._closing.wait(left_s):
            raise Gone

    def _readable_within(self, for_s: float | None) -> bool:
        try:
            self._socket.settimeout(for_s)
            peeked = self._socket.recv(1, socket.MSG_PEEK)
            self._socket.settimeout(None)
        except (TimeoutError, BlockingIOError):
            self._socket.settimeout(None)
            return False
        except OSError as error:
            self.ended()
            raise Gone from error
        if not peeked:
            self.ended()
            raise Gone
        return True

    def _leave(self, act: Leave) -> None:
        if act.how == "reset":
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
