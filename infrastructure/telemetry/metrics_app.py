"""The metrics as a WSGI app, for a host to mount."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import CollectorRegistry, make_wsgi_app

from turnkeeper.domain.errors import TurnkeeperError
from turnkeeper.domain.redact import redact

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

log = logging.getLogger("turnkeeper")


def metrics_app(
    registry: CollectorRegistry, before: Callable[[], object] = lambda: None
) -> WsgiApp:
    """Serves the registry at every path.

    Args:
        before: Called before each scrape; if the store is away, what is known is shown.
    """
    shown: WsgiApp = make_wsgi_app(registry)

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            before()
        except TurnkeeperError as error:
            log.warning("the metrics are not up to date: %s", redact(str(error)))
        return shown(environ, start_response)

    return app
