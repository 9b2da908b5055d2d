"""A wall for hundreds of streams: one thread that looks at a clock and at its sockets.

The wall of `turnkeeper.infrastructure` has a thread for each connection, and at hundreds of streams
takes more of the machine than those who read them. This one has its bytes ready, takes 4 µs a write
beside what the kernel takes to deliver it and wake who reads, and says itself how late it was.

``python -m benchmarks.timed_wall TOKENS GAP_S`` prints its address and ends with its input.

* ``POST /v1/chat/completions``: a stream of so many tokens, one each GAP_S. What is due at the same
  instant is one write: the head, the role and the first token; the last one and all that ends it.
* ``GET /late``: how late its writes were since this was last asked, in JSON.
* ``GET /gap/SECONDS``: from now on streams have this much between tokens.
"""

import heapq
import json
import os
import re
import selectors
import socket
import sys
import time
from contextlib import AbstractContextManager, suppress
from itertools import count
from typing import TextIO

from benchmarks.neighbour import neighbour
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.dialect import Asked, OpenAiDialect

CHAT = "POST /v1/chat/completions"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LENGTH = re.compile(rb"(?im)^content-length: *(\d+)")
BACKLOG = 1024
READ_BYTES = 65_536


def timed_wall(tokens: int, gap_s: float) -> AbstractContextManager[str]:
    """The address of one in a process of its own."""
    return neighbour("benchmarks.timed_wall", tokens, gap_s)


class TimedWall:
    """Serves in the thread that calls `serve`."""

    def __init__(self, tokens: int, gap_s: float) -> None:
        self._writes = writes(tokens)
        self._gap_s = gap_s
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._sockets = selectors.DefaultSelector()
        self._sockets.register(self._listener, selectors.EVENT_READ, self._welcome)
        self._due: list[tuple[float, int, _Stream]] = []
        self._order = count()  # for streams that are due at the same instant
        self._late_s: list[float] = []
        self._cpu_s = time.process_time()

    def serve(self, until: TextIO) -> None:
        """Answer until there is something to read, be it the end."""
        self._sockets.register(until, selectors.EVENT_READ)
        while True:
            for key, _ in self._sockets.select(self._rest_s()):
                if key.fileobj is until:
                    return
                key.data()
            self._write_what_is_due()

    def _rest_s(self) -> float | None:
        return max(0.0, self._due[0][0] - time.monotonic()) if self._due else None

    def _write_what_is_due(self) -> None:
        while self._due and (late_s := time.monotonic() - self._due[0][0]) >= 0:
            due_s, order, stream = self._due[0]
            self._late_s.append(late_s)
            if stream.write_next():
                heapq.heapreplace(self._due, (due_s + stream.gap_s, order, stream))
            else:
                heapq.heappop(self._due)
                self._answer(stream.line)

    def _welcome(self) -> None:
        line = _Line(self._listener.accept()[0])

        def read() -> None:
            if line.read():
                self._answer(line)
            else:
                self._sockets.unregister(line.socket)
                line.socket.close()

        self._sockets.register(line.socket, selectors.EVENT_READ, read)

    def _answer(self, line: "_Line") -> None:
        """Answer the next request, if it is there as a whole and the last one has its answer."""
        asked = None if line.is_answered_now else line.next_request()
        if asked == CHAT:
            line.is_answered_now = True
            stream = _Stream(line, self._writes, self._gap_s)
            heapq.heappush(self._due, (time.monotonic(), next(self._order), stream))
        elif asked is not None:
            line.write(_reply(*self._said(asked)))
            self._answer(line)

    def _said(self, asked: str) -> tuple[str, object]:
        verb, _, path = asked.partition(" ")
        if path == "/late":
            return "200 OK", self._late()
        if path.startswith("/gap/"):
            self._gap_s = float(path.removeprefix("/gap/"))
            return "200 OK", self._gap_s
        return "404 Not Found", f"there is no {verb} {path}"

    def _late(self) -> dict[str, float]:
        late_s, self._late_s = sorted(self._late_s), []
        before_s, self._cpu_s = self._cpu_s, time.process_time()
        if not late_s:
            return {"writes": 0}
        return {
            "writes": len(late_s),
            "p50_ms": late_s[len(late_s) // 2] * 1e3,
            "p99_ms": late_s[int(0.99 * (len(late_s) - 1))] * 1e3,
            "cpu_us_a_write": (self._cpu_s - before_s) / len(late_s) * 1e6,
        }


class _Line:
    """One connection."""

    def __init__(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = accepted
        self.is_answered_now = False
        self._came = b""

    def read(self) -> bool:
        """Keep what came; tell whether the client is still there."""
        try:
            came = self.socket.recv(READ_BYTES)
        except OSError:
            return False
        self._came += came
        return bool(came)

    def next_request(self) -> str | None:
        """Verb and path of the next request, once it is there as a whole."""
        head, end, rest = self._came.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        size = int(length[1]) if length else 0
        if not end or len(rest) < size:
            return None
        self._came = rest[size:]
        return head.decode("latin-1").partition(" HTTP/")[0]

    def write(self, data: bytes) -> bool:
        """Tell whether all went out: who does not read loses its connection."""
        with suppress(OSError):
            if self.socket.send(data) == len(data):
                return True
            self.socket.shutdown(socket.SHUT_RDWR)
        return False


class _Stream:
    """An answer that is being written."""

    def __init__(self, line: _Line, writes: tuple[bytes, ...], gap_s: float) -> None:
        self.line = line
        self.gap_s = gap_s
        self._left = iter(writes)
        self._next: bytes | None = next(self._left)

    def write_next(self) -> bool:
        """Tell whether there is more to write."""
        assert self._next is not None
        if self.line.write(self._next):
            self._next = next(self._left, None)
        else:
            self._next = None
        self.line.is_answered_now = self._next is not None
        return self.line.is_answered_now


def writes(tokens: int) -> tuple[bytes, ...]:
    """The bytes of a whole reply, those of one instant together."""
    words = tuple(f"word{n} " for n in range(tokens))
    asked = Asked(model="streams", streamed=True)
    answer = OpenAiDialect().rendered(Answer(tokens=words), asked)
    events = [[_chunk(event)] for event in answer.tokens]
    events[0] = [HEAD, *map(_chunk, answer.opening), *events[0]]
    events[-1] += [*map(_chunk, answer.closing), _chunk(b"")]
    return tuple(map(b"".join, events))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _reply(status: str, value: object) -> bytes:
    body = json.dumps(value).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def main() -> None:
    wall = TimedWall(int(sys.argv[1]), float(sys.argv[2]))
    with suppress(PermissionError):
        os.nice(-10)  # it stands for machines elsewhere
    print(wall.url, flush=True)
    wall.serve(sys.stdin)


if __name__ == "__main__":
    main()
