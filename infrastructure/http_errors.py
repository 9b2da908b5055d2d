"""What can go wrong with an HTTP call, in words without secrets."""

import errno
import http.client
import socket
import ssl
import zlib
from collections.abc import Iterator
from enum import Enum
from typing import Protocol

import requests
import urllib3

_FOREIGN = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    zlib.error,
    OSError,
    ValueError,
)


class HttpErrorKind(Enum):
    """What went wrong. A reply with an error status is no error here, but a reply."""

    REFUSED = "refused"  # no connection: refused, no route, or the proxy said no
    DNS = "dns"
    RESET = "reset"
    TLS = "tls"
    CONNECT_TIMEOUT = "connect_timeout"
    READ_TIMEOUT = "read_timeout"
    CUT = "cut"  # the body ended early
    BAD_REQUEST_VALUE = "bad_request_value"  # an address or header that cannot be sent
    BAD_REPLY = "bad_reply"  # not HTTP, or not in a form that was asked for
    TOO_LARGE = "too_large"
    CANCELLED = "cancelled"


class HttpError(Exception):
    """A call failed. The message names host and port, never the rest of the address or a header.

    No foreign exception hangs on it as cause or context, as those print what they were given.
    """

    def __init__(self, kind: HttpErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class BodyCut(http.client.HTTPException):
    """The body ended before its own framing says so."""


class ReplyTooLarge(http.client.HTTPException):
    """The reply is larger than allowed."""


class Line(Protocol):
    """What a failed call looked like from the network's side."""

    is_cut: bool
    is_connected: bool


def raise_http_error(error: BaseException, host: str, line: Line) -> None:
    """Raise the `HttpError` that a foreign exception is; return if it is none of those.

    Args:
        error: What is being handled.
        host: Host and port, for the message.
        line: Whether the call was cancelled, and whether the connection stood.
    """
    if not isinstance(error, _FOREIGN):
        return
    kind = HttpErrorKind.CANCELLED if line.is_cut else _kind_of(error, line.is_connected)
    translated = HttpError(kind, f"{_WORDS[kind].format(host=host)}{_detail_of(error)}")
    try:
        raise translated from None
    finally:
        # "from None" only hides the context, and the context may hold a key.
        translated.__context__ = None


_WORDS = {
    HttpErrorKind.REFUSED: "{host} cannot be reached",
    HttpErrorKind.DNS: "the name of {host} does not resolve",
    HttpErrorKind.RESET: "{host} broke the connection",
    HttpErrorKind.TLS: "{host} and this side agree on no TLS",
    HttpErrorKind.CONNECT_TIMEOUT: "{host} took no connection in time",
    HttpErrorKind.READ_TIMEOUT: "{host} sent nothing in time",
    HttpErrorKind.CUT: "the reply of {host} ended early",
    HttpErrorKind.BAD_REQUEST_VALUE: "the request to {host} cannot be sent as it is",
    HttpErrorKind.BAD_REPLY: "{host} did not reply in the form that HTTP asks for",
    HttpErrorKind.TOO_LARGE: "the reply of {host} is larger than allowed",
    HttpErrorKind.CANCELLED: "the call to {host} was cancelled",
}


def _kind_of(error: BaseException, is_connected: bool) -> HttpErrorKind:
    chain = list(_chain(error))
    for kind, types in _BEFORE_CONNECTED if not is_connected else _ONCE_CONNECTED:
        if any(isinstance(link, types) for link in chain):
            return kind
    return HttpErrorKind.BAD_REPLY


_TIMEOUTS = (TimeoutError, requests.Timeout, urllib3.exceptions.TimeoutError)
_BAD_VALUES = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidHeader,
    urllib3.exceptions.LocationValueError,
    UnicodeError,
)
_BAD_REPLIES = (http.client.HTTPException, requests.exceptions.InvalidHeader, zlib.error)
# The first that fits an exception or one that it was made of.
_BEFORE_CONNECTED = (
    (HttpErrorKind.DNS, socket.gaierror),
    (HttpErrorKind.BAD_REQUEST_VALUE, _BAD_VALUES),
    (HttpErrorKind.CONNECT_TIMEOUT, _TIMEOUTS),
    (HttpErrorKind.TLS, (ssl.SSLError, urllib3.exceptions.SSLError)),
    (HttpErrorKind.REFUSED, OSError),
)
_ONCE_CONNECTED = (
    (HttpErrorKind.READ_TIMEOUT, _TIMEOUTS),
    (HttpErrorKind.TOO_LARGE, (ReplyTooLarge, http.client.LineTooLong)),
    (HttpErrorKind.CUT, (BodyCut, http.client.IncompleteRead)),
    (HttpErrorKind.RESET, (ConnectionError, ssl.SSLError)),
    (HttpErrorKind.BAD_REPLY, _BAD_REPLIES),
    (HttpErrorKind.RESET, OSError),
)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and those it was made of; not its context, which may be of another call."""
    yield error
    for part in (error.__cause__, getattr(error, "reason", None), *error.args):
        if isinstance(part, BaseException):
            yield from _chain(part)


def _detail_of(error: BaseException) -> str:
    """A code that says more, and cannot hold anything that was sent."""
    for link in _chain(error):
        if isinstance(link, ssl.SSLError) and link.reason:
            return f" ({link.reason})"
        if isinstance(link, OSError) and (code := errno.errorcode.get(link.errno or 0)):
            return f" ({code})"
    return ""
