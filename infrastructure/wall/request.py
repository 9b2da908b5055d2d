"""One request as it comes off the socket."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import orjson

MAX_HEAD_BYTES = 65_536
READ_BYTES = 65_536


class BadRequest(Exception):
    """What came in is no request that the wall can read."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Request:
    """A method, a target, headers by lower-case name, and the whole body."""

    method: str
    target: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def key(self) -> str | None:
        """The bearer token, or the key header of other dialects."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token:
            return token.strip()
        return self.headers.get("x-api-key") or self.headers.get("x-goog-api-key")

    @property
    def keep_alive(self) -> bool:
        """Whether the client wants to use the connection again."""
        return self.headers.get("connection", "").lower() != "close"

    @cached_property
    def body(self) -> Mapping[str, Any]:
        """The JSON object of the body; empty without a body.

        Raises:
            BadRequest: The body is not a JSON object.
        """
        if not self.raw:
            return MappingProxyType({})
        try:
            parsed = orjson.loads(self.raw)
        except orjson.JSONDecodeError as error:
            raise BadRequest(400, f"the body is not JSON: {error}") from error
        if not isinstance(parsed, dict):
            raise BadRequest(400, f"the body is a JSON {type(parsed).__name__}, not an object")
        return MappingProxyType(parsed)


class RequestReader:
    """Reads the requests of one connection, one after the other."""

    def __init__(self, accepted: socket.socket, *, max_body_bytes: int) -> None:
        self._socket = accepted
        self._max_body_bytes = max_body_bytes
        self._buffer = bytearray()

    def next(self) -> Request | None:
        """Return the next request, or None if the connection ended before it was complete.

        Raises:
            BadRequest: It cannot be read; the connection is of no further use.
        """
        try:
            method, target, headers = _parsed_head(self._until(b"\r\n\r\n", MAX_HEAD_BYTES))
            raw = self._body(headers)
        except (EOFError, OSError):
            return None
        return Request(method=method, target=target, headers=headers, raw=raw)

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("expect", "").lower() == "100-continue":
            self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        length = _number(headers.get("content-length", "0"), base=10)
        return self._exactly(self._allowed(length))

    def _chunks(self) -> bytes:
        body = bytearray()
        while size := _number(self._until(b"\r\n", MAX_HEAD_BYTES).decode("latin-1"), base=16):
            self._allowed(len(body) + size)
            body += self._exactly(size + 2)[:-2]
        while self._until(b"\r\n", MAX_HEAD_BYTES):
            pass
        return bytes(body)

    def _allowed(self, size: int) -> int:
        if size > self._max_body_bytes:
            raise BadRequest(413, f"the body has {size} bytes, allowed are {self._max_body_bytes}")
        return size

    def _until(self, mark: bytes, limit_bytes: int) -> bytes:
        while (at := self._buffer.find(mark)) < 0:
            if len(self._buffer) > limit_bytes:
                raise BadRequest(431, f"the head has more than {limit_bytes} bytes")
            self._fill()
        found = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._fill()
        found = bytes(self._buffer[:size])
        del self._buffer[:size]
        return found

    def _fill(self) -> None:
        data = self._socket.recv(READ_BYTES)
        if not data:
            raise EOFError
        self._buffer += data


def _parsed_head(head: bytes) -> tuple[str, str, Mapping[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    try:
        method, target, version = first.split(" ")
    except ValueError:
        raise BadRequest(400, f"the request line has not three words: {first[:80]!r}") from None
    if version != "HTTP/1.1":
        raise BadRequest(505, f"the wall speaks HTTP/1.1, not {version[:20]!r}")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return method, target, MappingProxyType(headers)


def _number(text: str, *, base: int) -> int:
    digits = text.partition(";")[0].strip()
    try:
        number = int(digits, base)
    except ValueError:
        number = -1
    if number < 0:
        raise BadRequest(400, f"a length of the body reads {digits[:20]!r}, not a number")
    return number
