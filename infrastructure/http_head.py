"""The head of a reply: what it says of itself, and where its body ends.

Read by hand: the standard library takes each head for an e-mail, at three times the cost of all
else that a call does.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from http.client import BadStatusLine, HTTPException, RemoteDisconnected

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.http_errors import ReplyTooLarge
from turnkeeper.infrastructure.http_source import Source

_MOST_HEAD_BYTES = 65_536
_MOST_LINES = 102  # a hundred headers, and the first line, and the blank one
_MOST_FRAMINGS = 64  # that are remembered
_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) +([1-9][0-9]{2})(?: [^\n]*)?\r?(?:\n|\Z)")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_FOLD = re.compile(r"\n(?=[ \t])")
_HEADER = re.compile(r"\n([^\n:]*):([^\n]*)")
_FRAMING = re.compile(
    r"\n(content-length|transfer-encoding|connection|content-encoding):([^\n]*)", re.IGNORECASE
)
_HTTP = b"HTTP/"
_CONTINUE = b"100"
_WITHOUT_BODY = frozenset({204, 304})


class ReplyHeaders(Mapping[str, str]):
    """Headers by name in any case; several of one name are joined by ", ".

    Args:
        text: Each behind a line feed. They are taken apart once somebody asks for one.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _values(self) -> dict[str, str]:
        return _joined(_HEADER.findall(self._text))

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@frozen
class Framing:
    """How a body is packed, and where it ends.

    Attributes:
        encoding: What the body is packed by, in small letters.
        is_chunked: Whether the body comes in chunks.
        length: How long it is, in bytes; None if its chunks or the connection's end say so.
        is_last: Whether the connection can carry no further reply.
    """

    encoding: str
    is_chunked: bool
    length: int | None
    is_last: bool


class Head:
    """What stands before a body.

    Attributes:
        status: Never 100, as that only says that more comes.
        framing: What it says of the body.
    """

    def __init__(self, status: int, text: str, framing: Framing) -> None:
        self.status = status
        self.framing = framing
        self._text = text

    @cached_property
    def headers(self) -> ReplyHeaders:
        """As the server wrote them."""
        return ReplyHeaders(self._text)


def head_from(source: Source, verb: str) -> Head:
    """Read a head, and leave what stands behind it in the source.

    Raises:
        HTTPException: It is no HTTP, or larger than 64 KiB with all that stands before it.
        ConnectionError: Nothing came.
    """
    left = _MOST_HEAD_BYTES
    while True:
        lines, left = _lines_from(source, left)
        status_line = _STATUS_LINE.match(lines)
        if status_line is None:
            raise BadStatusLine("the reply begins with no status")
        version, code = status_line.groups()
        if code != _CONTINUE:
            break
    text = lines.decode("latin-1").replace("\r", "")
    if "\n " in text or "\n\t" in text:
        text = _FOLD.sub("", text)  # a line that begins with a space goes on with the one before
    if text.count("\n") > _MOST_LINES:
        raise HTTPException("the head has more than 100 lines")
    status = int(code)
    return Head(status, text, _framing(tuple(_FRAMING.findall(text)), status, verb, version))


@lru_cache(_MOST_FRAMINGS)
def _framing(said: tuple[tuple[str, str], ...], status: int, verb: str, version: bytes) -> Framing:
    """What these headers come to in a reply to such a request."""
    framing = _joined(said)
    is_chunked = framing.get("transfer-encoding", "").lower() == "chunked"
    length = None if is_chunked else _length_in(framing)
    if status in _WITHOUT_BODY or status < 200 or verb == "HEAD":
        length, is_chunked = 0, False
    ends_with_connection = length is None and not is_chunked
    return Framing(
        encoding=framing.get("content-encoding", "").lower(),
        is_chunked=is_chunked,
        length=length,
        is_last=ends_with_connection or _is_last(framing.get("connection", ""), version == b"0"),
    )


def _lines_from(source: Source, left: int) -> tuple[bytes, int]:
    """The bytes up to a blank line, or to the end of all, and how many more there may be."""
    lines = source.read1()
    if not lines:
        raise RemoteDisconnected("closed without a reply")
    while (blank := _BLANK_LINE.search(lines)) is None:
        if not lines.startswith(_HTTP[: len(lines)]):
            raise BadStatusLine("the reply is no HTTP")
        if len(lines) > left:
            raise ReplyTooLarge(f"the head has more than {_MOST_HEAD_BYTES} bytes")
        block = source.read1()
        if not block:
            return lines, 0
        lines += block
    end = blank.end()
    if end > left:
        raise ReplyTooLarge(f"the head has more than {_MOST_HEAD_BYTES} bytes")
    source.give_back(lines[end:])
    return lines[:end], left - end


def _joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By name in small letters; the values of one name together."""
    values: dict[str, str] = {}
    for name, value in headers:
        name, value = name.lower(), value.strip()
        values[name] = f"{values[name]}, {value}" if name in values else value
    return values


def _length_in(framing: Mapping[str, str]) -> int | None:
    said = framing.get("content-length")
    if said is None:
        return None
    lengths = {length.strip() for length in said.split(",")}
    if len(lengths) > 1 or not (length := lengths.pop()).isdecimal():
        raise HTTPException("the length of the body is no number")
    return int(length)


def _is_last(connection: str, is_old: bool) -> bool:
    said = connection.lower()
    return "keep-alive" not in said if is_old else "close" in said
