"""Takes what people wrote out of what a provider says of it.

A failure is kept on its key and in the journal, where others than the writer read it.
"""

import re
from collections.abc import Iterable, Iterator

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

_BLANK = re.compile(r"\s+")
_WORD = re.compile(r"\w+")


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
    plain = {_BLANK.sub(" ", text).strip() for text in texts}
    short = [text for text in plain if WHOLE_CHARACTERS <= len(text) < QUOTE_CHARACTERS]
    return _LookedFor(
        short=tuple(sorted(short, key=lambda text: (-len(text), text))),
        long="\n".join([text for text in plain if len(text) >= QUOTE_CHARACTERS]),
    )


def _texts_of(conversation: Conversation) -> Iterator[str]:
    for item in conversation.items:
        for part in item.parts:
            yield _text_of(part)


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
    if len(text) < QUOTE_CHARACTERS or not texts.long:
        return text
    return "".join(_pieces(text, texts.long))


def _pieces(text: str, everything: str) -> Iterator[str]:
    start = 0
    for word in _WORD.finditer(text):
        if word.start() < start:
            continue
        end = _end_of_quote(text, word.start(), everything)
        if end:
            yield text[start : word.start()]
            yield MASK
            start = end
    yield text[start:]


def _end_of_quote(text: str, start: int, everything: str) -> int:
    """Where the quote ends that begins here; 0 if none does."""
    end = start + QUOTE_CHARACTERS
    if end > len(text) or text[start:end] not in everything:
        return 0
    while end < len(text) and text[start : end + 1] in everything:
        end += 1
    return end
