"""Cuts a growing text into messages: pure, for any sink.

The joined messages are the text, whitespace at the cuts aside; a block of code that a cut goes
through is closed before it and opened again after it, with its language. Where the cuts are
depends on the text alone, not on the pieces it came in.
"""

from turnkeeper.domain.segment_buffer import Buffer
from turnkeeper.domain.segment_cut import code_cut, prose_cut, unclosed_start
from turnkeeper.domain.segment_fence import Fence, fence_after, fenced, may_be_fence
from turnkeeper.domain.segment_grapheme import grapheme_start
from turnkeeper.domain.segment_sentence import without_trailing_clause
from turnkeeper.domain.text_rules import STAND_ALONE_CHARS


def least_part(limit: int, stand_alone_chars: int) -> int:
    """From how many characters on the end of a part ends a message."""
    return min(stand_alone_chars, limit // 2)


class Segmenter:
    """Cuts one text. Used by one thread.

    Each character is looked at as it comes, and about twice more where a message is full.

    Args:
        limit: The longest message, in code points.
        stand_alone_chars: From here on the end of a paragraph or block of code ends a message;
            at most half the limit.
        is_eager: Whether it cuts as the text comes; if not, only at the end.
    """

    def __init__(
        self,
        *,
        limit: int,
        stand_alone_chars: int = STAND_ALONE_CHARS,
        is_eager: bool = True,
    ) -> None:
        self._limit = limit
        self._least_part = least_part(limit, stand_alone_chars)
        self._is_eager = is_eager
        self._waiting: list[str] = []
        self._buffer = Buffer(limit)
        self.examined_chars = 0

    @property
    def pending(self) -> str:
        """What came and is in no message yet, without the fences that were added."""
        return self._buffer.text + "".join(self._waiting)

    @property
    def free_chars(self) -> int:
        """How many characters of the line would end no message."""
        return self._buffer.room - self._buffer.chars if self._is_eager else self._limit

    @property
    def quiet_chars(self) -> int:
        """How many characters would end no message, even if they end lines."""
        return self._least_part - 1 - self._buffer.chars if self._is_eager else self._limit

    @property
    def preview(self) -> str:
        """What is pending as a message that fits; a line that may be a fence is left out."""
        buffer = self._buffer
        line = buffer.line
        text = buffer.whole_lines + ("" if may_be_fence(line) else line)
        room = buffer.room - (buffer.fence.closing_chars if buffer.fence else 0)
        if len(text) > room:
            text = text[: grapheme_start(text, room)]
        return self._message(text, buffer.fence) or ""

    def take(self, text: str) -> tuple[str, ...]:
        """Take some more text; the messages that can go out now."""
        if not self._is_eager:
            self._waiting.append(text)
            return ()
        buffer = self._buffer
        if buffer.chars + len(text) <= buffer.room and "\n" not in text:
            buffer.add(text)
            return ()
        messages: list[str] = []
        self._read(text, messages)
        return tuple(messages)

    def rest(self, *, trim: bool = False) -> tuple[str, ...]:
        """All that is left, as messages; what comes then is a new text.

        Args:
            trim: Leave out a trailing clause, unless it is in code.
        """
        messages: list[str] = []
        waiting, self._waiting = "".join(self._waiting), []
        self._read(waiting, messages)
        buffer = self._buffer
        if trim and fence_after(buffer.fence, buffer.line) is None:
            self._buffer = Buffer(self._limit, buffer.opened)
            self._read(without_trailing_clause(buffer.text), messages)
        self._end(messages)
        self._buffer = Buffer(self._limit)
        return tuple(messages)

    def forget(self) -> str:
        """Take back what is pending, and return it; what comes then is a new text."""
        pending, self._waiting = self.pending, []
        self._buffer = Buffer(self._limit)
        return pending

    def _read(self, text: str, messages: list[str]) -> None:
        at = 0
        while at < len(text):
            room = self._buffer.room + 1 - self._buffer.chars
            newline = text.find("\n", at, at + room)
            end = newline + 1 if newline >= 0 else min(len(text), at + room)
            self._buffer.add(text[at:end])
            if newline >= 0:
                self._end_line(messages)
            if self._buffer.chars > self._buffer.room:
                self._cut(messages)
            at = end

    def _end_line(self, messages: list[str]) -> None:
        buffer = self._buffer
        self.examined_chars += buffer.end_line()
        if buffer.ends_a_part and buffer.chars >= self._least_part:
            self._emit(buffer.text, None, messages)
            self._buffer = Buffer(self._limit)

    def _cut(self, messages: list[str]) -> None:
        """Make a message of the best head, and go on with the rest."""
        buffer = self._buffer
        text, fence = buffer.text, None
        self.examined_chars += len(text)
        if buffer.block_at:  # a block that does not fit behind what is before it may fit alone
            cut = buffer.block_at
        elif buffer.fence is not None:
            cut, fence = code_cut(buffer)
        elif (start := unclosed_start(buffer, self._limit)) is not None:
            self._buffer = Buffer(self._limit, start[1])
            self._read(text[start[0] :], messages)
            return
        else:
            cut = prose_cut(buffer)
        self._emit(text[:cut], fence, messages)
        tail = text[cut:].lstrip("\n" if fence else None)
        self._buffer = Buffer(self._limit, fence)
        self._read(tail, messages)

    def _end(self, messages: list[str]) -> None:
        buffer = self._buffer
        if buffer.line:
            self.examined_chars += buffer.end_line()
        if buffer.fence and buffer.chars > buffer.room - buffer.fence.closing_chars:
            self._cut(messages)
            self._end(messages)
        else:
            self._emit(buffer.text, buffer.fence, messages)

    def _emit(self, text: str, fence: Fence | None, messages: list[str]) -> None:
        message = self._message(text, fence)
        if message is not None:
            messages.append(message)

    def _message(self, text: str, fence: Fence | None) -> str | None:
        return fenced(text, opened=self._buffer.opened, still_open=fence, limit=self._limit)
