"""Whether the next character of a growing text is code."""

import re

from turnkeeper.domain.segment_fence import Fence, fence_after

_TICKS = re.compile(r"`+")


class CodeWatch:
    """Follows a text line by line. Used by one thread."""

    def __init__(self) -> None:
        self.fence: Fence | None = None
        self._line: list[str] = []
        self._run = 0
        self._open = 0

    @property
    def open_run(self) -> int:
        """How many backticks opened the inline code that the line is in; 0 is none."""
        self._end_run()
        return self._open

    @property
    def line(self) -> str:
        """The line so far."""
        return "".join(self._line)

    def saw(self, text: str) -> None:
        """Take some more of the text."""
        if "\n" not in text:
            if "`" in text or self._run:
                self._within_line(text)
            else:
                self._line.append(text)
            return
        first, *middle, last = text.split("\n")
        self._end_line(first)
        for line in middle:
            self._end_line(line)
        self._within_line(last)

    def _end_line(self, text: str) -> None:
        self._line.append(text)
        self.fence = fence_after(self.fence, "".join(self._line))
        self._line.clear()
        self._run = self._open = 0

    def _within_line(self, text: str) -> None:
        if not text:
            return
        self._line.append(text)
        if "`" not in text:
            self._end_run()
            return
        for ticks in _TICKS.finditer(text):
            if ticks.start() > 0:
                self._end_run()
            self._run += ticks.end() - ticks.start()
        if not text.endswith("`"):
            self._end_run()

    def _end_run(self) -> None:
        if not self._run:
            return
        if self._open == 0:
            self._open = self._run
        elif self._open == self._run:
            self._open = 0
        self._run = 0
