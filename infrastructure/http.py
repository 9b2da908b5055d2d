"""HTTP calls: streams and JSON, over connections that are used again."""

import json
from collections.abc import Mapping
from typing import Any

import requests
from requests.structures import CaseInsensitiveDict

from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.http_adapter import WiredAdapter
from turnkeeper.infrastructure.http_errors import HttpError, HttpErrorKind, raise_http_error
from turnkeeper.infrastructure.http_exchange import exchanged
from turnkeeper.infrastructure.http_prepared import Preparer
from turnkeeper.infrastructure.http_request import HttpRequest
from turnkeeper.infrastructure.http_stream import HttpStream
from turnkeeper.infrastructure.name_lookup import NameLookup
from turnkeeper.infrastructure.wire import Wire, WireTerms

__all__ = ["HttpClient", "HttpError", "HttpErrorKind", "HttpJson", "HttpRequest", "HttpStream"]

_NO_JSON = object()


@frozen
class HttpJson:
    """A reply of JSON.

    Attributes:
        value: What the body says; None also for an error whose body is no JSON.
    """

    status: int
    headers: Mapping[str, str]
    value: Any


class HttpClient:
    """Calls over one pool of connections. Safe to use from several threads.

    It follows no redirect, retries nothing, keeps no cookie, and reads neither `.netrc` nor the
    environment.

    Args:
        user_agent: What it calls itself.
        connect_timeout_s: The longest wait for a connection with its TLS.
        pool_size: Connections that are kept for each host.
        verify: True, a path of certificates to trust, or False to trust everybody.
        proxies: By scheme, by scheme://host, or for "all"; None for none.
        idle_limit_s: After how long a rest a connection is not used again.
        names: How names are looked up; without a thread for it, that is waited for.
    """

    def __init__(  # noqa: PLR0913 - one for each setting
        self,
        *,
        user_agent: str,
        connect_timeout_s: float = 10.0,
        pool_size: int = 64,
        verify: bool | str = True,
        proxies: Mapping[str, str] | None = None,
        idle_limit_s: float = 60.0,
        names: NameLookup = NameLookup(),
    ) -> None:
        self._terms = WireTerms(
            connect_timeout_s=connect_timeout_s, idle_limit_s=idle_limit_s, names=names
        )
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers = CaseInsensitiveDict(
            {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "identity"}
        )
        self._adapter = WiredAdapter(pool_size=pool_size, verify=verify)
        self._session.mount("https://", self._adapter)
        self._session.mount("http://", self._adapter)
        self._preparer = Preparer(
            session=self._session, adapter=self._adapter, proxies=proxies or {}
        )

    def post_stream(self, request: HttpRequest, *, stop: Stop, read_timeout_s: float) -> HttpStream:
        """POST and return the reply once its head is there. Close it, best by `with`.

        While it is open, `stop` ends whatever waits for the network.

        Args:
            request: What to send.
            stop: Asks to end it.
            read_timeout_s: The longest wait for a next byte, and for all of the body to be taken.

        Raises:
            HttpError: There is no reply. A reply of any status is one.
        """
        return self.open_stream("POST", request, stop=stop, read_timeout_s=read_timeout_s)

    def open_stream(
        self, verb: str, request: HttpRequest, *, stop: Stop, read_timeout_s: float
    ) -> HttpStream:
        """As `post_stream`, with any verb."""
        prepared = self._preparer.prepared(verb, request)
        head = prepared.head_of(request)
        wire = Wire(self._terms, read_timeout_s)
        forget_stop = stop.on_stop(wire.cut)
        try:
            connection, reply = exchanged(verb, prepared.route, head, request.body, wire)
        except BaseException as error:
            forget_stop()
            raise_http_error(error, prepared.host, wire)
            raise
        return HttpStream(reply, connection, prepared, wire, forget_stop)

    def get_json(
        self, request: HttpRequest, *, stop: Stop, limit_bytes: int, timeout_s: float
    ) -> HttpJson:
        """GET and return the whole reply.

        Raises:
            HttpError: There is no reply, or it is too large, too late or, with a good status, no
                JSON.
        """
        with self.open_stream("GET", request, stop=stop, read_timeout_s=timeout_s) as reply:
            body = reply.whole_body(limit_bytes, timeout_s)
        value = _value_of(body)
        if value is _NO_JSON and reply.status < 300:
            host = self._preparer.prepared("GET", request).host
            raise HttpError(
                HttpErrorKind.BAD_REPLY, f"{host} replied with something else than JSON"
            )
        value = None if value is _NO_JSON else value
        return HttpJson(status=reply.status, headers=reply.headers, value=value)

    def close(self) -> None:
        """Close the connections that rest; those in use are closed by their streams."""
        self._preparer.forget()
        self._session.close()


def _value_of(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _NO_JSON
