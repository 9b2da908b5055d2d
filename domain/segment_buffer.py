"""The text of the message that is being filled, and what its whole lines mean."""

from turnkeeper.domain.segment_fence import Fence, block_start, fence_after
from turnkeeper.domain.segment_marks import NOTHING_OPEN
from turnkeeper.domain.segment_place import Place, Rank


class Buffer:
    """One message's text. Used by one thread.

    Attributes:
        opened: The block of code that the text begins in, or None.
        room: How many characters of the text fit.
        fence: The block of code that is open after the last whole line.
        block_at: Where the open block of code or table starts.
        code_at: Where the first line of the last block of code starts.
        line_at: Where the line starts that is not whole.
        marks: What is open there.
        places: Where the text can be cut: the ends of whole lines.
    """

    def __init__(self, limit: int, opened: Fence | None = None) -> None:
        self._longest_opening = limit // 2
        self._lines: list[str] = []
        self._open: list[str] = []
        self._in_table = False
        self.opened = opened
        self.room = limit - len(opened.opening(limit) if opened else "")
        self.chars = 0
        self.fence = opened
        self.block_at: int | None = None
        self.code_at = 0
        self.line_at = 0
        self.marks = NOTHING_OPEN
        self.places: list[Place] = []

    @property
    def whole_lines(self) -> str:
        """The lines that ended."""
        return "".join(self._lines)

    @property
    def line(self) -> str:
        """The line that is not whole."""
        return "".join(self._open)

    @property
    def text(self) -> str:
        """All of it."""
        return self.whole_lines + self.line

    @property
    def ends_a_part(self) -> bool:
        """Whether the last line was the last of a paragraph or block of code, nothing open."""
        last = self.places[-1] if self.places and self.fence is None else None
        return last is not None and last.rank is Rank.PARAGRAPH and last.is_clean

    def add(self, text: str) -> None:
        """Take some more of a line."""
        self._open.append(text)
        self.chars += len(text)

    def end_line(self) -> int:
        """The line is whole: note what it means; how long it is."""
        whole = self.line
        line = whole.removesuffix("\n")
        self._note(line, self.line_at)
        self._lines.append(whole)
        self._open.clear()
        self.line_at = self.chars
        return len(line)

    def _note(self, line: str, at: int) -> None:
        before, end = self.fence, at + len(line)
        self.fence = fence_after(before, line, longest=self._longest_opening)
        if self.fence is not None:
            if before is None:
                self.block_at, self.code_at = at + block_start(line), end + 1
                self._in_table = False
            elif end > self.code_at:
                self.places.append(Place(end, Rank.LINE))
        elif before is not None:
            self.block_at, self.marks = None, NOTHING_OPEN
            self.places.append(Place(end, Rank.PARAGRAPH))
        elif line.startswith("|") and not line.startswith("||"):
            self._note_row(at, end)
        else:
            self._note_prose(line, at, end)

    def _note_row(self, at: int, end: int) -> None:
        if not self._in_table:
            self.block_at, self._in_table = at, True
        self.places.append(Place(end, Rank.ROW))

    def _note_prose(self, line: str, at: int, end: int) -> None:
        if self._in_table:
            self.block_at, self._in_table = None, False
            self.places[-1] = Place(at - 1, Rank.LINE)
        self.marks = self.marks.after(line)
        rank = Rank.LINE if line.strip() or self._leads_on() else Rank.PARAGRAPH
        self.places.append(Place(end, rank, not self.marks.is_open))

    def _leads_on(self) -> bool:
        """Whether the last line, a heading or one with a colon, belongs to what follows."""
        last = next((line for line in reversed(self._lines) if line.strip()), "")
        return last.startswith("#") or last.rstrip().endswith((":", "："))
