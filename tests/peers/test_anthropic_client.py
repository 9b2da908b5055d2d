"""Anthropic's own client, and our adapter, ask the wall the same."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from peers.exchange import (
    ABSENT,
    ASKS_TO_LOOK,
    IS_CALM,
    KEY,
    LOOK,
    MAX_TOKENS,
    QUESTION,
    RESULT,
    SCHEMA,
    SYSTEM,
    WHALE_BASE64,
    Differences,
    ask,
    body_of,
    conversation,
    differences,
    headers_of,
)

from turnkeeper.domain.conversation import Conversation, ReasoningPart
from turnkeeper.domain.model import Sampling
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.anthropic import AnthropicProvider
from turnkeeper.infrastructure.wall.anthropic_dialect import AnthropicDialect
from turnkeeper.infrastructure.wall.server import Wall

anthropic: Any = pytest.importorskip("anthropic", reason="`make test-peers` brings the client")

MODEL = "claude-sonnet-4-6"
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
SAMPLING = Sampling(temperature=0.5, top_p=0.9, top_k=40, stop=("END",))
THINKING = Sampling(reasoning_effort="high", stop=("END",))

INTENDED: Differences = {
    # The client knows only the newest version of the API, which refuses what servers set here.
    # We ask in the version before it, which goes on taking it, and leave out what a model refuses.
    "temperature": (0.5, ABSENT),
    "top_p": (0.9, ABSENT),
    "top_k": (40, ABSENT),
}
INTENDED_WITH_THINKING: Differences = {}
INTENDED_HEADERS: Differences = {
    # See above.
    "anthropic-version": ("2023-06-01", "2026-10-21"),
    # The reference of the API shows this header for keys; the client's is that of tokens as well.
    "x-api-key": (KEY, ABSENT),
    "authorization": (ABSENT, f"Bearer {KEY}"),
    # We ask for a stream and say so; the client names the type of an answer that does not stream.
    "accept": ("text/event-stream", "application/json"),
}


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall(dialects=(AnthropicDialect(),)) as wall:
        wall.script([ASKS_TO_LOOK, IS_CALM])
        yield wall


def let_client_ask(wall: Wall, *, thoughts: tuple[Any, ...] = (), **takes: Any) -> None:
    """A turn of two calls, the tool's result between them; what came first is sent back."""
    whale = {"type": "base64", "media_type": "image/png", "data": WHALE_BASE64}
    shown = [{"type": "text", "text": QUESTION}, {"type": "image", "source": whale}]
    tools = [{**LOOK, "input_schema": SCHEMA}]
    question = {"role": "user", "content": shown}
    always = {"model": MODEL, "max_tokens": MAX_TOKENS, "system": SYSTEM, "tools": tools}
    with anthropic.Anthropic(api_key=KEY, base_url=wall.url, max_retries=0) as client:
        said = client.messages.create(messages=[question], **always)
        call = said.content[-1]
        result = {
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": json.dumps(RESULT),
        }
        messages = [
            question,
            {"role": "assistant", "content": [*thoughts, *said.content]},
            {"role": "user", "content": [result]},
        ]
        with client.messages.create(
            messages=messages, stop_sequences=["END"], stream=True, **always, **takes
        ) as stream:
            text = "".join(e.delta.text for e in stream if e.type == "content_block_delta")
    assert text == IS_CALM.whole_text


def let_adapter_ask(wall: Wall, conversation: Conversation, sampling: Sampling) -> None:
    http = HttpClient(user_agent="turnkeeper-tests")
    provider = AnthropicProvider(http=http, clock=SystemClock(), base_url=f"{wall.url}/v1")
    ask(provider, conversation, name=MODEL, sampling=sampling)
    http.close()


def test_the_adapter_asks_what_the_client_asks(wall: Wall) -> None:
    let_client_ask(wall)
    let_adapter_ask(wall, conversation(), SAMPLING)

    theirs, ours = wall.seen[1:]
    assert differences(body_of(ours), body_of(theirs)) == INTENDED
    assert ours.target == theirs.target


def test_thinking_is_asked_for_and_sent_back_as_the_client_does_it(wall: Wall) -> None:
    let_client_ask(
        wall,
        thoughts=(THOUGHT,),
        thinking={"type": "adaptive", "display": "summarized"},
        output_config={"effort": "high"},
    )
    thought = ReasoningPart(text="Hm.", opaque_json=json.dumps([THOUGHT]))
    let_adapter_ask(wall, conversation(reasoning=thought), THINKING)

    theirs, ours = wall.seen[1:]
    assert differences(body_of(ours), body_of(theirs)) == INTENDED_WITH_THINKING


def test_the_headers_are_the_clients_but_for_known_ones(wall: Wall) -> None:
    let_client_ask(wall)
    let_adapter_ask(wall, conversation(), SAMPLING)

    names = ("authorization", "x-api-key", "anthropic-version", "content-type", "accept")
    theirs, ours = (headers_of(seen, *names) for seen in wall.seen[1:])
    assert differences(ours, theirs) == INTENDED_HEADERS
