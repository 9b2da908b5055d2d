"""What a model that writes its tool calls as text has to be told, for one attempt only."""

from turnkeeper.domain.conversation import Conversation, Item, Role, Tag, TextPart, ToolSpec
from turnkeeper.domain.frozen import replace

NUDGE_BEFORE = 3
"""How many items of history come after the nudge."""

_SCHEMAS, _NUDGES = Tag.TOOL_SCHEMAS, Tag.TOOL_NUDGE  # looking one up takes as long as a call
_NUDGE = TextPart(
    text="[System: to use a tool, write its call as a JSON object with its name and arguments, "
    "exactly as its schema says. Do not only say that you will use it.]"
)


def scaffolded(conversation: Conversation, *, verbatim: bool) -> Conversation:
    """The conversation with the tools' schemas and a nudge to use them, or without either.

    Each of them stays as it is where the conversation has it already.

    Args:
        verbatim: Whether the model writes its tool calls as text.
    """
    if not verbatim or not conversation.tools:
        return conversation if conversation.is_plain else _stripped(conversation)
    tags = [item.tag for item in conversation.odd]
    items = list(conversation.items)
    if Tag.TOOL_NUDGE not in tags:
        items.insert(_nudge_at(items), Item(role=Role.USER, parts=(_NUDGE,), tag=Tag.TOOL_NUDGE))
    if Tag.TOOL_SCHEMAS not in tags:
        items.insert(_schemas_at(items), _schemas_of(conversation.tools))
    return replace(conversation, items=tuple(items))


def as_sent(conversation: Conversation) -> Conversation:
    """The conversation without the tools that it tells of in its text: those go no other way."""
    if not conversation.tools or not tells_of_tools(conversation):
        return conversation
    return replace(conversation, tools=())


def tells_of_tools(conversation: Conversation) -> bool:
    """Whether the tools' schemas are in its text."""
    return any(item.tag is _SCHEMAS for item in conversation.odd)


def _stripped(conversation: Conversation) -> Conversation:
    if not any(map(_is_half, conversation.odd)):
        return conversation
    items = tuple(item for item in conversation.items if not _is_half(item))
    return replace(conversation, items=items)


def _is_half(item: Item) -> bool:
    return item.tag is _SCHEMAS or item.tag is _NUDGES


def _schemas_of(tools: tuple[ToolSpec, ...]) -> Item:
    lines = [f"- {tool.name}: {tool.description}\n  {tool.schema_json}" for tool in tools]
    text = "\n".join(["These tools can be called:", *lines])
    return Item.said(Role.SYSTEM, text, Tag.TOOL_SCHEMAS)


def _schemas_at(items: list[Item]) -> int:
    """Before the history, else at the end."""
    return next((at for at, item in enumerate(items) if item.tag is Tag.HISTORY), len(items))


def _nudge_at(items: list[Item]) -> int:
    """Before the last few items of the history, else at the end; never between a call and its
    result."""
    history = [at for at, item in enumerate(items) if item.tag is Tag.HISTORY]
    if not history:
        return len(items)
    ordinal = max(0, len(history) - NUDGE_BEFORE)
    while ordinal > 0 and items[history[ordinal]].role is Role.TOOL:
        ordinal -= 1
    return history[ordinal]
