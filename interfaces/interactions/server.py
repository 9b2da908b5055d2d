"""Serves the endpoint, or another small WSGI app, with waitress."""

import socket
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from waitress import wasyncore
from waitress.server import create_server

from turnkeeper.domain.errors import SettingsError
from turnkeeper.interfaces.interactions.body import MAX_BODY_BYTES

THREADS = 8
MAX_HEADER_BYTES = 32 * 1024
MAX_CONNECTIONS = 500
SILENCE_S = 15
"""How long a connection may say nothing; Discord gives up long before."""


class InteractionsServer:
    """Listens from its making on, and serves while it runs.

    It gathers a request whole before a thread takes it up, so a slow sender holds no thread.

    Args:
        port: 0 for any that is free.

    Raises:
        SettingsError: It cannot listen there.
    """

    def __init__(
        self, app: Callable[..., Iterable[bytes]], *, host: str, port: int, threads: int = THREADS
    ) -> None:
        listening = _listening(host, port)
        self.url = _url(listening)
        self._channels: dict[Any, Any] = {}
        self._server: Any = create_server(
            app,
            map=self._channels,
            sockets=[listening],
            threads=threads,
            ident=None,
            asyncore_use_poll=True,
            channel_timeout=SILENCE_S,
            cleanup_interval=5,
            connection_limit=MAX_CONNECTIONS,
            # One more, since waitress already refuses a body that reaches its limit.
            max_request_body_size=MAX_BODY_BYTES + 1,
            max_request_header_size=MAX_HEADER_BYTES,
        )
        self._lock = Lock()  # guards the one below, and what wakes the server
        self._is_closed = False

    def run(self) -> None:
        """Serve on this thread until `close`, or an interrupt."""
        try:
            self._server.run()
        finally:
            self._hang_up()
            self._server.task_dispatcher.shutdown()

    def close(self) -> None:
        """Let `run` end, from any thread; a second time does nothing."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._server.trigger.pull_trigger(self._hang_up)

    def _hang_up(self) -> None:
        # Only when nobody is waking the server any more: what wakes it is closed with the rest.
        with self._lock:
            self._is_closed = True
            wasyncore.close_all(self._channels)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error}; give another --host or --port"
        ) from error


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
