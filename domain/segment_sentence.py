"""Where sentences end."""

import re

from turnkeeper.domain.pattern import lazily
from turnkeeper.domain.segment_grapheme import extends

_END = lazily(
    r"(?:[.!?…]+[\"'”’)\]*_~|]*(?=\s)|[。！？｡]+[」』”）)\]*_~|]*|(?<=\w):(?=\s))", re.UNICODE
)
_DONE = lazily(r"[.!?…。！？｡:：][\"'”’」』）)\]*_~|]*$")
_SHORT = lazily(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|cf|no|fig|approx|z\.b|d\.h|bzw)"
    r"|\b(?:\w\.)+\w|\d)$",
    re.IGNORECASE,
)


def sentence_ends(text: str, start: int, end: int) -> list[int]:
    """The places within a part of a text that come right after a sentence."""
    return [
        found.end()
        for found in _END.finditer(text, start, min(end + 1, len(text)))
        if found.end() <= end and not _is_shortening(text, found)
    ]


def without_trailing_clause(text: str) -> str:
    """A text up to its last sentence or line; whole where it has none, or ends with one.

    What has no letter or digit, such as an emoji after the last sentence, is no clause.
    """
    bare = text.rstrip()
    if bare != text.rstrip(" ") or _DONE.search(bare, max(0, len(bare) - 8)):
        return text
    ends = sentence_ends(bare + " ", bare.rfind("\n") + 1, len(bare))
    cut = max([*ends[-1:], bare.rfind("\n") + 1])
    if not cut or not any(sign.isalnum() for sign in bare[cut:]):
        return text
    head = text[:cut]
    return text if extends(text[cut]) or not head.strip() else head


def _is_shortening(text: str, found: "re.Match[str]") -> bool:
    """Whether a lone period is part of what it follows: an abbreviation or a number."""
    if found.group()[0] != "." or found.group()[:2] == "..":
        return False
    return _SHORT.search(text, max(0, found.start() - 12), found.start()) is not None
