"""The body of an HTTP request, read no further than it may be long."""

import re
from collections.abc import Callable, Mapping
from typing import Any

MAX_BODY_BYTES = 256 * 1024
"""A press carries the message it was made on: up to 10,000 characters, escaped, and who and where.
Nothing that Discord sends of a button comes near this."""

READ_BYTES = 64 * 1024

_LENGTH = re.compile(r"[0-9]{1,18}")


class BadRequest(Exception):
    """The request is refused, with this status.

    Attributes:
        status: As HTTP writes it, such as ``411 Length Required``.
    """

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


TOO_LARGE = ("413 Content Too Large", f"the body is longer than {MAX_BODY_BYTES} bytes")


def read_body(environ: Mapping[str, Any]) -> bytes:
    """The whole body.

    Raises:
        BadRequest: It is too long, shorter than it says, or does not say how long it is.
    """
    said = environ.get("CONTENT_LENGTH") or ""
    read = environ["wsgi.input"].read
    if not said:
        return _until_end(environ, read)
    if not _LENGTH.fullmatch(said):
        raise BadRequest("400 Bad Request", "Content-Length is a number of bytes")
    length = int(said)
    if length > MAX_BODY_BYTES:
        raise BadRequest(*TOO_LARGE)
    body = _up_to(length, read)
    if len(body) < length:
        raise BadRequest("400 Bad Request", f"{length} bytes were said, and {len(body)} came")
    return body


def _until_end(environ: Mapping[str, Any], read: Callable[[int], bytes]) -> bytes:
    """Only where the server says that the input has an end: else reading waits for more."""
    if not environ.get("wsgi.input_terminated"):
        raise BadRequest("411 Length Required", "the body needs a Content-Length")
    body = _up_to(MAX_BODY_BYTES + 1, read)
    if len(body) > MAX_BODY_BYTES:
        raise BadRequest(*TOO_LARGE)
    return body


def _up_to(limit: int, read: Callable[[int], bytes]) -> bytes:
    pieces: list[bytes] = []
    left = limit
    try:
        while left and (piece := read(min(left, READ_BYTES))):
            pieces.append(piece)
            left -= len(piece)
    except Exception as error:  # each server has its own for a client that went away
        raise BadRequest("400 Bad Request", "the body did not come to its end") from error
    return b"".join(pieces)
