"""A way to a database server on which everything can become slow, stand still, or break."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from turnkeeper.infrastructure.postgres.postmaster import socket_path

T = TypeVar("T")

CHUNK_BYTES = 65_536
JOIN_S = 10.0


class Proxy:
    """Passes on what comes in at a socket in one folder to that in another, and back.

    Its dials may be turned from any thread.

    Attributes:
        folder: Where it listens; the host that clients name.
        delay_s: How long each piece is held up on its way.
    """

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder = folder
        self.delay_s = 0.0
        self._server = str(socket_path(server))
        self._loop = asyncio.new_event_loop()
        self._moving = asyncio.Event()
        self._moving.set()
        self._pipes: set[asyncio.StreamWriter] = set()
        self._thread = Thread(target=self._run, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._listener = self._call(self._listen())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(JOIN_S)
        self._loop.close()

    def freeze(self) -> None:
        """Let nothing through any more, and close nothing either."""
        self._loop.call_soon_threadsafe(self._moving.clear)

    def thaw(self) -> None:
        """Let everything through again, what has waited first."""
        self._loop.call_soon_threadsafe(self._moving.set)

    def cut(self) -> None:
        """Break all connections that there are."""
        self._call(self._break())

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _call(self, doing: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result(JOIN_S)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_unix_server(self._welcome, socket_path(self.folder))

    async def _end(self) -> None:
        self._listener.close()
        self._moving.set()
        await self._break()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _break(self) -> None:
        for pipe in tuple(self._pipes):
            pipe.transport.abort()

    async def _welcome(self, source: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        self._pipes.add(client)
        try:
            answers, server = await asyncio.open_unix_connection(self._server)
        except OSError:
            self._hang_up(client)
            return
        self._pipes.add(server)
        await asyncio.gather(self._pass_on(source, server), self._pass_on(answers, client))

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            while chunk := await source.read(CHUNK_BYTES):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._moving.wait()
                sink.write(chunk)
                await sink.drain()
        self._hang_up(sink)

    def _hang_up(self, pipe: asyncio.StreamWriter) -> None:
        self._pipes.discard(pipe)
        pipe.close()
