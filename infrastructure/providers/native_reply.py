"""A reply of status 200, whatever form its body has; for all adapters with an own form."""

from collections.abc import Iterator

import orjson

from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.stream import StreamEvent
from turnkeeper.infrastructure.providers.native_answer import NativeAnswer
from turnkeeper.infrastructure.sse import Event, EventTooLarge, SseEvent, SseReader, in_words

MOST_BODY_BYTES = 16 * 1024 * 1024
MOST_STREAM_BYTES = 256 * 1024 * 1024

_DONE = "[DONE]"
_SPACE = b" \t\r\n\xef\xbb\xbf"


class NativeReply:
    """Bytes go in as they come, events come out at once.

    The body is mostly a stream of events, but may be a whole answer, a list of its parts, an
    error in JSON or a page of HTML, whatever its content type says; its first bytes tell.
    """

    def __init__(self, answer: NativeAnswer) -> None:
        self._answer = answer
        self._events: SseReader | None = None
        self._body: bytearray | None = None
        self._size = 0

    @property
    def is_over(self) -> bool:
        """Whether all has come that is of use; more is not read."""
        return self._answer.is_over or self._answer.failure is not None

    @property
    def is_finished(self) -> bool:
        """Whether a reason for the end has come; something may follow."""
        return self._answer.is_finished

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return what the bytes bring."""
        if self._events is None and self._body is None:
            chunk = self._begin(chunk)
        self._size += len(chunk)
        if self._body is not None:
            self._body += chunk
            self._check_size(MOST_BODY_BYTES)
        elif self._events is not None and chunk:
            self._read_events(self._events, chunk)
            self._check_size(MOST_STREAM_BYTES)
        return self._answer.taken()

    def end(self, broken: Failure | None = None) -> Iterator[StreamEvent]:
        """Return the last events, once no more bytes come; the very last is terminal.

        Args:
            broken: How the connection broke; None if it did not.
        """
        if not self.is_over:
            if self._body is not None:
                self._read_body(bytes(self._body))
            elif self._events is not None:
                self._read_tail(self._events)
        return self._answer.end(broken)

    def _begin(self, chunk: bytes) -> bytes:
        """Decide by the first byte that is no white space."""
        chunk = chunk.lstrip(_SPACE)
        if chunk[:1] in (b"{", b"[", b"<"):
            self._body = bytearray()
        elif chunk:
            self._events = SseReader()
        return chunk

    def _check_size(self, most_bytes: int) -> None:
        if self._size > most_bytes:
            self._answer.fail(
                FailureKind.SERVER_ERROR, "too-large", "the answer is larger than allowed"
            )

    def _read_events(self, reader: SseReader, chunk: bytes) -> None:
        try:
            events = reader.feed(chunk)
        except EventTooLarge:
            self._answer.fail(
                FailureKind.SERVER_ERROR, "too-large", "an event is larger than allowed"
            )
            return
        for event in events:
            if self.is_over:
                return
            self._read_event(event)

    def _read_event(self, event: Event) -> None:
        event = in_words(event)
        try:
            document = orjson.loads(event.data)
        except ValueError:
            self._read_odd(event)
            return
        self._read_document(document, event.event)

    def _read_odd(self, event: SseEvent) -> None:
        data = event.data.strip()
        if event.event == "error":
            self._answer.read_error(data, event.event)
        elif data and data != _DONE:
            # What it said is lost, and an answer with a hole is no answer.
            self._answer.fail(
                FailureKind.NETWORK,
                "broken-event",
                "an event of the answer was broken, so text may be missing",
            )

    def _read_document(self, document: object, event: str = "message") -> None:
        """Read one; several may come in a list, and an error often comes in one."""
        for entry in document if isinstance(document, list) else (document,):
            if isinstance(entry, dict):
                self._answer.read(entry, event)

    def _read_tail(self, reader: SseReader) -> None:
        """Read what stood behind the last whole event: an end without care, an error, or half."""
        try:
            tail = reader.end()
        except EventTooLarge:
            return
        last = tail.unterminated
        if last is not None and _json(last.data) is not None:
            self._read_event(last)
        elif (body := _json(tail.raw)) is not None:
            self._read_whole(body)

    def _read_body(self, body: bytes) -> None:
        if body[:1] == b"<":
            self._answer.fail(FailureKind.SERVER_ERROR, "html", "the answer is a page of HTML")
        elif (whole := _json(body)) is not None:
            self._read_whole(whole)
        else:
            self._answer.fail(
                FailureKind.NETWORK, "broken-body", "the answer's JSON is not complete"
            )

    def _read_whole(self, body: object) -> None:
        """Read what came without events; what is no part of an answer is an error."""
        entries = body if isinstance(body, list) else [body]
        if any(isinstance(entry, dict) and self._answer.knows(entry) for entry in entries):
            self._read_document(body)
        else:
            self._answer.read_error(body)


def _json(text: str | bytes) -> object:
    try:
        read: object = orjson.loads(text)
    except ValueError:
        return None
    return read
