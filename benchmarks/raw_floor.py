"""The least of all: ready bytes over a socket of the thread's own, and what comes back unread."""

import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import orjson

READ_BYTES = 4096
END = b"\r\n0\r\n\r\n"


class RawFloor:
    """A turn that looks for the end of its answer and at nothing else."""

    def __init__(self, base_url: str, model: str, messages: list[dict[str, Any]]) -> None:
        at = urlsplit(base_url)
        assert at.hostname is not None
        assert at.port is not None
        self._address = (at.hostname, at.port)
        body = orjson.dumps({"model": model, "messages": messages, "stream": True})
        self._request = (
            f"POST {at.path}/chat/completions HTTP/1.1\r\nHost: {at.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body
        self._of_thread = threading.local()

    def turn(self) -> int:
        """Ask once, and return how many bytes came."""
        line = self._line()
        line.sendall(self._request)
        size, last = 0, b""
        while not last.endswith(END):
            came = line.recv(READ_BYTES)
            assert came, "the wall closed the connection"
            size += len(came)
            last = last[-len(END) :] + came
        return size

    def close(self) -> None:
        """Leave the sockets to their threads' ends."""

    def _line(self) -> socket.socket:
        if not hasattr(self._of_thread, "line"):
            line = socket.create_connection(self._address)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._of_thread.line = line
        kept: socket.socket = self._of_thread.line
        return kept
