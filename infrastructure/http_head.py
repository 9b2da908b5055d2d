"""The head of a reply: what it says of itself, and where its body ends.

Read by hand: the standard library takes each head for an e-mail, at three times the cost of all
else that a call does.
"""

import re
from collections.abc import Iterator, Mapping
from http.client import BadStatusLine, HTTPException, RemoteDisconnected

from turnkeeper.infrastructure.http_errors import ReplyTooLarge
from turnkeeper.infrastructure.http_source import Source

_MOST_HEAD_BYTES = 65_536
_MOST_HEADERS = 100
_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) +([1-9][0-9]{2})(?: [^\n]*)?\r?(?:\n|\Z)")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_HTTP = b"HTTP/"
_CONTINUE = 100
_WITHOUT_BODY = frozenset({204, 304})


class ReplyHeaders(Mapping[str, str]):
    """Headers by name in any case; several of one name are joined by ", "."""

    def __init__(self, lines: list[str]) -> None:
        self._values: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if colon:
                name, value = name.lower(), value.strip()
                known = self._values.get(name)
                self._values[name] = value if known is None else f"{known}, {value}"

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Head:
    """What stands before a body.

    Attributes:
        status: Never 100, as that only says that more comes.
        headers: As the server wrote them.
        is_chunked: Whether the body comes in chunks.
        length: How long it is, in bytes; None if its chunks or the connection's end say so.
        is_last: Whether the connection can carry no further reply.
    """

    def __init__(self, version: int, status: int, headers: ReplyHeaders, verb: str) -> None:
        self.status = status
        self.headers = headers
        coding = headers.get("transfer-encoding", "")
        self.is_chunked = coding.lower() == "chunked"
        self.length = None if self.is_chunked else _length_in(headers)
        if status in _WITHOUT_BODY or status < 200 or verb == "HEAD":
            self.length, self.is_chunked = 0, False
        self.is_last = _is_last(version, headers) or (self.length is None and not self.is_chunked)


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
        if int(status_line[2]) != _CONTINUE:
            break
    text = lines[status_line.end() :].decode("latin-1").replace("\r", "")
    headers = text.split("\n")
    if "\n " in text or "\n\t" in text:
        headers = _unfolded(headers)
    if len(headers) > _MOST_HEADERS + 2:  # and the blank line with its end
        raise HTTPException("the head has more than 100 lines")
    return Head(int(status_line[1]), int(status_line[2]), ReplyHeaders(headers), verb)


def _lines_from(source: Source, left: int) -> tuple[bytes, int]:
    """The bytes up to a blank line, or to the end of all, and how many more there may be."""
    lines = b""
    while (blank := _BLANK_LINE.search(lines)) is None:
        if not lines.startswith(_HTTP[: len(lines)]):
            raise BadStatusLine("the reply is no HTTP")
        if len(lines) > left:
            raise ReplyTooLarge(f"the head has more than {_MOST_HEAD_BYTES} bytes")
        block = source.read1()
        if not block:
            if not lines:
                raise RemoteDisconnected("closed without a reply")
            return lines, 0
        lines += block
    end = blank.end()
    if end > left:
        raise ReplyTooLarge(f"the head has more than {_MOST_HEAD_BYTES} bytes")
    source.give_back(lines[end:])
    return lines[:end], left - end


def _unfolded(lines: list[str]) -> list[str]:
    """Each header on one line; a line that begins with a space goes on with the one before."""
    whole: list[str] = []
    for line in lines:
        if line[:1] in (" ", "\t") and line and whole:
            whole[-1] += line
        else:
            whole.append(line)
    return whole


def _length_in(headers: ReplyHeaders) -> int | None:
    said = headers.get("content-length")
    if said is None:
        return None
    lengths = {length.strip() for length in said.split(",")}
    if len(lengths) > 1 or not (length := lengths.pop()).isdecimal():
        raise HTTPException("the length of the body is no number")
    return int(length)


def _is_last(version: int, headers: ReplyHeaders) -> bool:
    said = headers.get("connection", "").lower()
    if version > 0:
        return "close" in said
    return "keep-alive" not in said
