"""A reply of status 200, read as an answer whatever form its body has."""

from typing import Any

import orjson

from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.stream import StreamEvent
from turnkeeper.infrastructure.providers.openai_chunks import OpenAIAnswer
from turnkeeper.infrastructure.sse import EventTooLarge, SseEvent, SseReader, in_words

MOST_BODY_BYTES = 16 * 1024 * 1024
MOST_STREAM_BYTES = 256 * 1024 * 1024

_DONE = b"[DONE]"
_DONE_WORD = "[DONE]"
_SPACE = b" \t\r\n\xef\xbb\xbf"
_BROKEN = "an event of the answer was broken, so text may be missing"


class OpenAIReply(OpenAIAnswer):
    """An answer out of bytes: they go in as they come, events come out at once.

    The body is mostly a stream of events, but may be a whole answer or an error in JSON, or a
    page of HTML, whatever its content type says; its first bytes tell.
    """

    _reader: SseReader | None = None
    _body: bytearray | None = None
    _size = 0

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return what the bytes bring."""
        if self._reader is None:
            if self._body is None:
                chunk = self._begin(chunk)
            if self._body is not None:
                self._keep(self._body, chunk)
        if self._reader is not None:
            self._read_events(self._reader, chunk)
        return self.taken()

    def end(self, broken: Failure | None = None) -> list[StreamEvent]:
        """As for any answer, once no more bytes come."""
        if not self.is_over:
            if self._body is not None:
                self._read_body(bytes(self._body))
            elif self._reader is not None:
                self._read_tail(self._reader)
        return super().end(broken)

    def _begin(self, chunk: bytes) -> bytes:
        """Decide by the first byte that is no white space."""
        chunk = chunk.lstrip(_SPACE)
        if chunk[:1] in (b"{", b"[", b"<"):
            self._body = bytearray()
        elif chunk:
            self._reader = SseReader()
        return chunk

    def _keep(self, body: bytearray, chunk: bytes) -> None:
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            self._fail_as_too_large()

    def _read_events(self, reader: SseReader, piece: bytes) -> None:
        self._size += len(piece)
        try:
            events = reader.feed(piece)
        except EventTooLarge:
            self._fail_as_too_large()
            return
        for event in events:
            if event == _DONE:
                self.is_over = True
                return
            chunk = None
            if isinstance(event, bytes):
                try:
                    chunk = orjson.loads(event)
                except ValueError:
                    chunk = None  # it may still be JSON in text, where broken UTF-8 is replaced
            if not isinstance(chunk, dict):
                self._read_words(in_words(event))
            elif self.takes(chunk):
                continue
            else:
                self.read(chunk)
            if self.is_over:
                return
        if self._size > MOST_STREAM_BYTES:
            self._fail_as_too_large()

    def _read_words(self, event: SseEvent) -> None:
        data = event.data.strip()
        if data == _DONE_WORD:
            self.is_over = True
        elif data[:1] == "{" or (data and event.event == "message"):
            self._read_json(event)
        elif event.event == "error":
            self.read_error(data, event.event)

    def _read_json(self, event: SseEvent) -> None:
        try:
            chunk = orjson.loads(event.data)
        except ValueError:
            # What it said is lost, and an answer with a hole is no answer.
            self.fail(FailureKind.NETWORK, "broken-event", _BROKEN)
            return
        if isinstance(chunk, dict):
            if event.event == "error" or not self.takes(chunk):
                self.read(chunk, event.event)
        elif isinstance(chunk, list):
            self._read_list(chunk)

    def _read_list(self, chunk: list[Any]) -> None:
        """Some wrap an error in a list."""
        if any(isinstance(entry, dict) and entry.get("error") for entry in chunk):
            self.read_error(chunk)

    def _read_tail(self, reader: SseReader) -> None:
        """Read what stood behind the last whole event: an end without care, an error, or half."""
        try:
            tail = reader.end()
        except EventTooLarge:
            return
        last = tail.unterminated
        if last is not None and _is_whole(last.data):
            self._read_words(last)
        elif isinstance(body := _json(tail.raw), dict | list):
            self._read_whole(body)

    def _read_body(self, body: bytes) -> None:
        if body[:1] == b"<":
            self.fail(FailureKind.SERVER_ERROR, "html", "the answer is a page of HTML")
        elif isinstance(read := _json(body), dict | list):
            self._read_whole(read)
        else:
            self.fail(FailureKind.NETWORK, "broken-body", "the answer's JSON is not complete")

    def _read_whole(self, body: dict[str, Any] | list[Any]) -> None:
        if isinstance(body, dict) and body.get("choices"):
            self.read(body)
        else:
            self.read_error(body)

    def _fail_as_too_large(self) -> None:
        self.fail(FailureKind.SERVER_ERROR, "too-large", "the answer is larger than allowed")


def _is_whole(data: str) -> bool:
    return data.strip() == _DONE_WORD or _json(data) is not None


def _json(text: str | bytes) -> object:
    try:
        read: object = orjson.loads(text)
    except ValueError:
        return None
    return read
