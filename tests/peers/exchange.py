"""One turn as an official client and as an adapter sends it, and in what the two differ."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.model import Capabilities, Model, Sampling
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.wall.answer import Answer, ToolCall
from turnkeeper.infrastructure.wall.seen import Seen

KEY = "sk-peer-0123456789abcdef"
SYSTEM = "You keep a lighthouse. Be brief."
QUESTION = "What is this, and how is the sea?"
WHALE = b"a whale"
WHALE_BASE64 = "YSB3aGFsZQ=="
WHALE_URI = f"data:image/png;base64,{WHALE_BASE64}"
ARGUMENTS = '{"at":"sea"}'
RESULT = {"seen": "calm"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"at": {"type": "string"}},
    "required": ["at"],
}
LOOK = {"name": "look", "description": "Looks somewhere."}
MAX_TOKENS = 4096

ASKS_TO_LOOK = Answer(
    tokens=("Let me look.",),
    tool_calls=(ToolCall(name="look", arguments=(ARGUMENTS,), id="call_1"),),
)
IS_CALM = Answer(text="A whale; it is calm.")

Differences = dict[str, tuple[Any, Any]]
ABSENT = "(absent)"


def conversation(
    *, signature: str | None = None, reasoning: ReasoningPart | None = None
) -> Conversation:
    """A question with an image, a tool call, and what it gave."""
    call = ToolCallPart(
        call_id="call_1", name="look", arguments_json=ARGUMENTS, signature=signature
    )
    thought = (reasoning,) if reasoning else ()
    result = ToolResultPart(call_id="call_1", name="look", result_json=json.dumps(RESULT))
    asked = (TextPart(text=QUESTION), ImagePart(uri=WHALE_URI, mime_type="image/png"))
    return Conversation(
        items=(
            Item.said(Role.SYSTEM, SYSTEM, None),
            Item(role=Role.USER, parts=asked),
            Item(role=Role.MODEL, parts=(*thought, TextPart(text="Let me look."), call)),
            Item(role=Role.TOOL, parts=(result,)),
        ),
        tools=(ToolSpec(**LOOK, schema_json=json.dumps(SCHEMA)),),
    )


def ask(
    provider: ChatProvider,
    conversation: Conversation,
    *,
    name: str,
    sampling: Sampling,
    reasons: bool = False,
) -> None:
    """Let the adapter ask, and take in the whole answer."""
    model = Model(
        id=f"peer:{name}",
        provider="peer",
        name=name,
        capabilities=Capabilities(images=True, reasoning=reasons),
    )
    call = ChatCall(
        model=model, conversation=conversation, sampling=sampling, max_output_tokens=MAX_TOKENS
    )
    list(provider.stream(call, key=Secret(KEY), stop=ThreadStop(), deadline=NEVER))


def differences(ours: object, theirs: object) -> Differences:
    """By place, what the adapter sends and what the client sends there."""
    return dict(_differences(ours, theirs, ""))


def body_of(seen: Seen) -> Any:
    return json.loads(seen.raw)


def headers_of(seen: Seen, *names: str) -> dict[str, str]:
    return {name: seen.headers.get(name, ABSENT) for name in names}


def _differences(
    ours: object, theirs: object, place: str
) -> Iterator[tuple[str, tuple[object, object]]]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for name in sorted({*ours, *theirs}):
            inner = f"{place}.{name}" if place else name
            yield from _differences(ours.get(name, ABSENT), theirs.get(name, ABSENT), inner)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(mine, other, f"{place}[{number}]")
    elif ours != theirs:
        yield place, (ours, theirs)
