"""A reply that is being read."""

from collections.abc import Callable, Generator, Iterator, Mapping
from time import monotonic
from types import TracebackType
from typing import Self

from turnkeeper.infrastructure.http_body import body_pieces
from turnkeeper.infrastructure.http_errors import HttpError, HttpErrorKind, raise_http_error
from turnkeeper.infrastructure.http_head import Head
from turnkeeper.infrastructure.http_prepared import PreparedCall
from turnkeeper.infrastructure.wire import Wire
from turnkeeper.infrastructure.wired_connections import WiredConnection

_MOST_DRAINED_BYTES = 262_144


class HttpStream:
    """One reply, from its head on. Read by one thread; leaving the `with` block closes it.

    A reply that was read to its end, here or by `finish`, gives its connection back for the next
    call; any other closes it. What fails raises `HttpError`.

    Attributes:
        status: Of any class; a redirect is a reply like others.
    """

    _is_open = True
    _is_complete = False
    _is_kept = False

    def __init__(
        self,
        head: Head,
        connection: WiredConnection,
        call: PreparedCall,
        wire: Wire,
        forget_stop: Callable[[], object],
    ) -> None:
        self.status = head.status
        self._head = head
        self._connection = connection
        self._call = call
        self._wire = wire
        self._forget_stop = forget_stop
        self._pieces = self._read()

    @property
    def headers(self) -> Mapping[str, str]:
        """By name in any case; several of one name are joined by ", "."""
        return self._head.headers

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def chunks(self) -> Iterator[bytes]:
        """Yield the body as it comes, never empty and never more than 64 KiB at once.

        Asked again, it goes on behind what was read.
        """
        return self._pieces

    def body(self, limit_bytes: int = 65_536, timeout_s: float = 5.0) -> bytes:
        """Return the start of a body that is only read for its error, as far as it comes in time.

        Raises:
            HttpError: The call was cancelled.
        """
        parts = bytearray()
        try:
            self._take(parts, limit_bytes, timeout_s)
        except HttpError as error:
            if error.kind is HttpErrorKind.CANCELLED:
                raise
        return bytes(parts[:limit_bytes])

    def whole_body(self, limit_bytes: int, timeout_s: float) -> bytes:
        """Return all of the body.

        Raises:
            HttpError: It is larger, did not come in time, or ended early.
        """
        parts = bytearray()
        self._take(parts, limit_bytes + 1, timeout_s)
        if len(parts) > limit_bytes:
            message = f"the reply of {self._call.host} has more than {limit_bytes} bytes"
            raise HttpError(HttpErrorKind.TOO_LARGE, message)
        if not self._is_complete:
            message = f"the reply of {self._call.host} did not end within {timeout_s:g} s"
            raise HttpError(HttpErrorKind.READ_TIMEOUT, message)
        return bytes(parts)

    def finish(self, grace_s: float) -> bool:
        """Read what is left, of bounded size, and say whether the connection can be used again.

        Args:
            grace_s: How long the other side may take to end a body that nobody needs.
        """
        try:  # noqa: SIM105 - every call comes by here, and suppress takes longer
            self._take(bytearray(), _MOST_DRAINED_BYTES, grace_s)
        except HttpError:
            pass  # there is no more to read
        self.close()
        return self._is_kept

    def close(self) -> None:
        """Let go of the connection; a second time does nothing."""
        if self._is_open:
            self._pieces.close()
            self._release()

    def _read(self) -> Generator[bytes, None, None]:
        wire = self._wire
        try:
            for piece in body_pieces(self._head.framing, self._connection.source):
                if wire.is_cut:
                    wire.check()
                yield piece
            if wire.is_cut:
                wire.check()  # the end of a body may be that of the wire
        except Exception as error:
            raise_http_error(error, self._call.host, wire)
            raise
        self._is_complete = True
        self._release()

    def _take(self, parts: bytearray, limit_bytes: int, timeout_s: float) -> None:
        """Add what comes in time, until there is so much of it."""
        until_s, left_s = monotonic() + timeout_s, timeout_s
        while len(parts) < limit_bytes:
            if self._is_open:  # else another call may use the connection already
                self._connection.source.limit_next(left_s)
            piece = next(self._pieces, None)
            if piece is None:
                return
            parts += piece
            left_s = until_s - monotonic()
            if left_s <= 0:
                return

    def _release(self) -> None:
        connection, wire = self._connection, self._wire
        self._is_open = False
        self._forget_stop()
        wire.let_go()
        is_whole = self._is_complete and connection.source.is_empty
        if is_whole and not (self._head.framing.is_last or wire.is_cut):
            self._is_kept = True
            self._call.route.pool.resting.put(connection)
        else:
            connection.close()
