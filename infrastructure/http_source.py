"""Where the bytes of a reply come from."""

from typing import Protocol

_BLOCK_BYTES = 65_536
_WORD_BYTES = 1_024  # so much is asked for where words come one by one, as memory is taken for it


class Receiver(Protocol):
    """What is read of a socket."""

    def recv(self, limit: int, /) -> bytes:
        """Wait for some bytes; none at the end."""
        ...


class Source:
    """A socket, read block by block. It holds back nothing that came, unlike a buffered file."""

    def __init__(self, sock: Receiver) -> None:
        self._sock = sock
        self._rest = b""
        self._block_bytes = _WORD_BYTES

    @property
    def is_empty(self) -> bool:
        """Whether all that was received has been read."""
        return not self._rest

    def read1(self, limit: int = _BLOCK_BYTES) -> bytes:
        """Return what there is, at most so many bytes; wait for it if there is nothing.

        Nothing only at the end.
        """
        rest = self._rest
        if not rest:
            block = self._sock.recv(min(limit, self._block_bytes))
            self._block_bytes = _WORD_BYTES if len(block) < _WORD_BYTES else _BLOCK_BYTES
            return block
        self._rest = rest[limit:]
        return rest[:limit]

    def give_back(self, rest: bytes) -> None:
        """What was read too much; the next to be read."""
        self._rest = rest + self._rest
