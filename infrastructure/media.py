"""Looks at media: what their first bytes are, whatever they are called."""

import struct
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Mapping
from io import BytesIO
from threading import Lock
from urllib.parse import unquote_to_bytes

from turnkeeper.application.ports.media_reader import MediaReader
from turnkeeper.domain.conversation import MediaKind
from turnkeeper.domain.media import Asked, Readable, Reading, Unreadable
from turnkeeper.infrastructure.media_fetcher import Fetch, MediaFetcher

HEAD_BYTES = 4_096
MOST_URIS = 1_024

Place = tuple[MediaKind, str]

_SENT_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SIZE_COMES_FIRST = frozenset({"image/png", "image/gif"})
_NOT_KNOWN = Unreadable("is of no kind that is known")
_GONE = Unreadable("could not be fetched")


class MediaCheck(MediaReader):
    """Reads what is inline, and with a fetcher also what is elsewhere, all at the same time.

    What was fetched well is remembered by its address, so that a next attempt does not fetch it
    again. What is of a kind that cannot be sent, such as a web page, is unreadable.

    Args:
        fetcher: Fetches the beginning of what is elsewhere; None takes an address at its word.
        most_uris: Addresses that are remembered; the ones not used lately are forgotten.
    """

    def __init__(self, fetcher: MediaFetcher | None = None, *, most_uris: int = MOST_URIS) -> None:
        self._fetcher = fetcher
        self._most_uris = most_uris
        self._lock = Lock()  # guards what is known
        self._known: OrderedDict[Place, Reading] = OrderedDict()

    def read(self, asked: tuple[Asked, ...]) -> Mapping[Asked, Reading]:
        readings: dict[Asked, Reading] = {}
        elsewhere: list[Asked] = []
        for one in asked:
            kind, uri, _ = one
            if uri[:5].lower() == "data:":
                readings[one] = _inline(kind, uri)
            elif (known := self._recalled((kind, uri))) is not None:
                readings[one] = known
            elif uri.lower().startswith(("http://", "https://")):
                elsewhere.append(one)
        if self._fetcher is not None and elsewhere:
            readings |= self._fetched(self._fetcher, elsewhere)
        return readings

    def _fetched(self, fetcher: MediaFetcher, asked: list[Asked]) -> dict[Asked, Reading]:
        heads = fetcher.heads(tuple(dict.fromkeys(uri for _, uri, _ in asked)), HEAD_BYTES)
        readings: dict[Asked, Reading] = {}
        for kind, uri, mime_type in asked:
            match heads[uri]:
                case bytes() as head:
                    reading = _reading(kind, uri, head)
                    self._remember((kind, uri), reading)
                case Fetch.MOVED:  # a provider may go there, we do not
                    continue
                case Fetch.FAILED:
                    reading = _GONE
            readings[kind, uri, mime_type] = reading
        return readings

    def _recalled(self, place: Place) -> Reading | None:
        with self._lock:
            if place in self._known:
                self._known.move_to_end(place)
            return self._known.get(place)

    def _remember(self, place: Place, reading: Reading) -> None:
        with self._lock:
            self._known[place] = reading
            if len(self._known) > self._most_uris:
                self._known.popitem(last=False)


def _inline(kind: MediaKind, uri: str) -> Reading:
    """An inline image, under its true type."""
    head, comma, data = uri.partition(",")
    is_base64 = head.lower().endswith(";base64")
    try:
        if is_base64:
            first = b64decode(data[: HEAD_BYTES // 3 * 4], validate=True)
        else:
            first = unquote_to_bytes(data[:HEAD_BYTES])
    except ValueError:  # it is no base64
        return Unreadable("is broken")
    if not comma or not first:
        return Unreadable("is empty")
    reading = _reading(kind, uri, first)
    if isinstance(reading, Unreadable) or reading.mime_type is None:
        return reading
    claimed = head[len("data:") :].partition(";")[0].strip().lower()
    if claimed == reading.mime_type:
        return reading
    _, semicolon, options = head.partition(";")
    true_uri = f"data:{reading.mime_type}{semicolon}{options},{data}"
    return Readable(uri=true_uri, mime_type=reading.mime_type)


def _reading(kind: MediaKind, uri: str, head: bytes) -> Reading:
    mime_type = _mime_type(head)
    if mime_type is None:
        return _NOT_KNOWN
    if mime_type in {"text/html", "application/xhtml+xml"}:
        return Unreadable("is really a web page")
    if kind is MediaKind.VIDEO:
        is_video = mime_type.startswith("video/")
        return Readable(uri=uri, mime_type=mime_type) if is_video else _is_really(mime_type)
    if mime_type not in _SENT_IMAGES:
        return _is_really(mime_type)
    if _is_broken(head, mime_type):
        return Unreadable("is broken")
    return Readable(uri=uri, mime_type=mime_type)


def _is_broken(head: bytes, mime_type: str) -> bool:
    """Whether it has no size; of some, it may come further behind than was read."""
    import imagesize  # type: ignore[import-untyped]

    try:
        width, height = imagesize.get(BytesIO(head))
    except (ValueError, struct.error):
        return True
    return 0 in (width, height) or (width < 0 and mime_type in _SIZE_COMES_FIRST)


def _is_really(mime_type: str) -> Unreadable:
    return Unreadable(f"is really {mime_type}, which cannot be sent")


def _mime_type(head: bytes) -> str | None:
    """What the first bytes are; None if nobody knows."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:14].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    import puremagic  # it reads a table of all kinds of files, which most bots never need

    try:
        return puremagic.from_string(head, mime=True) or None
    except (puremagic.PureError, ValueError):
        return None
