"""The chunked framing of a body, undone."""

import http.client
import re
from collections.abc import Iterator
from itertools import repeat

from turnkeeper.infrastructure.http_errors import BodyCut
from turnkeeper.infrastructure.http_source import Source

_PIECE_BYTES = 65_536
_LINE_BYTES = 4_096
_TRAILER_BYTES = 16_384
_LAST = -1
_LINE_END = b"\r\n"
_BODY_END = b"\r\n0\r\n\r\n"
_PLAIN_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
# With the line end before it, which belongs to the chunk before; what follows it says nothing.
_SIZE = re.compile(rb"\r?\n[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]*|\r)?\n")


def chunked_pieces(source: Source) -> Iterator[bytes]:
    """Yield what the chunks hold, and together what came together.

    A burst of small chunks so costs little more than one, here and at every step behind.

    Raises:
        BodyCut: It ended before its last chunk.
        HTTPException: A chunk is not as long as it says, or does not say.
    """
    buffer, left = _LINE_END, 0
    while left != _LAST:
        block = source.read1(_PIECE_BYTES - len(buffer))
        if not block:
            raise BodyCut
        buffer += block
        if not left:
            if buffer.endswith(_BODY_END) and (data := _all_data(buffer)):
                yield data
                return
            if data := _only_chunk(buffer):
                yield data
                buffer = _LINE_END
                continue
        parts, start, left = _data_in(buffer, left)
        if data := b"".join(parts):
            yield data
        buffer = buffer[start:]
        if not left and (buffer.count(b"\n") > 1 or len(buffer) > _LINE_BYTES):
            raise http.client.HTTPException("a chunk has no size, or a wrong one")
    _skip_trailers(source, buffer)


def _all_data(buffer: bytes) -> bytes | None:
    """What is in the buffer's chunks, if the last is among them; so a short answer comes at once.

    None as well if the data holds a line end of its own, or a chunk says more than its size.
    """
    lines = buffer[2 : -len(_BODY_END)].split(_LINE_END)
    sizes, parts = lines[::2], lines[1::2]
    if not all(map(_PLAIN_SIZE.fullmatch, sizes)):
        return None
    lengths = list(map(int, sizes, repeat(16)))
    return b"".join(parts) if all(lengths) and lengths == list(map(len, parts)) else None


def _only_chunk(buffer: bytes) -> bytes | None:
    """What is in the buffer's chunk, if that is all there is; so words come one by one."""
    line = buffer.find(_LINE_END, 2)
    size = buffer[2:line]
    if not size.isalnum() or line > 18 or not buffer.endswith(_LINE_END):
        return None
    try:
        length = int(size, 16)
    except ValueError:
        return None
    return buffer[line + 2 : -2] if length == len(buffer) - line - 4 else None


def _data_in(buffer: bytes, left: int) -> tuple[list[bytes], int, int]:
    """Return the data in the buffer, where the rest starts, and what the last chunk still lacks.

    Args:
        buffer: Either data, or a size with the line end before it.
        left: How much data comes first.
    """
    parts: list[bytes] = []
    start, end, there = 0, left, len(buffer)
    while end <= there:
        parts.append(buffer[start:end])
        size = _SIZE.match(buffer, end)
        if size is None:
            return parts, end, 0
        start = size.end()
        end = start + int(size[1], 16)
        if end == start:
            return parts, start, _LAST
    parts.append(buffer[start:])
    return parts, there, end - there


def _skip_trailers(source: Source, rest: bytes) -> None:
    while b"\n\n" not in (b"\n" + rest).replace(b"\r", b""):
        if len(rest) > _TRAILER_BYTES:
            raise http.client.HTTPException("the body has trailers without end")
        block = source.read1(_LINE_BYTES)
        if not block:
            return  # all of the body came, so a missing line end does no harm
        rest += block
