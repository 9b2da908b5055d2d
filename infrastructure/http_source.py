"""Where the bytes of a reply come from."""

from time import monotonic
from typing import Protocol

from turnkeeper.infrastructure.timed_socket import STALLED

_BLOCK_BYTES = 65_536
_WORD_BYTES = 1_024  # so much is asked for where words come one by one


class Receiver(Protocol):
    """What is read of a `TimedSocket`."""

    def recv(self, limit: int, /) -> bytes:
        """Wait for some bytes; none at the end."""
        ...

    def recv_into(self, buffer: bytearray, limit: int, /) -> int:
        """The same, into a buffer; how many came."""
        ...

    def limit_each(self, timeout_s: float, /) -> None:
        """Let each call block so long."""
        ...

    def limit_next(self, timeout_s: float, /) -> None:
        """Let the next call block no longer than this."""
        ...

    def check(self, since_s: float, /) -> None:
        """Raise TimeoutError if a call that began then has reached its limit."""
        ...


class Source:
    """A socket, read block by block. It holds back nothing that came, unlike a buffered file."""

    def __init__(self, sock: Receiver) -> None:
        self._sock = sock
        self._recv_into = sock.recv_into
        self._rest = b""
        # A block is cut from as much memory as was asked for: with many words that leaves holes.
        self._words = bytearray(_WORD_BYTES)
        self._are_blocks = False
        self._next_limit_s: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether all that was received has been read."""
        return not self._rest

    def limit_each(self, timeout_s: float) -> None:
        """Let each wait take no longer than this."""
        self._next_limit_s = None
        self._sock.limit_each(timeout_s)

    def limit_next(self, timeout_s: float) -> None:
        """Let the next wait take no longer than this; free of cost where nothing is waited for."""
        self._next_limit_s = timeout_s

    def read1(self, limit: int = _BLOCK_BYTES) -> bytes:
        """Return what there is, at most so many bytes; wait for it if there is nothing.

        Nothing only at the end.
        """
        rest = self._rest
        if rest:
            self._rest = rest[limit:]
            return rest[:limit]
        if self._next_limit_s is not None:
            self._sock.limit_next(self._next_limit_s)
            self._next_limit_s = None
        since_s = monotonic()
        try:
            return self._received(limit)
        except STALLED:
            return self._received_at_last(limit, since_s)

    def give_back(self, rest: bytes) -> None:
        """What was read too much; the next to be read."""
        self._rest = rest + self._rest

    def _received(self, limit: int) -> bytes:
        if self._are_blocks:
            block = self._sock.recv(min(limit, _BLOCK_BYTES))
            self._are_blocks = len(block) >= _WORD_BYTES
            return block
        length = self._recv_into(self._words, limit if limit < _WORD_BYTES else _WORD_BYTES)
        self._are_blocks = length == _WORD_BYTES
        return bytes(self._words[:length])

    def _received_at_last(self, limit: int, since_s: float) -> bytes:
        """Go on waiting where a signal broke a wait off."""
        while True:
            self._sock.check(since_s)
            try:
                return self._received(limit)
            except STALLED:
                continue
