"""Serves the endpoint with waitress."""

from typing import Any

from waitress.server import create_server

from turnkeeper.domain.errors import SettingsError
from turnkeeper.interfaces.interactions.app import InteractionsApp
from turnkeeper.interfaces.interactions.body import MAX_BODY_BYTES

THREADS = 8
MAX_HEADER_BYTES = 32 * 1024
SILENCE_S = 15
"""How long a connection may say nothing; Discord gives up long before."""

MAX_CONNECTIONS = 500


def server_of(app: InteractionsApp, *, host: str, port: int, threads: int = THREADS) -> Any:
    """A server that listens; `run` serves until `close`.

    It gathers a request whole before a thread takes it up, so a slow sender holds no thread.

    Raises:
        SettingsError: It cannot listen there.
    """
    try:
        return create_server(
            app,
            host=host,
            port=port,
            threads=threads,
            ident=None,
            channel_timeout=SILENCE_S,
            cleanup_interval=5,
            connection_limit=MAX_CONNECTIONS,
            max_request_body_size=MAX_BODY_BYTES + 1,
            max_request_header_size=MAX_HEADER_BYTES,
            expose_tracebacks=False,
        )
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error}; give another --host or --port"
        ) from error
