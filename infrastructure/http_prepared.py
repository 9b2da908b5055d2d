"""What all calls to one address have in common, made once."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

import requests

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.http_adapter import Route, WiredAdapter
from turnkeeper.infrastructure.http_errors import HttpError, HttpErrorKind
from turnkeeper.infrastructure.http_request import (
    Headers,
    HttpRequest,
    check_headers,
    check_names,
    check_value,
)

_PORTS = {"http": 80, "https": 443}
_MOST_PREPARED = 256
_UNFIT = re.compile(r"[^\x21-\x7e]")  # what would end the first line, or its target


@frozen
class PreparedCall:
    """A call that lacks only the values of its own headers, and its body.

    Attributes:
        host: Host and port, for messages.
        start: The first line and the headers that all of them have, as they are sent.
        names: The spelling of each of its own headers.
        is_length_said: Whether its length is said of an empty body too.
    """

    host: str
    start: bytes = field(repr=False)  # the headers of a proxy may hold a password
    names: Mapping[str, str]
    is_length_said: bool
    route: Route

    def head_of(self, request: HttpRequest) -> bytes:
        """Return all that is sent before the body.

        Raises:
            HttpError: A header cannot be sent.
        """
        own: dict[str, str] = {}
        for name, value in request.secret_headers:
            check_value(name, value)
            spelt = self.names[name]
            own[spelt] = f"{spelt}: {value}\r\n"
        if request.body or self.is_length_said:
            own["Content-Length"] = f"Content-Length: {len(request.body)}\r\n"
        return self.start + f"{''.join(own.values())}\r\n".encode("latin-1")


class Preparer:
    """Prepares each kind of call once. Safe to use from several threads."""

    def __init__(
        self, *, session: requests.Session, adapter: WiredAdapter, proxies: Mapping[str, str]
    ) -> None:
        self._session = session
        self._adapter = adapter
        self._proxies = dict(proxies)
        self._kept = lru_cache(_MOST_PREPARED)(self._prepare)

    def prepared(self, verb: str, request: HttpRequest) -> PreparedCall:
        """Return what the request has in common with others.

        Raises:
            HttpError: The address, a header that they have in common, or a name cannot be used.
        """
        own = tuple(dict(request.secret_headers))
        return self._kept(verb, request.url, request.headers, own, request.address)

    def forget(self) -> None:
        """Keep nothing any more."""
        self._kept.cache_clear()

    def _prepare(
        self, verb: str, url: str, headers: Headers, own: tuple[str, ...], address: str | None
    ) -> PreparedCall:
        check_headers(headers)
        parts = _split(url)
        merged, route = dict(headers), None
        with suppress(requests.RequestException, ValueError):  # they print the whole address
            prepared = self._session.prepare_request(requests.Request(verb, url, headers=merged))
            route = self._adapter.route(prepared, address=address, proxies=self._proxies)
        if route is None or _UNFIT.search(route.target):
            raise _refused(f"the address of {parts.hostname} is malformed, or that of its proxy")
        check_names(own)
        merged = {"Host": _netloc(str(prepared.url))}
        merged |= {name: str(value) for name, value in prepared.headers.items()}
        merged |= route.proxy_headers
        is_length_said = merged.pop("Content-Length", None) is not None
        spelling = {name.lower(): name for name in merged}
        names = {name: spelling.get(name.lower(), name) for name in own}
        for name in names.values():
            merged.pop(name, None)
        return PreparedCall(
            host=f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}",
            start=_start(verb, route, merged),
            names=names,
            is_length_said=is_length_said,
            route=route,
        )


def _start(verb: str, route: Route, headers: Mapping[str, str]) -> bytes:
    return f"{verb} {route.target} HTTP/1.1\r\n".encode("latin-1") + _lines(headers)


def _lines(headers: Mapping[str, str]) -> bytes:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()]).encode("latin-1")


def _netloc(url: str) -> str:
    """Host and port, without the port that its scheme has anyway."""
    parts = urlsplit(url)
    return parts.netloc.removesuffix(f":{_PORTS[parts.scheme]}")


def _split(url: str) -> SplitResult:
    parts = None
    with suppress(ValueError):
        parts = urlsplit(url)
    if parts is None or parts.scheme not in _PORTS or not parts.hostname:
        raise _refused("an address does not begin with http:// or https:// and a host name")
    if "@" in parts.netloc:
        raise _refused(f"the address of {parts.hostname} holds a user name or password")
    return parts


def _refused(message: str) -> HttpError:
    return HttpError(HttpErrorKind.BAD_REQUEST_VALUE, message)
