"""JSON that is read while it is still coming, and given up where it is not what is looked for."""

import re
from collections.abc import Iterable

from turnkeeper.domain.incoming_text import IncomingText, Waiting

_IN_STRING = re.compile(r'["\\]')
_IN_NESTED = re.compile(r'["{}\[\]]')
_BEHIND_SCALAR = re.compile(r"[\s,}\]]")


class NoCall(Exception):
    """What is being read cannot become a call any more."""


class Words:
    """Words, and all that they may begin with."""

    def __init__(self, words: Iterable[str]) -> None:
        self.whole = frozenset(words)
        self.beginnings = frozenset(
            word[:end] for word in self.whole for end in range(1, len(word) + 1)
        )


def expect(text: IncomingText, char: str) -> Waiting[None]:
    """Read that one character."""
    if (yield from text.peek()) != char:
        raise NoCall
    yield from text.next()


def word(text: IncomingText, words: Words) -> Waiting[str]:
    """One of the words, to the quote behind it; given up where it can be none of them."""
    so_far = ""
    while True:
        char = yield from text.peek()
        if char == '"' and so_far in words.whole:
            yield from text.next()
            return so_far
        so_far += char
        if so_far not in words.beginnings:
            raise NoCall
        yield from text.next()


def value(text: IncomingText) -> Waiting[None]:
    """Any value, to its end; braces and brackets are only counted."""
    char = yield from text.peek()
    if char == '"':
        yield from text.next()
        yield from string(text)
    elif char in "{[":
        yield from nested(text)
    else:
        yield from text.until(_BEHIND_SCALAR)


def string(text: IncomingText) -> Waiting[None]:
    """A string of which the first quote was read, to the last one."""
    while True:
        yield from text.until(_IN_STRING)
        if (yield from text.next()) == '"':
            return
        yield from text.next()


def nested(text: IncomingText, depth: int = 0) -> Waiting[None]:
    """An object or a list, to the brace or bracket that ends it.

    Args:
        depth: How many of its braces and brackets were read already.
    """
    while True:
        yield from text.until(_IN_NESTED)
        char = yield from text.next()
        if char == '"':
            yield from string(text)
            continue
        depth += 1 if char in "{[" else -1
        if not depth:
            return
