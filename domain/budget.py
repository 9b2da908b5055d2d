"""How many tokens a conversation is, how many an answer may be, and what is left out to fit."""

from dataclasses import replace

from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    Part,
    ReasoningPart,
    Role,
    Tag,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    VideoPart,
)
from turnkeeper.domain.model import Model, Sampling

BYTES_PER_TOKEN = 3.0
"""Rather too few than too many: an estimate that is high drops a little early."""
TOKENS_PER_ITEM = 4
TOKENS_PER_IMAGE = 1100
FALLBACK_OUTPUT_TOKENS = 4096
BIG_FALLBACK_OUTPUT_TOKENS = 8192
BIG_FALLBACK_PROVIDERS = frozenset({"openrouter", "google", "gemini", "anthropic"})


def output_tokens(model: Model, sampling: Sampling, cap: int | None) -> int:
    """The output that the request asks for, and that is reserved: always the same number.

    The owner's override, else the cap set for the provider, else a fallback that never eats
    more than a quarter of a known window; at most the model's ceiling.
    """
    ceiling, window = model.limits.max_output_tokens, model.limits.window_tokens
    wanted = sampling.max_output_tokens or cap
    if wanted is None or wanted <= 0:
        big = model.provider in BIG_FALLBACK_PROVIDERS
        wanted = BIG_FALLBACK_OUTPUT_TOKENS if big else FALLBACK_OUTPUT_TOKENS
        if window is not None:
            wanted = min(wanted, window // 4)
    return max(1, min(wanted, ceiling) if ceiling is not None else wanted)


def estimate(conversation: Conversation) -> int:
    """About how many tokens the conversation and its tools are."""
    return measured(conversation)[0]


def item_tokens(item: Item) -> int:
    """About how many tokens an item is."""
    return TOKENS_PER_ITEM + sum(_part_tokens(part) for part in item.parts)


def truncated(conversation: Conversation, *, to_tokens: int) -> tuple[Conversation, int]:
    """The conversation without its oldest exchanges, and how many were left out.

    System items, samples, what carries no history tag and the newest user turn stay, even if
    they do not fit.
    """
    over = estimate(conversation) - to_tokens
    if over <= 0:
        return conversation, 0
    dropped: set[int] = set()
    exchanges = 0
    for group in _exchanges(conversation.items):
        if over <= 0:
            break
        over -= sum(item_tokens(conversation.items[index]) for index in group)
        dropped.update(group)
        exchanges += 1
    kept = tuple(item for index, item in enumerate(conversation.items) if index not in dropped)
    return replace(conversation, items=kept), exchanges


def measured(conversation: Conversation) -> tuple[int, int]:
    """About how many tokens it is, and how many are left when all that may go is left out."""
    sizes = [item_tokens(item) for item in conversation.items]
    total = sum(sizes) + _tool_tokens(conversation)
    goes = sum(sizes[index] for group in _exchanges(conversation.items) for index in group)
    return total, total - goes


def has_media(conversation: Conversation) -> bool:
    """Whether any item carries an image or a video."""
    return any(
        item.media or any(isinstance(part, ImagePart | VideoPart) for part in item.parts)
        for item in conversation.items
    )


def without_media(conversation: Conversation) -> Conversation:
    """The conversation with a notice in the place of each image and video."""
    if not has_media(conversation):
        return conversation
    items = tuple(
        replace(item, parts=tuple(_notice_for(part) for part in item.parts), media=())
        for item in conversation.items
    )
    return replace(conversation, items=items)


def _tool_tokens(conversation: Conversation) -> int:
    size = sum(
        len(tool.name) + len(tool.description) + len(tool.schema_json)
        for tool in conversation.tools
    )
    return int(size / BYTES_PER_TOKEN)


def _exchanges(items: tuple[Item, ...]) -> list[list[int]]:
    """Indexes of the history that may go, oldest first, in whole exchanges."""
    users = [i for i, item in enumerate(items) if item.tag is Tag.HISTORY and _asks(item)]
    newest = users[-1] if users else len(items)
    groups: list[list[int]] = []
    for index, item in enumerate(items[:newest]):
        if item.tag is not Tag.HISTORY or item.role is Role.SYSTEM:
            continue
        if (_asks(item) and not (groups and _asks(items[groups[-1][-1]]))) or not groups:
            groups.append([])
        groups[-1].append(index)
    return groups


def _asks(item: Item) -> bool:
    return item.role is Role.USER


def _part_tokens(part: Part) -> int:
    match part:
        case TextPart(text=text) | ReasoningPart(text=text):
            size = _bytes(text)
        case ImagePart() | VideoPart():
            return TOKENS_PER_IMAGE
        case ToolCallPart(name=name, arguments_json=arguments):
            size = len(name) + _bytes(arguments)
        case ToolResultPart(name=name, result_json=result):
            size = len(name) + _bytes(result)
    return int(size / BYTES_PER_TOKEN) + 1


def _bytes(text: str) -> int:
    """The size in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _notice_for(part: Part) -> Part:
    match part:
        case ImagePart():
            return TextPart(text="[an image is here, which this model cannot see]")
        case VideoPart():
            return TextPart(text="[a video is here, which this model cannot see]")
        case _:
            return part
