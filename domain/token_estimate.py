"""About how many tokens a text is, by its bytes in UTF-8: each script has its weight."""

from collections.abc import Callable
from math import ceil
from typing import assert_never

from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    MediaKind,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
    VideoPart,
)
from turnkeeper.domain.frozen import maker
from turnkeeper.domain.truncation import Sizes

_new_sizes = maker(Sizes)

Count = Callable[[str], int]

TOKENS_PER_ITEM = 4
TOKENS_PER_IMAGE = 1100
TOKENS_PER_VIDEO = 3000
TOKENS_PER_TOOL = 12
"""What a provider writes around each, besides what is in it."""

_LOWER, _UPPER, _DIGIT, _SPACE, _SIGN = b"a", b"A", b"0", b" ", b"."
_PER_CHARACTER = (
    # first byte of the character in UTF-8, from and to, tokens a character
    (0xC2, 0xC2, 0.5),  # signs
    (0xC3, 0xC3, 0.7),  # Western Latin with marks
    (0xC4, 0xCB, 1.2),  # Latin with other marks
    (0xCC, 0xCD, 1.5),  # marks by themselves
    (0xCE, 0xCF, 0.28),  # Greek
    (0xD0, 0xD3, 0.19),  # Cyrillic
    (0xD4, 0xD7, 0.31),  # Armenian, Hebrew
    (0xD8, 0xDF, 0.23),  # Arabic, Syriac
    (0xE0, 0xE0, 0.22),  # Indic, Thai
    (0xE1, 0xE1, 0.3),  # Georgian, Khmer, Ethiopic, Latin with two marks
    (0xE2, 0xE2, 1.0),  # signs
    (0xE3, 0xE3, 0.7),  # kana
    (0xE4, 0xE9, 0.9),  # Han
    (0xEA, 0xED, 0.53),  # Hangul
    (0xEE, 0xEF, 0.9),  # wide signs
    (0xF0, 0xFF, 1.5),  # emoji and what is rare
)
_PER_BEGINNING = (
    # first two bytes, tokens a character besides those above
    (b"\xe0\xb8", 0.2),  # Thai
    (b"\xe0\xb9", 0.2),
    (b"\xe1\xba", 0.4),  # Latin with two marks
    (b"\xe1\xbb", 0.4),
)


def _classes() -> bytes:
    table = bytearray(_SIGN * 128 + bytes(128))
    for code in range(128):
        character = chr(code)
        if character.isalpha():
            table[code] = _LOWER[0] if character.islower() else _UPPER[0]
        elif character.isdigit():
            table[code] = _DIGIT[0]
        elif character == " ":
            table[code] = _SPACE[0]
    for number, (first, last, _) in enumerate(_PER_CHARACTER, start=0x80):
        table[first : last + 1] = bytes([number]) * (last + 1 - first)
    return bytes(table)


_CLASSES = _classes()
_WEIGHTS = tuple(
    (bytes([number]), weight) for number, (*_, weight) in enumerate(_PER_CHARACTER, start=0x80)
)


def text_tokens(text: str) -> float:
    """About how many tokens a text is."""
    data = text.encode("utf-8", "surrogatepass")
    count = data.translate(_CLASSES).count
    lower = count(_LOWER)
    tokens = (
        max(0.8 * count(_SPACE) + 0.06 * lower, 0.2 * lower)
        + 0.3 * count(_UPPER)
        + 0.6 * count(_DIGIT)
        + 0.6 * count(_SIGN)
    )
    if len(data) == len(text):
        return tokens
    tokens += sum(weight * count(kind) for kind, weight in _WEIGHTS)
    return tokens + sum(weight * data.count(pair) for pair, weight in _PER_BEGINNING)


def tokens_of(text: str) -> int:
    """As `text_tokens`, in whole ones; a text that is not empty is at least one."""
    return ceil(text_tokens(text)) if text else 0


def item_tokens(item: Item, text_tokens: Count = tokens_of) -> int:
    """About how many tokens an item is, with media that are not yet resolved."""
    parts = item.parts
    if len(parts) == 1 and type(part := parts[0]) is TextPart and not item.media:  # as most are
        return TOKENS_PER_ITEM + text_tokens(part.text)
    tokens = TOKENS_PER_ITEM + sum([_part(part, text_tokens) for part in parts])
    for one in item.media:
        tokens += TOKENS_PER_IMAGE if one.kind is MediaKind.IMAGE else TOKENS_PER_VIDEO
    return tokens


def sizes_of(conversation: Conversation, text_tokens: Count = tokens_of) -> Sizes:
    """About how many tokens each item of a conversation is, and its tools.

    Args:
        text_tokens: As `tokens_of`, though it may remember; of each item and tool it is asked once.
    """
    items = conversation.tokens(lambda item: item_tokens(item, text_tokens))
    if not conversation.tools:
        return _new_sizes(items=items)
    tools = conversation.tool_tokens(lambda tool: _tool(tool, text_tokens))
    return _new_sizes(items=items, tools=sum(tools))


def sizes_by(conversation: Conversation, text_tokens: Count) -> Sizes:
    """The same by another count of texts."""
    items = [item_tokens(item, text_tokens) for item in conversation.items]
    tools = [_tool(tool, text_tokens) for tool in conversation.tools]
    return _new_sizes(items=tuple(items), tools=sum(tools))


def _tool(tool: ToolSpec, text_tokens: Count) -> int:
    texts = (tool.name, tool.description, tool.schema_json)
    return TOKENS_PER_TOOL + sum(text_tokens(text) for text in texts)


def _part(part: Part, text_tokens: Count) -> int:
    match part:
        case TextPart(text=text):
            return text_tokens(text)
        case ReasoningPart(text=text, opaque_json=opaque):
            return max(text_tokens(text), text_tokens(opaque or ""))
        case ImagePart():
            return TOKENS_PER_IMAGE
        case VideoPart():
            return TOKENS_PER_VIDEO
        case ToolCallPart(name=name, arguments_json=arguments):
            return TOKENS_PER_ITEM + text_tokens(name) + text_tokens(arguments)
        case ToolResultPart(name=name, result_json=result):
            return TOKENS_PER_ITEM + text_tokens(name) + text_tokens(result)
        case unknown:
            assert_never(unknown)
