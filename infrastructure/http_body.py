"""The body of a reply, given out as it comes in."""

import http.client
import zlib
from collections.abc import Iterator
from io import BufferedReader

from turnkeeper.infrastructure.http_chunks import chunked_pieces
from turnkeeper.infrastructure.http_errors import BodyCut

_PIECE_BYTES = 65_536
_MOST_IDLE_BYTES = 65_536


def body_pieces(reply: http.client.HTTPResponse, encoding: str) -> Iterator[bytes]:
    """Yield what comes, as soon as it comes and never more than 64 KiB at once.

    Args:
        reply: Read up to the end of its head. The framing may be any: chunks, a length, or up to
            the connection's end.
        encoding: Its Content-Encoding. Only what everybody can undo is undone.

    Raises:
        BodyCut: It ended before its framing says so.
        HTTPException: It is framed or encoded in a way that was not asked for.
    """
    pieces = _framed(reply)
    match encoding.strip().lower():
        case "" | "identity":
            return pieces
        case "gzip" | "x-gzip" | "deflate":
            return _inflated(pieces)
    raise http.client.HTTPException("the encoding of the body was not asked for")


def _framed(reply: http.client.HTTPResponse) -> Iterator[bytes]:
    if reply.chunked:
        return chunked_pieces(reply.fp)
    if reply.length is not None:
        return _of_length(reply.fp, reply.length)
    return _to_the_end(reply.fp)


def _of_length(source: BufferedReader, left: int) -> Iterator[bytes]:
    while left:
        piece = source.read1(min(left, _PIECE_BYTES))
        if not piece:
            raise BodyCut
        left -= len(piece)
        yield piece


def _to_the_end(source: BufferedReader) -> Iterator[bytes]:
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
