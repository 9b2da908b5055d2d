"""The body of a reply, given out as it comes in."""

import http.client
import zlib
from collections.abc import Iterator

from turnkeeper.infrastructure.http_chunks import chunked_pieces
from turnkeeper.infrastructure.http_errors import BodyCut
from turnkeeper.infrastructure.http_head import Framing
from turnkeeper.infrastructure.http_source import Source

_PIECE_BYTES = 65_536
_MOST_IDLE_BYTES = 65_536
_PLAIN = frozenset({"", "identity"})
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


def body_pieces(framing: Framing, source: Source) -> Iterator[bytes]:
    """Yield what comes, as soon as it comes and never more than 64 KiB at once.

    Args:
        framing: Any: chunks, a length, or up to the connection's end; encoded or not. Only what
            everybody can undo is undone.
        source: What follows the head.

    Raises:
        BodyCut: It ended before its framing says so.
        HTTPException: It is framed or encoded in a way that was not asked for.
    """
    pieces = chunked_pieces(source) if framing.is_chunked else _unchunked(source, framing.length)
    if framing.encoding in _PLAIN:
        return pieces
    if framing.encoding in _PACKED:
        return _inflated(pieces)
    raise http.client.HTTPException("the encoding of the body was not asked for")


def _unchunked(source: Source, length: int | None) -> Iterator[bytes]:
    return _to_the_end(source) if length is None else _of_length(source, length)


def _of_length(source: Source, left: int) -> Iterator[bytes]:
    while left:
        piece = source.read1(min(left, _PIECE_BYTES))
        if not piece:
            raise BodyCut
        left -= len(piece)
        yield piece


def _to_the_end(source: Source) -> Iterator[bytes]:
    while piece := source.read1(_PIECE_BYTES):
        yield piece


def _inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, whichever it is
    is_empty, idle_bytes = True, 0
    for piece in pieces:
        is_empty = False
        idle_bytes += len(piece)
        while piece and not inflater.eof:
            if plain := inflater.decompress(piece, _PIECE_BYTES):
                idle_bytes = 0
                yield plain
            piece = inflater.unconsumed_tail
        # Else who reads would wait for a next piece for as long as somebody likes to send.
        if idle_bytes > _MOST_IDLE_BYTES:
            raise http.client.HTTPException("the body goes on, and unpacks to nothing more")
    if not (inflater.eof or is_empty):
        raise BodyCut
