"""A passage of a text that may be tool calls, with what models wrap them in."""

import re
from collections.abc import Callable

from turnkeeper.domain.incoming_json import NoCall, Words
from turnkeeper.domain.incoming_text import IncomingText, Waiting
from turnkeeper.domain.written_call import UNENDED, Draft, WrittenCall

_NOT_SPACE = re.compile(r"\S")
_NOT_BETWEEN = re.compile(r"[^\s,;]")
_NOT_TICK = re.compile(r"[^`]")
_BEHIND_LABEL = re.compile(r"[^A-Za-z0-9_+.#-]")
_BLOCK_TICKS = 3
_TELLING_CHARS = 5  # from here on, half a mark can hardly be anything else

_TAGS = ("tool_call", "tool_calls", "function_call", "function_calls")
_MARKS = (*(f"<{tag}>" for tag in _TAGS), "<|tool_call|>", "<|python_tag|>", "[tool_calls]")
_OPENING = Words(_MARKS)
_OPENING_OR_CLOSING = Words((*_MARKS, *(f"</{tag}>" for tag in _TAGS)))


class Passage:
    """Calls one after the other, and what they are wrapped in.

    Attributes:
        has_called: Whether there was a call.
        in_block: Whether a block of code is open that is shown.
    """

    def __init__(
        self,
        text: IncomingText,
        names: Words,
        found: Callable[[WrittenCall], None],
        in_block: bool,
    ) -> None:
        self.has_called = False
        self.in_block = in_block
        self._text = text
        self._names = names
        self._found = found
        self._draft: Draft | None = None
        self._is_marked = False  # as a call and nothing else
        self._open: list[str] = []  # what ends the wrappers

    def read(self) -> Waiting[None]:
        """Read on and on.

        Raises:
            NoCall: What comes next is none, nor is what was read since the last one.
        """
        while True:
            if self.has_called:
                yield from self._text.until(_NOT_BETWEEN)
            match (yield from self._text.peek()):
                case "{":
                    yield from self._object()
                case "<":
                    yield from self._text.next()
                    yield from self._mark("<")
                case "`":
                    yield from self._ticks()
                case "[":
                    yield from self._bracket()
                case char if char in self._open:
                    yield from self._text.next()
                    self._close(char)
                case _:
                    raise NoCall

    def broken_off(self, *, was_cut: bool) -> WrittenCall | None:
        """The call that was being written at the end, if it was one."""
        draft = self._draft
        if draft and (draft.has_name or (was_cut and draft.has_begun and not draft.is_list)):
            return draft.so_far()
        if was_cut and (self._is_marked or (draft is not None and draft.is_list)):
            return WrittenCall(name="", arguments_json=UNENDED)
        return None

    def _object(self) -> Waiting[None]:
        self._draft = draft = Draft(self._text, self._names)
        yield from draft.read()
        if draft.is_list:
            self._open += "}]"
            yield from self._inner("{")
            return
        self._draft = None
        self._is_marked = False
        self.has_called = True
        self.in_block = self.in_block and not any(end[0] == "`" for end in self._open)
        self._found(draft.whole())

    def _bracket(self) -> Waiting[None]:
        yield from self._text.next()
        if (yield from self._text.peek()) in "tT":
            yield from self._mark("[")
            return
        self._open.append("]")
        yield from self._inner("{")

    def _mark(self, word: str) -> Waiting[None]:
        """A tag or another mark, of which the first character was read."""
        words = _OPENING_OR_CLOSING if self.has_called else _OPENING
        while word not in words.whole:
            word += (yield from self._text.peek()).lower()
            if word not in words.beginnings:
                raise NoCall
            yield from self._text.next()
            is_telling = len(word) >= _TELLING_CHARS and word[1] != "/"
            self._is_marked = self._is_marked or is_telling
        if word[1] == "/":
            self._text.taken()
            return
        yield from self._inner("{[`<")

    def _ticks(self) -> Waiting[None]:
        """What opens a fence; or what ends one, which is as long and no longer."""
        fence = next((end for end in reversed(self._open) if end[0] == "`"), None)
        if self.has_called and fence is not None:
            while fence and (yield from self._text.peek()) == "`":
                yield from self._text.next()
                fence = fence[1:]
            self._close("`")
            return
        mark = self._text.mark
        char = yield from self._text.until(_NOT_TICK)
        fence = self._text.since(mark)
        if len(fence) >= _BLOCK_TICKS:
            yield from self._block(char)
        elif char not in "{[<":
            raise NoCall
        self._open.append(fence)

    def _block(self, char: str) -> Waiting[None]:
        """What follows the ticks of a block of code, up to what may be a call."""
        if self.in_block and _BEHIND_LABEL.match(char):
            self.in_block = False
            raise NoCall
        self.in_block = True
        mark = self._text.mark
        yield from self._text.until(_BEHIND_LABEL)
        self._is_marked = self._is_marked or self._text.since(mark) in _TAGS
        yield from self._inner("{[<")

    def _close(self, char: str) -> None:
        """A wrapper ends, and those within it that were left open."""
        while self._open.pop()[0] != char:
            pass
        self._text.taken()

    def _inner(self, begins: str) -> Waiting[None]:
        if (yield from self._text.until(_NOT_SPACE)) not in begins:
            raise NoCall
