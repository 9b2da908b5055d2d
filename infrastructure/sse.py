"""Server-sent events, out of bytes that come in pieces of any size."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import sseclient

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.line_ends import PlainLineEnds

_FIELDS = frozenset({b"data", b"event", b"id", b"retry"})
_RAW_CHARS = 65_536  # how much is kept of what is no event
_MANY_LINES = 64  # sseclient joins line by line, which is quadratic for an event of many lines
_LF = 10

# What most streams are made of: events that are one line of data. No line holds a line feed.
_EVENT = re.compile(rb"data: ?(.*)\n\n")
_EVENTS = re.compile(rb"(?:data:.*\n\n)*")


class EventTooLarge(Exception):
    """An event is larger than the reader allows; nothing behind it can be read."""


@dataclass(slots=True)
class SseEvent:
    """One event; `event` is "message" where the stream gave no name, and `data` may be empty.

    Not frozen: one may be made for each piece of a stream.
    """

    event: str
    data: str


Event = bytes | SseEvent
"""An event; of one that is nothing but a line of data, and so has no name, the data as it came."""


def in_words(event: Event) -> SseEvent:
    """The event with its name, and its data as text, where broken UTF-8 is replaced."""
    if isinstance(event, SseEvent):
        return event
    return SseEvent("message", event.decode("utf-8", "replace"))


@frozen(kw_only=False)
class SseTail:
    """What a stream held besides its events.

    Attributes:
        unterminated: The last event, if the stream ended without the blank line behind it: cut
            off, or whole and carelessly ended. Else None.
        raw: Lines that are no event stream at all, such as an error in bare JSON, and then
            whatever stood behind the last event; of much text only the end.
    """

    unterminated: SseEvent | None
    raw: str


class SseReader:
    """Reads one stream. Line ends may be of any kind, and mixed; broken UTF-8 is replaced.

    What an event costs grows with its size, not with the number of its pieces.

    Args:
        max_event_bytes: The largest event that is read.

    Attributes:
        comments: How many comment lines have come; providers keep a connection alive with them.
    """

    comments = 0
    _is_fresh = True  # the next byte begins an event, and is what it seems to be
    _has_begun = False
    _is_broken = False

    def __init__(self, *, max_event_bytes: int = 8 * 1024 * 1024) -> None:
        self._max_event_bytes = max_event_bytes
        self._begun = bytearray()  # the block that is not complete; never starts with a line end

    @cached_property
    def _line_ends(self) -> PlainLineEnds:
        return PlainLineEnds(at_start=not self._has_begun)

    @cached_property
    def _client(self) -> "_Client":
        return _Client()

    @cached_property
    def _strays(self) -> "_Strays":
        return _Strays()

    def feed(self, chunk: bytes) -> Sequence[Event]:
        """Return the events that `chunk` completes.

        Raises:
            EventTooLarge: An event is larger than allowed. Events before it were returned.
        """
        if (  # words come one by one; no expression is matched, as that takes memory anew each time
            self._is_fresh
            and chunk.startswith(b"data:")
            and chunk.endswith(b"\n\n")
            and b"\r" not in chunk
            and len(chunk) <= self._max_event_bytes
        ):
            has_space = chunk.startswith(b" ", 5)
            events = chunk[6:-2].split(b"\n\ndata: ") if has_space else [chunk[5:-2]]
            if chunk.count(b"\n") == 2 * len(events):  # so none has a further line
                self._has_begun = True
                return events
        return self._fed(chunk)

    def _fed(self, chunk: bytes) -> list[Event]:
        if self._is_broken:
            raise self._too_large()
        self._is_fresh = False
        ends = self._line_ends
        if ends.takes_care or b"\r" in chunk:
            chunk = ends.plain(chunk)
        events = self._read(chunk)
        self._is_fresh = not (self._begun or self._is_broken or ends.takes_care)
        return events

    def _read(self, chunk: bytes) -> list[Event]:
        begun = self._begun
        if begun:
            if _LF not in chunk or not self._completes(chunk):
                return self._keep(chunk, [])
            begun += chunk
            chunk = bytes(begun)
            begun.clear()
        return self._read_whole(chunk)

    def end(self) -> SseTail:
        """Return what is left when the stream has ended.

        Raises:
            EventTooLarge: As in `feed`.
        """
        if self._is_broken:
            raise self._too_large()
        rest = self._line_ends.end() or bytes(self._begun)
        fields, _ = self._sorted(rest)
        unterminated = self._client.event_of(fields)
        self._strays.add(rest[-4 * _RAW_CHARS :])
        return SseTail(unterminated, self._strays.text())

    def _completes(self, chunk: bytes) -> bool:
        return b"\n\n" in chunk or (self._begun[-1] == _LF and chunk.startswith(b"\n"))

    def _read_whole(self, chunk: bytes) -> list[Event]:
        events: list[Event] = []
        if len(chunk) <= self._max_event_bytes:  # so none of them is too large
            found = _EVENTS.match(chunk)
            at = found.end() if found else 0
            events = _EVENT.findall(chunk, 0, at)
            if at == len(chunk):
                return events
            chunk = chunk[at:]
        *blocks, rest = chunk.split(b"\n\n")
        self._read_blocks(blocks, events)
        if rest or self._is_broken:
            return self._keep(rest, events)
        return events

    def _read_blocks(self, blocks: list[bytes], events: list[Event]) -> None:
        for block in blocks:
            if len(block) > self._max_event_bytes < len(block.lstrip(b"\n")):
                self._is_broken = True
                return
            if block[:5] == b"data:" and _LF not in block:
                events.append(block[6:] if block[5:6] == b" " else block[5:])
            elif event := self._event_of(block):
                events.append(event)

    def _event_of(self, block: bytes) -> SseEvent | None:
        fields, strays = self._sorted(block)
        if strays:
            self._strays.add(b"\n".join(strays))
        return self._client.event_of(fields)

    def _sorted(self, block: bytes) -> tuple[list[bytes], list[bytes]]:
        """Return the fields, none if there is no data among them, and the lines that are none."""
        fields, strays, has_data = [], [], False
        for line in block.split(b"\n"):
            name = line.partition(b":")[0]
            if name in _FIELDS:
                fields.append(line)
                has_data = has_data or name == b"data"
            elif name:
                strays.append(line)
            elif line:
                self.comments += 1
        return fields if has_data else [], strays

    def _keep(self, rest: bytes, events: list[Event]) -> list[Event]:
        self._begun += rest if self._begun else rest.lstrip(b"\n")
        # One more, since the last byte may be half of the blank line.
        if len(self._begun) > self._max_event_bytes + 1:
            self._is_broken = True
        if self._is_broken:
            self._begun.clear()
            if not events:
                raise self._too_large()
        return events

    def _too_large(self) -> EventTooLarge:
        return EventTooLarge(f"an event has more than {self._max_event_bytes} bytes")


class _Client:
    """Hands one block after another to one `SSEClient`, as making one costs more than an event."""

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._events: Iterator[sseclient.Event] | None = None

    def event_of(self, fields: list[bytes]) -> SseEvent | None:
        """Return the event that these lines make, data among them, or None without lines."""
        if not fields:
            return None
        text = b"\n".join(fields).decode("utf-8", "replace")
        if len(fields) > _MANY_LINES:
            return _event_of_many_lines(text)
        self._blocks.append(text.encode() + b"\n\n")
        if self._events is None:
            self._events = sseclient.SSEClient(_taken(self._blocks)).events()
        event = next(self._events)
        return SseEvent(event.event, event.data)


def _taken(blocks: list[bytes]) -> Iterator[bytes]:
    while blocks:
        yield blocks.pop()


def _event_of_many_lines(text: str) -> SseEvent:
    name, data = "", []
    for line in text.split("\n"):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
    return SseEvent(name or "message", "\n".join(data))


class _Strays:
    """The last lines that are no events."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque()
        self._size = 0

    def add(self, lines: bytes) -> None:
        text = lines.decode("utf-8", "replace")[-_RAW_CHARS:]
        self._texts.append(text)
        self._size += len(text)
        while self._size > _RAW_CHARS:
            self._size -= len(self._texts.popleft())

    def text(self) -> str:
        return "\n".join(self._texts).strip()
