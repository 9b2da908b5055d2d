"""OpenAI's own client, and our adapter, ask the wall the same."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from peers.exchange import (
    ASKS_TO_LOOK,
    IS_CALM,
    KEY,
    LOOK,
    MAX_TOKENS,
    QUESTION,
    RESULT,
    SCHEMA,
    SYSTEM,
    WHALE_URI,
    Differences,
    ask,
    body_of,
    conversation,
    differences,
    headers_of,
)

from turnkeeper.domain.model import Sampling
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.dialects import DIALECTS
from turnkeeper.infrastructure.providers.openai_compatible import OpenAICompatibleProvider
from turnkeeper.infrastructure.wall.server import Wall

openai: Any = pytest.importorskip("openai", reason="`make test-peers` brings the client")

SAMPLING = Sampling(
    temperature=0.5,
    top_p=0.9,
    frequency_penalty=0.25,
    presence_penalty=-0.25,
    stop=("END",),
    logit_bias=(("50256", -100.0),),
    reasoning_effort="high",
)
OPENAI_TAKES: dict[str, Any] = {
    "max_completion_tokens": MAX_TOKENS,
    "logit_bias": {"50256": -100},
    "reasoning_effort": "high",
}
OPENROUTER_TAKES: dict[str, Any] = {
    "max_tokens": MAX_TOKENS,
    "logit_bias": {"50256": -100},
    "extra_body": {"reasoning": {"effort": "high"}, "top_k": 40, "min_p": 0.05},
}

INTENDED: Differences = {}
"""Of the body: none."""
INTENDED_HEADERS: Differences = {
    # We ask for a stream and say so; the client names the type of an answer that does not stream.
    "accept": ("text/event-stream", "application/json"),
}


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as wall:
        wall.script([ASKS_TO_LOOK, IS_CALM])
        yield wall


def let_client_ask(wall: Wall, **takes: Any) -> None:
    """A turn of two calls, the tool's result between them; what came first is sent back."""
    shown = [
        {"type": "text", "text": QUESTION},
        {"type": "image_url", "image_url": {"url": WHALE_URI}},
    ]
    tools = [{"type": "function", "function": {**LOOK, "parameters": SCHEMA}}]
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": shown},
    ]
    with openai.OpenAI(api_key=KEY, base_url=wall.base_url, max_retries=0) as client:
        chat = client.chat.completions
        said = chat.create(model="alpha", messages=messages, tools=tools).choices[0].message
        (call,) = said.tool_calls
        result = {"role": "tool", "tool_call_id": call.id, "content": json.dumps(RESULT)}
        stream = chat.create(
            model="alpha",
            messages=[*messages, said, result],
            tools=tools,
            stream=True,
            stream_options={"include_usage": True},
            temperature=0.5,
            top_p=0.9,
            frequency_penalty=0.25,
            presence_penalty=-0.25,
            stop=["END"],
            **takes,
        )
        assert "".join(_texts(stream)) == IS_CALM.whole_text


def let_adapter_ask(wall: Wall, name: str, sampling: Sampling) -> None:
    (dialect,) = (known for known in DIALECTS if known.name == name)
    http = HttpClient(user_agent="turnkeeper-tests")
    provider = OpenAICompatibleProvider(
        http=http, clock=SystemClock(), dialect=replace(dialect, base_url=wall.base_url)
    )
    ask(provider, conversation(), name="alpha", sampling=sampling)
    http.close()


def _texts(stream: Any) -> Iterator[str]:
    for chunk in stream:
        yield from (choice.delta.content or "" for choice in chunk.choices)


@pytest.mark.parametrize(
    ("name", "takes", "sampling"),
    [
        ("openai", OPENAI_TAKES, SAMPLING),
        ("openrouter", OPENROUTER_TAKES, replace(SAMPLING, top_k=40, min_p=0.05)),
    ],
    ids=["openai", "openrouter"],
)
def test_the_adapter_asks_what_the_client_asks(
    wall: Wall, name: str, takes: dict[str, Any], sampling: Sampling
) -> None:
    let_client_ask(wall, **takes)
    let_adapter_ask(wall, name, sampling)

    theirs, ours = wall.seen[1:]
    assert differences(body_of(ours), body_of(theirs)) == INTENDED
    assert ours.target == theirs.target


def test_the_key_goes_where_the_client_puts_it(wall: Wall) -> None:
    let_client_ask(wall, **OPENAI_TAKES)
    let_adapter_ask(wall, "openai", SAMPLING)

    theirs, ours = (
        headers_of(seen, "authorization", "content-type", "accept") for seen in wall.seen[1:]
    )
    assert differences(ours, theirs) == INTENDED_HEADERS
    assert ours["authorization"] == f"Bearer {KEY}"
