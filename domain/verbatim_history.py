"""A conversation in words alone, for a model that writes its tool calls as text."""

import json

from turnkeeper.domain.conversation import (
    Conversation,
    Item,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outline import ODD
from turnkeeper.domain.scaffolding import tells_of_tools


def in_words(conversation: Conversation) -> Conversation:
    """The conversation with calls and results as text, and with no tools of its own.

    A call is the JSON that the model wrote; a result is said by the user's side. What was thought
    before a call is left out: nobody wants it back as text.
    """
    at_a_glance = zip(conversation.outline, conversation.items, strict=True)
    items = tuple([item if kind < ODD else _in_words(item) for kind, item in at_a_glance])
    return replace(conversation, items=items, tools=())


def callable_names(conversation: Conversation) -> frozenset[str]:
    """The tools whose calls are read, because the model was told of them.

    One that is offered no more, but was called, is among them: it is not shown in the channel, and
    the model is told that it cannot be called.
    """
    offered = frozenset(tool.name for tool in conversation.tools)
    if not tells_of_tools(conversation):
        return offered
    parts = (part for item in conversation.odd for part in item.parts)
    called = (part.name for part in parts if isinstance(part, ToolCallPart))
    return offered.union(name for name in called if name)


def _in_words(item: Item) -> Item:
    if all(type(part) is TextPart for part in item.parts):
        return item
    role = Role.USER if item.role is Role.TOOL else item.role
    return replace(item, role=role, parts=_parts_in_words(item.parts))


def _parts_in_words(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    told: list[Part] = []
    for part in parts:
        match part:
            case ReasoningPart():
                continue
            case ToolCallPart():
                told.append(_on_a_line(_call(part), told))
            case ToolResultPart():
                told.append(_on_a_line(_result(part), told))
            case _:
                told.append(part)
    return tuple(told)


def _on_a_line(text: str, before: list[Part]) -> TextPart:
    return TextPart(text=f"\n{text}" if before else text)


def _call(part: ToolCallPart) -> str:
    name = json.dumps(part.name, ensure_ascii=False)
    return f'{{"name": {name}, "arguments": {part.arguments_json or "{}"}}}'


def _result(part: ToolResultPart) -> str:
    return f"[System: result of {part.name}: {part.result_json}]"
