"""Host and port of an address that somebody wrote, read in the one way that all programs share.

Source: RFC 3986 and the WHATWG's URL standard, of which the strictest reading is taken.
"""

from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from turnkeeper.domain.address import Address
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.pattern import lazily
from turnkeeper.infrastructure.http_errors import HttpError, HttpErrorKind

_PORTS = {"http": 80, "https": 443}
_HOST = r"\[(?P<ipv6>[0-9a-f:.]{2,45})\]|(?P<name>[0-9a-z._-]{1,253})"
_PLACE = lazily(rf"(?:{_HOST})(?::(?P<port>[1-9][0-9]{{0,4}}))?")
_LABEL = lazily(r"(?!-)[0-9a-z_-]{1,63}(?<!-)")
_NUMBER = lazily(r"[0-9]+|0x[0-9a-f]*")  # a last label of this form makes it an IPv4 address


@frozen
class UrlPlace:
    """Where an address leads.

    Attributes:
        host: In small letters; an IP address in its shortest form.
        port: None for any.
        ip: The host, where it is an IP address.
    """

    host: str
    port: int | None
    ip: Address | None = None

    @property
    def shown(self) -> str:
        """The host as it stands in an address."""
        return f"[{self.host}]" if ":" in self.host else self.host


def place_of(url: str) -> UrlPlace:
    """Where an address leads.

    Raises:
        HttpError: There is more than one way to read it, or none.
    """
    parts = _split(url)
    if "@" in parts.netloc:
        raise _refused("an address holds a user name or password: leave it out")
    place = read_place(parts.netloc, _PORTS[parts.scheme])
    if place is None:
        raise _refused(
            "an address has no plain host and port: write https://host/path or"
            " https://host:port/path, other scripts in their xn-- form, IPv4 as four decimals"
        )
    return place


def read_place(text: str, usual_port: int | None) -> UrlPlace | None:
    """Host and port as they stand in an address; None if they are odd in any way."""
    match = _PLACE.fullmatch(text.lower()) if text.isascii() else None
    if match is None:
        return None
    port = int(match["port"]) if match["port"] else usual_port
    if port is not None and port > 65_535:
        return None
    name = match["name"]
    if name is not None and not _can_only_be_ipv4(name):
        is_name = all(_LABEL.fullmatch(label) for label in name.split("."))
        return UrlPlace(host=name, port=port) if is_name else None
    with suppress(ValueError):  # numbers that only some programs take for an IP address
        ip = ip_address(name or match["ipv6"])
        return UrlPlace(host=str(ip), port=port, ip=ip)
    return None


def _split(url: str) -> SplitResult:
    if any(character <= " " or character in "\\\x7f" for character in url):
        raise _refused("an address holds white space, a backslash or a control character")
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in _PORTS:
            return parts
    raise _refused("an address does not begin with http:// or https:// and a host")


def _can_only_be_ipv4(name: str) -> bool:
    return _NUMBER.fullmatch(name.rpartition(".")[2]) is not None


def _refused(message: str) -> HttpError:
    return HttpError(HttpErrorKind.BAD_REQUEST_VALUE, message)
