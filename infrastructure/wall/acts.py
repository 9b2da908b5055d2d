"""The steps in which bytes leave the wall, and the HTTP around an answer; all of it pure."""

from collections.abc import Iterator
from http.client import responses

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.wall.answer import Answer, Pairs
from turnkeeper.infrastructure.wall.behaviour import Cut, Framing
from turnkeeper.infrastructure.wall.dialect import Asked, Dialect

LAST_CHUNK = b"0\r\n\r\n"


@frozen
class Send:
    """One write; `tokens` is how many of the answer's tokens are in it."""

    data: bytes
    tokens: int = 0


@frozen
class Pause:
    """Silence; None for ever."""

    for_s: float | None


@frozen
class Leave:
    """The connection ends."""

    how: Cut


Act = Send | Pause | Leave


@frozen
class Voice:
    """In which words one request is answered."""

    dialect: Dialect
    asked: Asked
    keep_alive: bool = True


class Stream:
    """An answer on its way: acts for its head, its tokens in parts, and its end."""

    def __init__(self, answer: Answer, voice: Voice) -> None:
        self._answer = answer
        self._keep_alive = voice.keep_alive
        self._rendered = voice.dialect.rendered(answer, voice.asked)

    def head(self) -> Iterator[Act]:
        """The silence before the headers, and these."""
        if self._answer.before_s:
            yield Pause(for_s=self._answer.before_s)
        headers = typed(self._answer.headers, self._rendered.content_type)
        yield Send(data=head(200, headers, self._answer.framing, keep_alive=self._keep_alive))

    def opening(self) -> Iterator[Act]:
        """What comes before the first token."""
        return (self.event(data) for data in self._rendered.opening)

    def first(self, tokens: int) -> Iterator[Act]:
        """The tokens up to this one; nothing at all for 0."""
        if tokens:
            yield from self.opening()
        yield from self._paced(0, tokens)

    def rest(self, tokens: int) -> Iterator[Act]:
        """What `first` leaves, and the closing."""
        if not tokens:
            yield from self.opening()
        yield from self._paced(tokens, len(self._rendered.tokens))
        yield from (self.event(data) for data in self._rendered.closing)

    def rest_bytes(self, tokens: int) -> bytes:
        """What `rest` sends, in one piece and without framing."""
        opening = () if tokens else self._rendered.opening
        return b"".join((*opening, *self._rendered.tokens[tokens:], *self._rendered.closing))

    def end(self) -> Iterator[Act]:
        """The proper end of the body."""
        yield Send(data=LAST_CHUNK) if self._answer.framing == "chunked" else Leave(how="close")

    def event(self, data: bytes, tokens: int = 0) -> Send:
        """Any bytes, framed as this answer is."""
        return Send(data=framed(data, self._answer.framing), tokens=tokens)

    def _paced(self, start: int, stop: int) -> Iterator[Act]:
        for number, data in enumerate(self._rendered.tokens[start:stop], start):
            if number and self._answer.gap_s:
                yield Pause(for_s=self._answer.gap_s)
            yield self.event(data, tokens=1)


def head(status: int, headers: Pairs, framing: Framing, *, keep_alive: bool) -> bytes:
    """The status line and the headers; a length is the caller's to give."""
    first = f"HTTP/1.1 {status} {responses.get(status, 'Unknown')}"
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    if framing == "chunked":
        lines.append("Transfer-Encoding: chunked")
    if framing == "close" or not keep_alive:
        lines.append("Connection: close")
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def typed(headers: Pairs, content_type: str) -> Pairs:
    """The headers, with a content type unless they have one."""
    if any(name.lower() == "content-type" for name, _ in headers):
        return headers
    return (("Content-Type", content_type), *headers)


def framed(data: bytes, framing: Framing) -> bytes:
    """Bytes as the body carries them; an empty chunk would be the last one, so it is none."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data and framing == "chunked" else data
