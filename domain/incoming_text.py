"""Text that is read while it is still coming."""

from collections.abc import Generator
from re import Pattern
from typing import TypeVar

T = TypeVar("T")
Waiting = Generator[None, None, T]
"""A reading: it yields where it needs more text than has come."""


class IncomingText:
    """The text that comes, and what was read of it since it was last taken.

    Each character is read once, whatever the pieces in which it comes.
    """

    def __init__(self) -> None:
        self._piece = ""
        self._at = 0
        self._read: list[str] = []

    def add(self, piece: str) -> None:
        """Let some more come; what came before must have been read."""
        self._piece, self._at = piece, 0

    @property
    def mark(self) -> int:
        """The place that has been reached, good until the text is taken."""
        return len(self._read)

    def since(self, mark: int) -> str:
        """What was read from a mark on."""
        return "".join(self._read[mark:])

    def taken(self) -> str:
        """All that was read since the last time; it is forgotten here."""
        text = self.since(0)
        self._read.clear()
        return text

    def peek(self) -> Waiting[str]:
        """The next character, which stays unread."""
        while self._at == len(self._piece):
            yield
        return self._piece[self._at]

    def next(self) -> Waiting[str]:
        """Read one character."""
        char = yield from self.peek()
        self._read.append(char)
        self._at += 1
        return char

    def until(self, pattern: Pattern[str]) -> Waiting[str]:
        """Read up to a character that matches, which stays unread; returns that character."""
        while True:
            yield from self.peek()
            found = pattern.search(self._piece, self._at)
            end = found.start() if found else len(self._piece)
            if end > self._at:
                self._read.append(self._piece[self._at : end])
                self._at = end
            if found:
                return found.group()
