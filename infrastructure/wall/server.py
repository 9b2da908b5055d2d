"""The wall: a loopback server that does to each request what its script says."""

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from turnkeeper.infrastructure.wall.connection import Connection, House
from turnkeeper.infrastructure.wall.dialect import Dialect, OpenAiDialect
from turnkeeper.infrastructure.wall.script import Script, Step
from turnkeeper.infrastructure.wall.seen import Seen

BACKLOG = 512
JOIN_S = 10.0
MAX_BODY_BYTES = 64 * 1024 * 1024


class Wall:
    """A provider on 127.0.0.1 for the time of a `with`, one thread a connection.

    On exit all connections are cut, all silences end at once, and all threads are joined.

    Args:
        dialects: Tried in order; the first also words the refusals of unknown routes.
        max_body_bytes: A longer request is refused with 413.
        remembered: How many of the last requests `seen` keeps.
        scale: How long a second of a silence lasts.
    """

    def __init__(
        self,
        *,
        dialects: tuple[Dialect, ...] = (OpenAiDialect(),),
        max_body_bytes: int = MAX_BODY_BYTES,
        remembered: int = 100_000,
        scale: float = 1.0,
    ) -> None:
        self._script = Script(remembered=remembered)
        self._closing = threading.Event()
        self._house = House(
            dialects=dialects,
            max_body_bytes=max_body_bytes,
            script=self._script,
            closing=self._closing,
            scale=scale,
        )
        # Guards the three below.
        self._lock = threading.Lock()
        self._connections = 0
        self._open: dict[int, socket.socket] = {}
        self._threads: list[threading.Thread] = []
        self._accepting: threading.Thread | None = None
        self._port: int | None = None

    def __enter__(self) -> Self:
        if self._port is not None:
            raise RuntimeError("this Wall was entered before; make a new one")
        listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self._port = listener.getsockname()[1]
        self._accepting = threading.Thread(
            target=self._accept, args=(listener,), name=f"wall-{self._port}", daemon=True
        )
        self._accepting.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()
        if kind is None and self._script.errors:
            raise RuntimeError("a callable of the wall's script raised") from self._script.errors[0]

    @property
    def url(self) -> str:
        """Where the wall listens.

        Raises:
            RuntimeError: It was not entered yet.
        """
        if self._port is None:
            raise RuntimeError("the Wall has no port yet; use it as `with Wall() as wall:`")
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """What an OpenAI-compatible client takes as its base."""
        return f"{self.url}/v1"

    @property
    def connections(self) -> int:
        """How many connections were accepted so far."""
        with self._lock:
            return self._connections

    @property
    def seen(self) -> tuple[Seen, ...]:
        """The requests so far, in the order in which they met the script."""
        return self._script.seen

    def await_seen(self, requests: int, *, timeout_s: float) -> tuple[Seen, ...]:
        """Wait until so many requests came in, and return all.

        Raises:
            TimeoutError: They did not come.
        """
        return self._script.await_seen(requests, timeout_s=timeout_s)

    def script(
        self,
        behaviours: Step | Sequence[Step],
        *,
        model: str | None = None,
        key: str | None = None,
        path: str | None = None,
    ) -> None:
        """Say what such requests meet from now on; None stands for any.

        Args:
            behaviours: Each is used up by one request, the last one repeats for ever. A callable
                is asked at each request and decides by what it sees.
            path: For requests beside the chat routes, as `/v1/models`.
        """
        self._script.put(behaviours, path=path, key=key, model=model)

    def _accept(self, listener: socket.socket) -> None:
        with listener:
            while not self._closing.is_set():
                try:
                    accepted, _ = listener.accept()
                except OSError:
                    # Out of file descriptors, or that client is gone already: the next may fit.
                    self._closing.wait(0.01)
                    continue
                self._welcome(accepted)

    def _welcome(self, accepted: socket.socket) -> None:
        if self._closing.is_set():
            accepted.close()
            return
        with self._lock:
            self._connections += 1
            number = self._connections
            name = f"wall-{self._port}-{number}"
            thread = threading.Thread(target=self._serve, args=(number,), name=name, daemon=True)
            self._open[number] = accepted
            self._threads = [*(known for known in self._threads if known.is_alive()), thread]
            thread.start()

    def _serve(self, number: int) -> None:
        with self._lock:
            accepted = self._open[number]
        try:
            Connection(accepted, number, self._house).serve()
        finally:
            # Under the lock, so that the wall never shuts down a descriptor that is another's now.
            with self._lock:
                del self._open[number]
                accepted.close()

    def _close(self) -> None:
        assert self._accepting is not None
        self._closing.set()
        # A connection of our own wakes the accept everywhere; closing the listener does not.
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port or 0), JOIN_S):
            self._accepting.join(JOIN_S)
        with self._lock:
            threads = [self._accepting, *self._threads]
            for accepted in self._open.values():
                with suppress(OSError):
                    accepted.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(JOIN_S)
        alive = [thread.name for thread in threads if thread.is_alive()]
        if alive:
            raise RuntimeError(f"threads of the wall did not end within {JOIN_S} s: {alive}")
