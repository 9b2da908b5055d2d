"""What providers with an API of their own are asked, and what is read of their answers."""

import json
from collections.abc import Callable
from typing import Any

from builders import NOON
from contracts.chat_provider import KEY, calls_of, text_of, thoughts_of

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.domain.conversation import Conversation, Item, Part, Role, Tag, ToolCallPart
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.model import Model, Sampling
from turnkeeper.domain.stream import StreamEvent
from turnkeeper.infrastructure.providers.native_answer import NativeAnswer
from turnkeeper.infrastructure.providers.native_exchange import Draft
from turnkeeper.infrastructure.providers.native_reply import NativeReply
from turnkeeper.infrastructure.providers.speaker import Speaker
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.wall import answer as walls
from turnkeeper.infrastructure.wall.dialect import Asked, Dialect

SYSTEM = Item.said(Role.SYSTEM, "Be brief.", None)
WHALE = "data:image/png;base64,d2hhbGU="
LOOKING = walls.Answer(
    reasoning=("Hm.",),
    tokens=("I ", "look."),
    tool_calls=(walls.ToolCall(name="look", arguments=('{"at"', ':"sea"}')),),
)
EVERYTHING = Sampling(
    temperature=0.5,
    top_p=0.9,
    top_k=40,
    min_p=0.1,
    frequency_penalty=0.2,
    presence_penalty=0.3,
    stop=("a", "b", "c", "d", "e", "f"),
    logit_bias=(("1", 2.0),),
)


def said(role: Role, *parts: Part) -> Item:
    return Item(role=role, parts=parts, tag=Tag.HISTORY)


def called(call_id: str, signature: str | None = None) -> ToolCallPart:
    return ToolCallPart(
        call_id=call_id, name="look", arguments_json='{"at":"sea"}', signature=signature
    )


def call_of(*items: Item, model: Model, **more: Any) -> ChatCall:
    conversation = Conversation(items=items, tools=more.pop("tools", ()))
    return ChatCall(model=model, conversation=conversation, **more)


def body_in(draft: Draft) -> dict[str, Any]:
    """What is sent."""
    body: dict[str, Any] = json.loads(draft.posted.body)
    return body


def asked(provider: ChatProvider, call: ChatCall) -> list[StreamEvent]:
    return list(provider.stream(call, key=KEY, stop=ThreadStop(), deadline=NEVER))


def told_both_ways(
    dialect: Dialect, answer_of: Callable[[Speaker], NativeAnswer]
) -> list[tuple[str, str, list[tuple[str, str]], StreamEvent]]:
    """Text, thoughts, calls and end of the wall's answer, first as it is told whole, then streamed.

    Args:
        answer_of: Makes what it is read by.
    """
    readings = []
    for streamed in (False, True):
        rendered = dialect.rendered(LOOKING, Asked(model="alpha", streamed=streamed))
        body = b"".join((*rendered.opening, *rendered.tokens, *rendered.closing))
        reply = NativeReply(answer_of(Speaker(provider="wall", status=200, now=NOON)))
        events = [*reply.feed(body), *reply.end()]
        readings.append((text_of(events), thoughts_of(events), calls_of(events), events[-1]))
    return readings
