"""A call as a request for Anthropic's messages.

Source: Anthropic's reference of the Messages API.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import ToolSpec
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.providers.anthropic_messages import messages_of
from turnkeeper.infrastructure.providers.anthropic_thinking import thinking_of
from turnkeeper.infrastructure.providers.native_exchange import Draft
from turnkeeper.infrastructure.providers.native_turns import dialogue_of
from turnkeeper.infrastructure.providers.natives import ANTHROPIC_VERSION

DEFAULT_MAX_TOKENS = 8192

_HIGHEST_TEMPERATURE = 1.0
_LEAST_TOP_P_OF_THINKING = 0.95
_HINTS = (
    ("thinking", "thinking"),
    ("effort", "output_config"),
    ("output_config", "output_config"),
)


def draft_of(call: ChatCall, *, base_url: str, key: Secret | None) -> Draft:
    """The request for a call, refused by nobody yet."""
    dialogue = dialogue_of(call)
    max_tokens = _max_tokens(call)
    fixed: dict[str, Any] = {
        "model": call.model.name,
        "max_tokens": max_tokens,
        "messages": _without_last_space(messages_of(dialogue.turns)),
        "stream": True,
    }
    if dialogue.system:
        fixed["system"] = dialogue.system
    if call.conversation.tools:
        fixed["tools"] = [_tool(tool) for tool in call.conversation.tools]
    thinking = thinking_of(call, dialogue.turns, max_tokens=max_tokens)
    return Draft(
        url=f"{base_url}/messages",
        model=call.model.name,
        fixed=fixed,
        parameters={**dict(_sampling(call, thinks=bool(thinking))), **thinking},
        hints=_HINTS,
        headers=(("anthropic-version", ANTHROPIC_VERSION),),
        key_headers=(("x-api-key", key.reveal()),) if key else (),
    )


def _max_tokens(call: ChatCall) -> int:
    """The longest answer, which cannot be left out."""
    if call.max_output_tokens is not None:
        return call.max_output_tokens
    return min(DEFAULT_MAX_TOKENS, call.model.limits.max_output_tokens or DEFAULT_MAX_TOKENS)


def _without_last_space(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages; the beginning of an answer must not end with white space."""
    last = messages[-1]
    if last["role"] == "assistant":
        *before, block = last["content"]
        ended = {**block, "text": block["text"].rstrip()} if "text" in block else block
        return [*messages[:-1], {**last, "content": [*before, ended]}]
    return messages


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": orjson.Fragment(tool.schema_json),
    }


def _sampling(call: ChatCall, *, thinks: bool) -> Iterator[tuple[str, Any]]:
    return (
        (name, value)
        for name, value in _set(call, thinks=thinks)
        if ("stop" if name == "stop_sequences" else name) not in call.sampling.disabled
    )


def _set(call: ChatCall, *, thinks: bool) -> Iterator[tuple[str, Any]]:
    """What is set; a model that thinks takes little of it."""
    sampling = call.sampling
    if sampling.temperature is not None and not thinks:
        yield "temperature", min(sampling.temperature, _HIGHEST_TEMPERATURE)
    if sampling.top_p is not None and (not thinks or sampling.top_p >= _LEAST_TOP_P_OF_THINKING):
        yield "top_p", sampling.top_p
    if sampling.top_k is not None and not thinks:
        yield "top_k", sampling.top_k
    if stops := [stop for stop in sampling.stop if stop.strip()]:
        yield "stop_sequences", stops
