"""Takes think blocks, and `<details>` where that is asked for, out of a growing text."""

import re
from collections.abc import Iterable
from typing import Literal

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.segment_fence import fence_after
from turnkeeper.domain.visible_code import CodeWatch

LONGEST_TAG = 200
"""A longer tag is text, in characters."""
LONGEST_WAIT = 400
"""How much of a line is held back until it is known whether a tag in it is inline code."""

Block = Literal["think", "details"]
Undecided = Literal["undecided"]

_TAG = re.compile(
    r"<(/?)(?:(think(?:ing)?)[ \t]*|(details)(?:[ \t][^<>\n]*)?)>", re.IGNORECASE | re.ASCII
)
_NAME = re.compile(r"</?([a-z]*)", re.IGNORECASE | re.ASCII)
_SUMMARY = re.compile(r"<summary\b[^<>]*>.*?</summary\s*>", re.IGNORECASE | re.DOTALL)
_NAMES = ("thinking", "details")


@frozen(kw_only=False)
class StrayClose:
    """A think block ended that nobody saw begin: what is not out yet before it was a thought."""


STRAY_CLOSE = StrayClose()


@frozen(kw_only=False)
class _Tag:
    block: Block
    is_closing: bool
    end: int


_UNDECIDED: Undecided = "undecided"


class TagFilter:
    """Splits a text into what is shown and what is not. Used by one thread.

    A tag in code is text. What comes out does not depend on the pieces the text came in.
    """

    def __init__(self, *, capture_details: bool = False) -> None:
        self._capture_details = capture_details
        self._code = CodeWatch()
        self._inside: Block | None = None
        self._held = ""
        self._captured: list[str] = []
        self._blocks: dict[Block, list[str]] = {"think": [], "details": []}
        self.examined_chars = 0

    @property
    def thoughts(self) -> str:
        """All that was thought so far, a line feed between two blocks."""
        return "\n".join(self._with_current("think"))

    @property
    def details(self) -> str:
        """The bodies of all details so far, without their summaries."""
        bodies = (_SUMMARY.sub("", body).strip() for body in self._with_current("details"))
        return "\n".join(body for body in bodies if body)

    @property
    def is_in_code(self) -> bool:
        """Whether a block of code is open."""
        return self._code.fence is not None

    @property
    def lets_text_pass(self) -> bool:
        """Whether text without a "<" is shown as it is."""
        return self._inside is None and not self._held

    def lets_pass(self, piece: str) -> bool:
        """Take some more text if all of it is shown as it is; else it has to be taken."""
        if self._held or self._inside is not None or "<" in piece:
            return False
        self._code.saw(piece)
        return True

    def take(self, piece: str) -> Iterable[str | StrayClose]:
        """Take some more text; what of it is shown, in order, read as far as it is asked for."""
        if self.lets_pass(piece):
            return (piece,)
        if not self._held and "<" not in piece:
            self._captured.append(piece)
            return ()
        return self._split(self._held + piece, is_all=False)

    def end(self) -> Iterable[str | StrayClose]:
        """The text is over: what is still shown. What comes then is a new text."""
        yield from self._split(self._held, is_all=True)
        if self._inside is not None:
            self._close(self._inside)
        self._code = CodeWatch()

    def add_thought(self, text: str) -> None:
        """Take back what was shown: it was a thought."""
        if text.strip():
            self._blocks["think"].append(text.strip())

    def _split(self, text: str, *, is_all: bool) -> Iterable[str | StrayClose]:
        self._held = ""
        self.examined_chars += len(text)
        at = 0
        while at < len(text):
            start = text.find("<", at)
            if start < 0:
                start = len(text)
            yield from self._text(text[at:start])
            if start == len(text):
                break
            tag = self._tag_at(text, start, is_all=is_all)
            if tag == _UNDECIDED:
                self._held = text[start:]
                break
            if isinstance(tag, _Tag):
                yield from self._apply(tag)
                at = tag.end
            else:
                yield from self._text("<")
                at = start + 1

    def _tag_at(self, text: str, start: int, *, is_all: bool) -> _Tag | Undecided | None:
        """The tag here; None if there is none, or it is text; or that it is not known yet."""
        if self._inside is None and self.is_in_code:
            return None
        tag = self._read(text, start)
        if tag == _UNDECIDED:
            return None if is_all else _UNDECIDED
        if not isinstance(tag, _Tag):
            return None
        if self._inside is not None:
            return tag if tag.is_closing and tag.block == self._inside else None
        if self._code.open_run:
            is_code = self._is_inline_code(text, start, tag.end, is_all=is_all)
            if is_code is None:
                return _UNDECIDED
            return None if is_code else tag
        return tag

    def _read(self, text: str, start: int) -> _Tag | Undecided | None:
        chunk = text[start : start + LONGEST_TAG]
        if ">" not in chunk:
            return _UNDECIDED if self._may_become_tag(chunk) else None
        found = _TAG.match(chunk)
        if found is None or (found.group(3) and not self._capture_details):
            return None
        block: Block = "details" if found.group(3) else "think"
        return _Tag(block, bool(found.group(1)), start + found.end())

    def _may_become_tag(self, chunk: str) -> bool:
        found = _NAME.match(chunk)
        assert found is not None
        name, more = found.group(1).lower(), chunk[found.end() :]
        if len(chunk) == LONGEST_TAG or "<" in more or "\n" in more:
            return False
        names = _NAMES if self._capture_details else _NAMES[:1]
        if not more:
            return any(known.startswith(name) for known in names)
        if name == "details":
            return self._capture_details and more[0] in " \t"
        return name in ("think", "thinking") and not more.strip(" \t")

    def _is_inline_code(self, text: str, start: int, end: int, *, is_all: bool) -> bool | None:
        """Whether the backticks before a tag are closed after it; None while that is unknown."""
        line = text[end : end + LONGEST_WAIT]
        newline = line.find("\n")
        line = line if newline < 0 else line[:newline]
        is_whole = is_all or newline >= 0 or len(line) == LONGEST_WAIT
        for run in re.finditer(r"`+", line):
            is_over = run.end() < len(line) or is_whole
            if is_over and run.end() - run.start() == self._code.open_run:
                return True
        if not is_whole:
            return None
        return fence_after(None, self._code.line + text[start:end] + line) is not None

    def _text(self, text: str) -> tuple[str, ...]:
        if not text:
            return ()
        if self._inside is not None:
            self._captured.append(text)
            return ()
        self._code.saw(text)
        return (text,)

    def _apply(self, tag: _Tag) -> tuple[StrayClose, ...]:
        if not tag.is_closing:
            self._inside = tag.block
        elif self._inside is not None:
            self._close(self._inside)
        elif tag.block == "think":
            self._code = CodeWatch()
            return (STRAY_CLOSE,)
        return ()

    def _close(self, block: Block) -> None:
        body = "".join(self._captured).strip()
        self._captured.clear()
        self._inside = None
        if body:
            self._blocks[block].append(body)

    def _with_current(self, block: Block) -> list[str]:
        current = "".join(self._captured).strip() if self._inside == block else ""
        return [*self._blocks[block], current] if current else self._blocks[block]
