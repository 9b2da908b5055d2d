"""Bytes as a socket would give them, in blocks of any size."""

from collections.abc import Sequence
from itertools import pairwise

from turnkeeper.infrastructure.http_source import Source


class Blocks:
    """A receiver that gives one block a call: the stream, cut at these places."""

    def __init__(self, stream: bytes, cuts: Sequence[int] = ()) -> None:
        edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
        self._blocks = [stream[start:end] for start, end in pairwise(edges) if start < end]

    def recv(self, limit: int, /) -> bytes:
        if not self._blocks:
            return b""
        block = self._blocks.pop(0)
        if block[limit:]:
            self._blocks.insert(0, block[limit:])
        return block[:limit]

    def recv_into(self, buffer: bytearray, limit: int, /) -> int:
        block = self.recv(limit)
        buffer[: len(block)] = block
        return len(block)

    def limit_each(self, timeout_s: float, /) -> None:
        raise AssertionError("nothing is waited for")

    def limit_next(self, timeout_s: float, /) -> None:
        raise AssertionError("nothing is waited for")

    def check(self, since_s: float, /) -> None:
        raise AssertionError("nothing is waited for")


def received(stream: bytes, cuts: Sequence[int] = ()) -> Source:
    """What the stream is read from when it comes cut at these places."""
    return Source(Blocks(stream, cuts))
