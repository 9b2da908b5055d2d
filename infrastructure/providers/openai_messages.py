"""A conversation as messages of OpenAI's chat completions."""

import re
from base64 import b32encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

import orjson

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import (
    ImagePart,
    Item,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    VideoPart,
)
from turnkeeper.domain.outline import ODD
from turnkeeper.infrastructure.providers.dialects import Dialect
from turnkeeper.infrastructure.providers.sound_json import sound_json

Message = dict[str, Any]

_WORDS = ("system", "user", "assistant", "tool") * 4
"""Who says an item, by what it is at a glance if it is plain."""
_WORD_OF = {Role.SYSTEM: "system", Role.USER: "user", Role.MODEL: "assistant"}
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")
_OPENING = "(the conversation begins)"
_GO_ON = "Go on from exactly this beginning of your answer, without repeating it: "


def messages_of(call: ChatCall, dialect: Dialect) -> list[Message]:
    """The messages of a call, with the beginning of the answer as the last one if there is one."""
    messages = _said(call, dialect)
    goes_on = bool(call.prefill) and call.model.capabilities.prefix_completion
    if call.prefill and not goes_on:
        messages.append({"role": "user", "content": f"[{_GO_ON}{call.prefill}]"})
    if call.model.capabilities.strict_role_alternation:
        messages = _alternating(messages)
    if goes_on:
        messages.append(_prefix(call.prefill, dialect))
    return messages


def written_messages(call: ChatCall, dialect: Dialect) -> list[Any]:
    """The same as they stand in a body; those that are plain texts are JSON already.

    All dialects write these alike, so a conversation's items are written once, not for each turn.
    """
    told, can = call.conversation, call.model.capabilities
    if told.is_plain and not (call.prefill or can.strict_role_alternation):
        return told.as_written(_written)
    return messages_of(call, dialect)


def _written(item: Item) -> orjson.Fragment:
    return orjson.Fragment(sound_json({"role": _WORD_OF[item.role], "content": item.text}))


def _said(call: ChatCall, dialect: Dialect) -> list[Message]:
    told = call.conversation
    at_a_glance = zip(told.outline, told.items, strict=True)
    if told.is_plain:  # as most are, and a long one costs a third so
        return [
            {"role": _WORDS[kind], "content": item.parts[0].text}  # type: ignore[union-attr]
            for kind, item in at_a_glance
        ]
    messages: list[Message] = []
    for kind, item in at_a_glance:
        if kind < ODD:
            messages.append({"role": _WORDS[kind], "content": item.text})
        else:
            messages.extend(_messages(item, call, dialect))
    return messages


def _messages(item: Item, call: ChatCall, dialect: Dialect) -> Iterator[Message]:
    match item.role:
        case Role.TOOL:
            for part in item.parts:
                if isinstance(part, ToolResultPart):
                    yield _tool_result(part, dialect)
        case Role.MODEL:
            if message := _answer(item, dialect):
                yield message
        case Role.SYSTEM:
            if text := item.text:
                yield {"role": "system", "content": text}
        case Role.USER:
            if content := _content(item, with_videos=call.model.capabilities.videos):
                yield {"role": "user", "content": content}


def _tool_result(part: ToolResultPart, dialect: Dialect) -> Message:
    return {
        "role": "tool",
        "tool_call_id": _tool_id(part.call_id, dialect),
        "content": part.result_json,
    }


def _answer(item: Item, dialect: Dialect) -> Message | None:
    calls = [part for part in item.parts if isinstance(part, ToolCallPart)]
    text = item.text
    if not calls:
        return {"role": "assistant", "content": text} if text else None
    return {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [_tool_call(part, dialect) for part in calls],
        **_reasoning(item.parts, dialect),
    }


def _tool_call(part: ToolCallPart, dialect: Dialect) -> Message:
    return {
        "id": _tool_id(part.call_id, dialect),
        "type": "function",
        "function": {"name": part.name, "arguments": part.arguments_json or "{}"},
    }


def _tool_id(call_id: str, dialect: Dialect) -> str:
    """The id; where only short ones are taken, another provider's id is made into one."""
    if not dialect.short_tool_ids or _SHORT_ID.fullmatch(call_id):
        return call_id
    return b32encode(sha256(call_id.encode()).digest()).decode()[:9]


def _reasoning(parts: Iterable[Part], dialect: Dialect) -> Message:
    """What was thought before the calls, as the provider wants it back."""
    thoughts = [part for part in parts if isinstance(part, ReasoningPart)]
    if dialect.reasoning_back == "reasoning_details":
        opaque = [orjson.loads(part.opaque_json) for part in thoughts if part.opaque_json]
        details = [detail for listed in opaque if isinstance(listed, list) for detail in listed]
        return {"reasoning_details": details} if details else {}
    text = "".join(part.text for part in thoughts)
    return {dialect.reasoning_back: text} if dialect.reasoning_back and text else {}


def _content(item: Item, *, with_videos: bool) -> str | list[Message]:
    if all(isinstance(part, TextPart) for part in item.parts):
        return item.text
    return list(_user_parts(item.parts, with_videos=with_videos))


def _user_parts(parts: Iterable[Part], *, with_videos: bool) -> Iterator[Message]:
    for part in parts:
        match part:
            case TextPart(text=text) if text:
                yield {"type": "text", "text": text}
            case ImagePart(uri=uri):
                yield {"type": "image_url", "image_url": {"url": uri}}
            case VideoPart(uri=uri) if with_videos:
                yield {"type": "video_url", "video_url": {"url": uri}}


def _prefix(text: str, dialect: Dialect) -> Message:
    mark = {"prefix": True} if dialect.marks_prefix else {}
    return {"role": "assistant", "content": text, **mark}


def _alternating(messages: list[Message]) -> list[Message]:
    """The messages such that user and assistant take turns, after one system message at most."""
    merged: list[Message] = []
    for message in messages:
        is_first_system = message["role"] == "system" and all(
            earlier["role"] == "system" for earlier in merged
        )
        if message["role"] == "system" and not is_first_system:
            message = {**message, "role": "user"}
        if merged and _may_merge(merged[-1], message):
            merged[-1] = _merged(merged[-1], message)
        else:
            merged.append(message)
    first = next((at for at, message in enumerate(merged) if message["role"] != "system"), None)
    if first is not None and merged[first]["role"] == "assistant":
        merged.insert(first, {"role": "user", "content": _OPENING})
    return merged


def _may_merge(earlier: Message, later: Message) -> bool:
    """Whether both are of one role, and no call comes between a call and its result."""
    return (
        earlier["role"] == later["role"] != "tool"
        and "tool_calls" not in earlier
        and "tool_calls" not in later
    )


def _merged(earlier: Message, later: Message) -> Message:
    contents = (earlier["content"], later["content"])
    if all(isinstance(content, str) for content in contents):
        return {**earlier, "content": "\n\n".join(contents)}
    return {**earlier, "content": [part for content in contents for part in _as_parts(content)]}


def _as_parts(content: str | list[Message]) -> list[Message]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
