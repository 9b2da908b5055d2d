"""Line ends of any kind, made plain while the bytes come in."""

_BOM = b"\xef\xbb\xbf"


class PlainLineEnds:
    """Turns CRLF, CR and LF, mixed and cut anywhere, into LF, and drops a BOM at the start.

    Nothing is held back: a CR ends its line at once, and an LF right behind it is dropped.

    Args:
        at_start: Whether nothing of the stream has gone by.

    Attributes:
        takes_care: Whether the next chunk has to be made plain, also where it holds no CR.
    """

    def __init__(self, *, at_start: bool = True) -> None:
        # The first bytes, until it is clear whether they are a BOM.
        self._head: bytes | None = b"" if at_start else None
        self._after_cr = False
        self.takes_care = at_start

    def plain(self, chunk: bytes) -> bytes:
        """Return the chunk with plain line ends."""
        if self._head is not None:
            chunk = self._without_bom(chunk)
        if chunk and (self._after_cr or b"\r" in chunk):
            chunk = self._with_plain_ends(chunk)
        self.takes_care = self._after_cr or self._head is not None
        return chunk

    def end(self) -> bytes:
        """Return what was not given out yet: a stream of less than a BOM."""
        return self._head or b""

    def _without_bom(self, chunk: bytes) -> bytes:
        assert self._head is not None
        chunk = self._head + chunk
        if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
            self._head = chunk
            return b""
        self._head = None
        return chunk.removeprefix(_BOM)

    def _with_plain_ends(self, chunk: bytes) -> bytes:
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        last = chunk[-1:]
        self._after_cr = last == b"\r"
        lines = chunk.splitlines()  # of bytes, where only CR and LF end a line
        if last in (b"\r", b"\n"):
            lines.append(b"")
        return b"\n".join(lines)
