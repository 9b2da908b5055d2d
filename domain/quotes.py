"""Takes what people wrote out of what a provider says of it.

A failure is kept on its key and in the journal, where others than the writer read it.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import attrgetter

from turnkeeper.domain.conversation import (
    Conversation,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from turnkeeper.domain.failure import Failure
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.redact import MASK

QUOTE_CHARACTERS = 20
"""So much the same, from the beginning of a word on, is a quote and no coincidence."""
WHOLE_CHARACTERS = 8
"""A text that is shorter than a quote, but not than this, is masked where all of it stands."""

_WORD = re.compile(r"\w+")
_PARTS = attrgetter("parts")


def without_quotes(failure: Failure, conversation: Conversation) -> Failure:
    """Return the failure without what it repeats of the conversation."""
    texts = _looked_for(_texts_of(conversation))
    code = failure.code
    return replace(
        failure,
        message=_masked(failure.message, texts),
        evidence=_masked(failure.evidence, texts),
        code=_masked(code, texts) if code else code,
    )


def unquoted(said: str, texts: Iterable[str]) -> str:
    """Return what was said without what it repeats of the texts."""
    return _masked(said, _looked_for(texts))


@frozen
class _LookedFor:
    """What is looked for in what was said.

    Attributes:
        short: Texts that are masked whole, the longest first.
        long: All others, one to a line. No text holds a line break any more, so nothing reaches
            from one into the next.
    """

    short: tuple[str, ...]
    long: str


def _looked_for(texts: Iterable[str]) -> _LookedFor:
    short: set[str] = set()
    long: list[str] = []
    for text in texts:
        plain = " ".join(text.split())
        if len(plain) >= QUOTE_CHARACTERS:
            long.append(plain)
        elif len(plain) >= WHOLE_CHARACTERS:
            short.add(plain)
    longest_first = sorted(short, key=lambda text: (-len(text), text)) if short else ()
    return _LookedFor(short=tuple(longest_first), long="\n".join(long))


def _texts_of(conversation: Conversation) -> list[str]:
    parts = chain.from_iterable(map(_PARTS, conversation.items))
    return [part.text if type(part) is TextPart else _text_of(part) for part in parts]


def _text_of(part: Part) -> str:
    match part:
        case TextPart(text=text) | ReasoningPart(text=text):
            return text
        case ToolResultPart(result_json=text) | ToolCallPart(arguments_json=text):
            return text
    return ""


def _masked(text: str, texts: _LookedFor) -> str:
    for whole in texts.short:
        text = text.replace(whole, MASK)
    everything = texts.long
    if not everything:
        return text
    starts = [
        start
        for word in _WORD.finditer(text, 0, max(0, len(text) - QUOTE_CHARACTERS + 1))
        if text[(start := word.start()) : start + QUOTE_CHARACTERS] in everything
    ]
    return "".join(_pieces(text, starts, everything)) if starts else text


def _pieces(text: str, starts: list[int], everything: str) -> Iterator[str]:
    """What is left of a text in which quotes begin there."""
    end = 0
    for start in starts:
        if start >= end:
            yield text[end:start]
            yield MASK
            end = _end_of_quote(text, start, everything)
    yield text[end:]


def _end_of_quote(text: str, start: int, everything: str) -> int:
    end = start + QUOTE_CHARACTERS
    while end < len(text) and text[start : end + 1] in everything:
        end += 1
    return end
