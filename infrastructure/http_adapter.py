"""The adapter between requests and the connections."""

from typing import Any, cast

import requests
from requests.adapters import HTTPAdapter
from urllib3.connectionpool import HTTPConnectionPool

from turnkeeper.infrastructure.tls import tls_context
from turnkeeper.infrastructure.wired_connections import WiredPool, WiredTlsPool

_POOLS: dict[str, type[HTTPConnectionPool]] = {"http": WiredPool, "https": WiredTlsPool}
_MOST_HOSTS = 64

Route = tuple[HTTPConnectionPool, str]  # the connections, and what stands in the first line


class RoutedRequest(requests.PreparedRequest):
    """A request that knows its way, as finding it takes longer than most of the rest."""

    route: Route


class WiredAdapter(HTTPAdapter):
    """Sends over wired connections: no retries, one TLS context, no cookies.

    Args:
        pool_size: Connections that are kept for each host; more are made where needed.
        verify: As for `tls_context`.
    """

    def __init__(self, *, pool_size: int, verify: bool | str) -> None:
        self._tls = tls_context(verify)
        super().__init__(pool_connections=_MOST_HOSTS, pool_maxsize=pool_size, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = _POOLS
        return manager

    def route(
        self, request: requests.PreparedRequest, *, address: str | None, proxies: dict[str, str]
    ) -> Route:
        """Return the way of all requests that go where this one goes.

        Args:
            request: One of them.
            address: The IP address to connect to, past any proxy; None for the name's own.
            proxies: As of requests.
        """
        if address is None:
            pool = super().get_connection_with_tls_context(request, True, proxies)
            return cast(HTTPConnectionPool, pool), super().request_url(request, proxies)
        host, tls = self.build_connection_pool_key_attributes(request, True)
        # The certificate is still checked for the name. Not by `assert_hostname`, which would
        # switch off the check of the context, and so of all connections.
        tls["server_hostname"] = host["host"]
        host["host"] = address
        pinned = self.poolmanager.connection_from_host(**host, pool_kwargs=tls)
        return cast(HTTPConnectionPool, pinned), request.path_url

    def close(self) -> None:
        """Close the connections that rest, at once: urllib3 leaves that to the garbage."""
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for key in manager.pools.keys():  # noqa: SIM118 - it refuses to be iterated
                if (pool := manager.pools.get(key)) is not None:
                    pool.close()
        super().close()

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> Any:
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {"ssl_context": self._tls}

    def get_connection_with_tls_context(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> HTTPConnectionPool:
        assert isinstance(request, RoutedRequest)
        return request.route[0]

    def request_url(self, request: requests.PreparedRequest, proxies: Any) -> str:
        assert isinstance(request, RoutedRequest)
        return request.route[1]

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Leave the certificates to the context."""

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        """Return the bare reply, without cookies and without a guess at its encoding."""
        response = requests.Response()
        response.raw = resp
        response.status_code = resp.status
        response.request = req
        return response
