"""The adapter between requests, which checks addresses, and the connections."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

import requests
from requests.adapters import HTTPAdapter

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.tls import tls_context
from turnkeeper.infrastructure.wired_connections import WiredPool, WiredTlsPool

_POOLS: dict[str, type[WiredPool]] = {"http": WiredPool, "https": WiredTlsPool}
_MOST_HOSTS = 64


@frozen
class Route:
    """The way of all requests to one address.

    Attributes:
        pool: The connections that lead there.
        target: What stands in the first line.
        proxy_headers: What the proxy is told in each request.
        is_tunnelled: Whether the proxy has to be asked for a way through it first.
    """

    pool: WiredPool
    target: str
    proxy_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_tunnelled: bool = False


class WiredAdapter(HTTPAdapter):
    """Leads to wired connections with one TLS context.

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
            pool = self.get_connection_with_tls_context(request, True, proxies)
            return _route_over(cast(WiredPool, pool), self.request_url(request, proxies))
        host, tls = self.build_connection_pool_key_attributes(request, True)
        # The certificate is still checked for the name. Not by `assert_hostname`, which would
        # switch off the check of the context, and so of all connections.
        tls["server_hostname"] = host["host"]
        host["host"] = address
        pinned = self.poolmanager.connection_from_host(**host, pool_kwargs=tls)
        return Route(pool=cast(WiredPool, pinned), target=request.path_url)

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


def _route_over(pool: WiredPool, target: str) -> Route:
    is_tunnelled = pool.proxy is not None and target.startswith("/")
    proxy_headers = {} if is_tunnelled else pool.proxy_headers
    return Route(pool=pool, target=target, proxy_headers=proxy_headers, is_tunnelled=is_tunnelled)
