"""What an HTTP call sends."""

import re
from collections.abc import Iterable
from dataclasses import field
from ipaddress import ip_address
from typing import NoReturn

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.http_errors import HttpError, HttpErrorKind

Headers = tuple[tuple[str, str], ...]

_NOT_OURS = ("host", "connection", "content-length", "transfer-encoding")
_NAME = re.compile(
    rf"(?!(?:{'|'.join(_NOT_OURS)})\Z)[-!#$%&'*+.^_`|~0-9A-Z]+", re.IGNORECASE | re.ASCII
)


@frozen
class HttpRequest:
    """Where to and what; the verb is the call's. Its repr shows nothing that may be secret.

    Attributes:
        url: With scheme http or https and without user name or password.
        headers: Those that every call to this address has in common; what is prepared from them
            is kept for the next call.
        secret_headers: Those of this call, such as the key; their values are never kept.
        body: Sent as it is; its length is added.
        address: The IP address to connect to in place of what the host's name resolves to, for a
            name that was checked. Certificate and Host header stay the name's, and no proxy is
            used. None to resolve the name.
    """

    url: str = field(repr=False)
    headers: Headers = field(default=(), repr=False)
    secret_headers: Headers = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    address: str | None = None

    def __post_init__(self) -> None:
        if self.address is not None:
            ip_address(self.address)


def check_headers(headers: Headers) -> None:
    """Return if all of them can be sent as they are.

    Raises:
        HttpError: One cannot; the message names it, and never its value.
    """
    check_names([name for name, _ in headers])
    for name, value in headers:
        check_value(name, value)


def check_names(names: Iterable[str]) -> None:
    """Return if headers can have these names.

    Raises:
        HttpError: One cannot; the message tells which.
    """
    for number, name in enumerate(names, start=1):
        if _NAME.fullmatch(name) is None:
            _refuse_name(name, number)


def check_value(name: str, value: str) -> None:
    """Return if a header can have this value.

    Raises:
        HttpError: It cannot; the message names the header, and never its value.
    """
    if not (value.isascii() and value.isprintable()):
        _check_odd_value(name, value)
    if value != value.strip():
        raise _refused(f"header {name!r} has white space around its value: leave it out")


def _refuse_name(name: str, number: int) -> NoReturn:
    if name.lower() in _NOT_OURS:
        raise _refused(f"header {name!r} is set by the connection and must be left out")
    raise _refused(f"the name of header {number} is not made of letters and dashes")


def _check_odd_value(name: str, value: str) -> None:
    if any(character < " " and character != "\t" for character in value) or "\x7f" in value:
        raise _refused(f"header {name!r} holds a line break or control character: give one line")
    if any(character > "\xff" for character in value):
        raise _refused(f"header {name!r} holds a character beyond Latin-1: write it in ASCII")


def _refused(message: str) -> HttpError:
    return HttpError(HttpErrorKind.BAD_REQUEST_VALUE, message)
