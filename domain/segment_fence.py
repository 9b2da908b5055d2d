"""Blocks of code: where they begin and end, line by line."""

import re

from turnkeeper.domain.frozen import frozen

LONGEST_OPENING = 1000
"""A longer line opens no block, in characters."""

_TICKS = re.compile(r"([^`]*)(`{3,})[ \t]*([^\s`]*)([^`]*)$")
_TILDES = re.compile(r"([ \t]*)(~{3,})[ \t]*([^\s~]*)()$")
_LEAD = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?$")
_RUN = re.compile(r"`{3,}")


@frozen(kw_only=False)
class Fence:
    """An open block of code.

    Attributes:
        marker: What opened it, and closes it.
        language: The word after it, possibly empty.
        is_inline: It opened within a line, and closes wherever its marker comes next.
    """

    marker: str
    language: str = ""
    is_inline: bool = False

    @property
    def closing_chars(self) -> int:
        """What closing it takes: a line."""
        return len(self.marker) + 1

    def opening(self, limit: int) -> str:
        """The line that opens it again; without its language where that takes up a message."""
        whole = f"{self.marker}{self.language}\n"
        return whole if len(whole) + self.closing_chars <= limit // 2 else f"{self.marker}\n"


def fence_after(fence: Fence | None, line: str, *, longest: int = LONGEST_OPENING) -> Fence | None:
    """The block that is open after a line.

    A block opens at a line's start, as in Markdown, or at its end ("Here: ```python"), as people
    are shown it; and closes at a line of its own or at a line's end.
    """
    if "```" not in line and "~~~" not in line:
        return fence
    if fence is None:
        return _opened(line, longest)
    return None if _closes(fence, line) else fence


def block_start(line: str) -> int:
    """Where the block starts in a line that opens one: behind words, but with a list's sign."""
    run = _RUN.search(line)
    return _block_start(line[: run.start()]) if run else 0


def open_run(line: str) -> tuple[int, Fence] | None:
    """Where three or more backticks, or a line's tildes, stand that the line does not close."""
    found = _TILDES.match(line)
    if found:
        return found.start(2), Fence(found.group(2), is_inline=True)
    opened: tuple[int, str] | None = None
    for run in _RUN.finditer(line):
        if opened is None:
            opened = (run.start(), run.group())
        elif run.group() == opened[1]:
            opened = None
    if opened is None:
        return None
    return opened[0], Fence(opened[1], is_inline=True)


def may_be_fence(line: str) -> bool:
    """Whether a line that is not whole may turn out to open or close a block."""
    return "```" in line or (line.strip() != "" and line.strip(" `~") == "")


def fenced(text: str, *, opened: Fence | None, still_open: Fence | None, limit: int) -> str | None:
    """A message with the fences it needs, or None where there is nothing to see.

    Args:
        opened: The block that the text begins in.
        still_open: The block that it ends in.
    """
    first, _, more = text.partition("\n")
    if opened and not first.strip(" \t\r`~") and fence_after(opened, first) is None:
        opened, text = None, more  # nothing was left of the block but its end
    if not text.strip():
        return None
    text = f"{opened.opening(limit)}{text.rstrip()}" if opened else text.strip()
    return f"{text}\n{still_open.marker}" if still_open else text


def _opened(line: str, longest: int) -> Fence | None:
    line = line.rstrip()
    found = _TICKS.match(line) or _TILDES.match(line)
    if found is None:
        return None
    lead, marker, language, more = found.groups()
    if len(line) - _block_start(lead) > longest or len(marker) > longest // 2 - 1:
        return None
    return None if more.strip() and not _LEAD.match(lead) else Fence(marker, language)


def _block_start(lead: str) -> int:
    return 0 if _LEAD.match(lead) else len(lead)


def _closes(fence: Fence, line: str) -> bool:
    if fence.is_inline and fence.marker in line:
        return True
    text = line.strip(" \t\r>")
    sign = fence.marker[0]
    run = len(text) - len(text.rstrip(sign))
    return run >= len(fence.marker) and (run == len(text) or sign == "`")
