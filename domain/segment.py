"""Cuts a growing text into messages: pure, for any sink.

The joined segments are the text, whitespace at the cuts aside; a code fence that a cut goes
through is closed before it and opened again after it, with its language.
"""

import re
import unicodedata

SOFT_LIMIT = 1000
"""From here on a text is cut at the next good place."""

_FENCE = re.compile(r"^[ \t]{0,3}(```+|~~~+)[ \t]*([^\s`]*)[^\n]*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?。！？…][\"')\]]*\s")


def ready(text: str, *, limit: int) -> tuple[tuple[str, ...], str]:
    """The messages that can go out now, and what stays for later.

    A paragraph goes out once it is long enough to stand alone; a block of code is kept whole
    where it fits.

    Args:
        limit: The longest message, in characters.
    """
    segments: list[str] = []
    soft = min(SOFT_LIMIT, limit)
    while len(text) > soft:
        cut = _good_cut(text, soft, limit)
        if cut is None:
            break
        head, text = _split(text, cut, limit)
        segments.extend(head)
    return tuple(segments), text


def rest(text: str, *, limit: int) -> tuple[str, ...]:
    """All that is left, as messages."""
    segments: list[str] = []
    while len(text) > limit:
        cut = _best_cut(text, limit)
        head, text = _split(text, cut, limit)
        segments.extend(head)
    last = text.strip()
    return (*segments, last) if last else tuple(segments)


def _good_cut(text: str, soft: int, limit: int) -> int | None:
    """Where to cut now, or None while waiting for more is better."""
    end = text.rfind("\n\n", 0, limit)
    while end > 0 and _open_fence(text[:end]) is not None:
        end = text.rfind("\n\n", 0, end)
    if end > soft // 2:
        return end
    return _best_cut(text, limit) if len(text) > limit else None


def _best_cut(text: str, limit: int) -> int:
    """The best place at or before the limit: paragraph, line, sentence, word, then anywhere."""
    room = limit - _fence_room(text, limit)
    floor = room // 2
    for mark in ("\n\n", "\n"):
        end = text.rfind(mark, floor, room)
        if end > 0:
            return end
    ends = [found.end() for found in _SENTENCE_END.finditer(text, floor, room)]
    if ends:
        return ends[-1]
    end = text.rfind(" ", floor, room)
    return end if end > 0 else _grapheme_start(text, room)


def _split(text: str, cut: int, limit: int) -> tuple[tuple[str, ...], str]:
    head, tail = text[:cut], text[cut:]
    fence = _open_fence(head)
    if fence is not None:
        marker, language = fence
        head = f"{head.rstrip()}\n{marker}"
        tail = f"{marker}{language}\n{tail.lstrip(chr(10))}"
    else:
        tail = tail.lstrip()
    head = head.strip("\n") if fence else head.strip()
    return ((head,) if head.strip() else ()), tail


def _open_fence(text: str) -> tuple[str, str] | None:
    """The marker and language of the code block that the text ends in, or None."""
    fence: tuple[str, str] | None = None
    for found in _FENCE.finditer(text):
        marker, language = found.group(1), found.group(2)
        if fence is None:
            fence = (marker, language)
        elif marker[0] == fence[0][0] and len(marker) >= len(fence[0]) and not language:
            fence = None
    return fence


def _fence_room(text: str, limit: int) -> int:
    """What closing a code block needs within the limit."""
    fence = _open_fence(text[:limit])
    return len(fence[0]) + 1 if fence else 0


def _grapheme_start(text: str, at: int) -> int:
    """The last place at or before `at` that does not part a character from its marks."""
    lowest = max(1, at - 64)
    while at > lowest and _joins(text, at):
        at -= 1
    return at


def _joins(text: str, at: int) -> bool:
    if at >= len(text):
        return False
    here, before = text[at], text[at - 1]
    return (
        unicodedata.combining(here) != 0
        or here in "\u200d\ufe0f\ufe0e"
        or before == "\u200d"
        or "\U0001f3fb" <= here <= "\U0001f3ff"
        or ("\U0001f1e6" <= here <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff")
    )
