"""A call as a request to the Gemini API.

Source: Google's reference of generateContent.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import orjson

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import ToolSpec
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.providers.gemini_contents import contents_of
from turnkeeper.infrastructure.providers.gemini_thinking import thinking_of
from turnkeeper.infrastructure.providers.native_exchange import Draft
from turnkeeper.infrastructure.providers.native_turns import dialogue_of

MOST_STOPS = 5

_COLLECTIONS = ("models/", "tunedModels/")
_OUTPUT_NAMES = frozenset({"max_output_tokens", "max_tokens", "max_completion_tokens"})
_SAMPLING = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty")
_HINTS = (
    ("penalty is not enabled", "frequency_penalty"),
    ("penalty is not enabled", "presence_penalty"),
    ("thinking", "thinking_config"),
    ("budget", "thinking_config"),
)


def draft_of(call: ChatCall, *, base_url: str, key: Secret | None) -> Draft:
    """The request for a call, refused by nobody yet."""
    dialogue = dialogue_of(call)
    fixed: dict[str, Any] = {"contents": contents_of(dialogue.turns, call.model.name)}
    if dialogue.system:
        fixed["systemInstruction"] = {"parts": [{"text": dialogue.system}]}
    if call.conversation.tools:
        declared = [_declaration(tool) for tool in call.conversation.tools]
        fixed["tools"] = [{"functionDeclarations": declared}]
    return Draft(
        url=f"{base_url}/{_path(call.model.name)}:streamGenerateContent?alt=sse",
        model=call.model.name,
        fixed=fixed,
        parameters=dict(_parameters(call)),
        within="generationConfig",
        in_camel_case=True,
        hints=_HINTS,
        # Never in the address, which is written to logs.
        key_headers=(("x-goog-api-key", key.reveal()),) if key else (),
    )


def _path(model: str) -> str:
    collection = next((known for known in _COLLECTIONS if model.startswith(known)), "")
    name = quote(model.removeprefix(collection), safe="")
    return f"{collection or 'models/'}{name}"


def _declaration(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": orjson.Fragment(tool.schema_json),
    }


def _parameters(call: ChatCall) -> Iterator[tuple[str, Any]]:
    sampling = call.sampling
    disabled = sampling.disabled
    if call.max_output_tokens is not None and not _OUTPUT_NAMES & disabled:
        yield "max_output_tokens", call.max_output_tokens
    for name in _SAMPLING:
        value = getattr(sampling, name)
        if value is not None and name not in disabled:
            yield name, value
    if sampling.stop and "stop" not in disabled:
        yield "stop_sequences", list(sampling.stop[:MOST_STOPS])
    if thinking := thinking_of(call):
        yield "thinking_config", thinking
