"""Tool calls that a model writes into its text, told apart from what it says.

A call is an object with the name of an offered tool. It may stand alone, in a list, in a fence, in
tags or behind a mark, which go with it; all else is text.
"""

import re
from collections.abc import Iterable, Iterator

from turnkeeper.domain.call_passage import Passage
from turnkeeper.domain.incoming_json import NoCall, Words
from turnkeeper.domain.incoming_text import IncomingText, Waiting
from turnkeeper.domain.written_call import WrittenCall

Piece = str | WrittenCall

_OPENER = re.compile(r"[{<`\[]")
_LEFT_OVER = re.compile(r"[\s,;]*(</?[\w|]*>?|`*)")


class VerbatimCalls:
    """Text goes in as it comes; what is to be shown and the calls come out, in their order.

    Text is held back only while it may still become a call. How it is cut into pieces changes
    nothing, and each character is looked at once.

    Args:
        names: The tools that may be called.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = Words(names)
        self._text = IncomingText()
        self._pieces: list[Piece] = []
        self._passage: Passage | None = None
        self._reading = self._read()
        next(self._reading)

    def feed(self, text: str) -> list[Piece]:
        """Return what some more text brings."""
        if text:
            self._text.add(text)
            next(self._reading)
        if self._passage is None:
            self._show()
        return self._taken()

    def end(self, *, was_cut: bool) -> list[Piece]:
        """Return what was still held back, once no more text comes.

        Args:
            was_cut: The answer broke off, so that what may be the beginning of a call is one.
        """
        self._reading.close()
        passage, self._passage = self._passage, None
        if passage is not None:
            call = passage.broken_off(was_cut=was_cut)
            if call is not None:
                self._found(call)
            elif passage.has_called and _LEFT_OVER.fullmatch(self._text.since(0)):
                self._text.taken()
        self._show()
        return self._taken()

    def _read(self) -> Waiting[None]:
        in_block = False
        while True:
            yield from self._text.until(_OPENER)
            self._show()
            self._passage = passage = Passage(self._text, self._names, self._found, in_block)
            try:
                yield from passage.read()
            except NoCall:
                in_block = passage.in_block
            self._show()
            self._passage = None

    def _found(self, call: WrittenCall) -> None:
        self._text.taken()
        self._pieces.append(call)

    def _show(self) -> None:
        if text := self._text.taken():
            self._pieces.append(text)

    def _taken(self) -> list[Piece]:
        pieces, self._pieces = list(_joined(self._pieces)), []
        return pieces


def _joined(pieces: list[Piece]) -> Iterator[Piece]:
    """The pieces, with texts in a row as one."""
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        if texts:
            yield "".join(texts)
            texts.clear()
        yield piece
    if texts:
        yield "".join(texts)
