"""What all calls to one address have in common, made once."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

import requests

from turnkeeper.infrastructure.http_adapter import Route, RoutedRequest, WiredAdapter
from turnkeeper.infrastructure.http_errors import HttpError, HttpErrorKind
from turnkeeper.infrastructure.http_request import Headers, HttpRequest, check_headers

_PORTS = {"http": 80, "https": 443}
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_MOST_PREPARED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCall:
    """A call that lacks only the headers and the body of the one time.

    Attributes:
        host: Host and port, for messages.
        names: The spelling of each header, by its name in small letters.
    """

    verb: str
    url: str
    host: str
    headers: Mapping[str, str]
    names: Mapping[str, str]
    route: Route

    def with_parts_of(self, request: HttpRequest) -> RoutedRequest:
        """Return what is sent.

        Raises:
            HttpError: A header cannot be sent.
        """
        check_headers(request.secret_headers)
        headers = dict(self.headers)
        for name, value in request.secret_headers:
            headers[self.names.get(name.lower(), name)] = value
        if request.body or self.verb in _WITH_BODY:
            headers["Content-Length"] = str(len(request.body))
        call = RoutedRequest()
        call.method, call.url, call.body = self.verb, self.url, request.body or None
        # Each name has one spelling, so a plain dict does, and at a tenth of the cost.
        call.headers = cast(Any, headers)
        call.route = self.route
        return call


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
            HttpError: The address or a header that they have in common cannot be used.
        """
        return self._kept(verb, request.url, request.headers, request.address)

    def forget(self) -> None:
        """Keep nothing any more."""
        self._kept.cache_clear()

    def _prepare(self, verb: str, url: str, headers: Headers, address: str | None) -> PreparedCall:
        check_headers(headers)
        parts = _split(url)
        merged, route = dict(headers), None
        if address is not None:
            merged["Host"] = parts.netloc
        with suppress(requests.RequestException, ValueError):  # they print the whole address
            prepared = self._session.prepare_request(requests.Request(verb, url, headers=merged))
            route = self._adapter.route(prepared, address=address, proxies=self._proxies)
        if route is None:
            raise _refused(f"the address of {parts.hostname} is malformed, or that of its proxy")
        merged = {name: str(value) for name, value in prepared.headers.items()}
        return PreparedCall(
            verb=verb,
            url=str(prepared.url),
            host=f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}",
            headers=merged,
            names={name.lower(): name for name in merged},
            route=route,
        )


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
