"""A conversation as Anthropic's messages.

Source: Anthropic's reference of the Messages API, and its guides to tools and thinking.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from turnkeeper.domain.conversation import (
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from turnkeeper.infrastructure.providers.native_turns import (
    Turn,
    entries_of,
    inline_of,
    object_of,
)

Block = dict[str, Any]

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")


def messages_of(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """The messages of a dialogue; results of tools stand first in theirs."""
    messages = [
        {"role": "assistant" if turn.is_model else "user", "content": _blocks(turn)}
        for turn in turns
    ]
    return [message for message in messages if message["content"]]


def thoughts_of(turn: Turn) -> list[Block]:
    """The blocks of thinking that go back unchanged; those of another provider do not."""
    blocks = [
        entry
        for part in turn.parts
        if isinstance(part, ReasoningPart)
        for entry in entries_of(part)
    ]
    return [block for block in blocks if is_signed(block)]


def is_signed(block: Block) -> bool:
    """Whether a block of thinking is whole, and so is taken back."""
    match block.get("type"):
        case "thinking":
            return bool(block.get("signature"))
        case "redacted_thinking":
            return bool(block.get("data"))
    return False


def _blocks(turn: Turn) -> list[Block]:
    text = turn.only_text
    if text is not None:
        return [_text(text)]
    return list(_model_blocks(turn) if turn.is_model else _user_blocks(turn))


def _model_blocks(turn: Turn) -> Iterator[Block]:
    yield from thoughts_of(turn)
    yield from (_text(part.text) for part in turn.parts if isinstance(part, TextPart))
    yield from (_call(part) for part in turn.parts if isinstance(part, ToolCallPart))


def _user_blocks(turn: Turn) -> Iterator[Block]:
    yield from (_result(part) for part in turn.results)
    yield from _seen(turn.others)


def _seen(parts: Iterable[Part]) -> Iterator[Block]:
    for part in parts:
        match part:
            case TextPart(text=text):
                yield _text(text)
            case ImagePart(uri=uri):
                yield {"type": "image", "source": _source(uri)}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _call(part: ToolCallPart) -> Block:
    return {
        "type": "tool_use",
        "id": _id(part.call_id),
        "name": part.name,
        "input": object_of(part.arguments_json),
    }


def _result(part: ToolResultPart) -> Block:
    return {"type": "tool_result", "tool_use_id": _id(part.call_id), "content": part.result_json}


def _source(uri: str) -> Block:
    if inline := inline_of(uri):
        return {"type": "base64", "media_type": inline[0], "data": inline[1]}
    return {"type": "url", "url": uri}


def _id(call_id: str) -> str:
    """The id; another provider's may hold what is not taken here."""
    return _NOT_IN_IDS.sub("_", call_id)
