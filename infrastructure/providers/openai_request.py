"""A call as a request for OpenAI's chat completions."""

from dataclasses import field
from functools import lru_cache
from operator import attrgetter
from typing import Any

import orjson

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import ToolSpec
from turnkeeper.domain.frozen import frozen, maker, replace
from turnkeeper.domain.model import Endpoint, Sampling
from turnkeeper.infrastructure.providers.dialects import MAX_COMPLETION_TOKENS, MAX_TOKENS, Dialect
from turnkeeper.infrastructure.providers.openai_messages import written_messages
from turnkeeper.infrastructure.providers.refused_parameters import Refusal, value_json
from turnkeeper.infrastructure.providers.sound_json import sound_json

PATH = "/chat/completions"

_MOST_ADDRESSES = 1_024  # that are remembered
_FIXED = frozenset({"model", "messages", "stream", "tools"})
_NUMBERS = ("temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty")
_numbers_of = attrgetter(*_NUMBERS)
_set_in = attrgetter(*_NUMBERS, "stop", "logit_bias")
_NOTHING_SET = ((None,) * len(_NUMBERS)) + ((), ())
_NO_EFFORT = frozenset({None, "", "auto"})
_WITH_USAGE = {"include_usage": True}
_OUTPUT_NAMES = frozenset({MAX_TOKENS, MAX_COMPLETION_TOKENS, "max_output_tokens"})


@frozen
class OpenAIRequest:
    """Where a call goes, and with what body.

    Attributes:
        dialect: In which it is written.
        endpoint: The custom endpoint, or None for the provider's own address.
        url: The address to post to.
        model: The name in the request.
        body: Its fields.
    """

    dialect: Dialect
    endpoint: Endpoint | None
    url: str
    model: str
    body: dict[str, Any] = field(repr=False)

    @property
    def payload(self) -> bytes:
        """The body as JSON."""
        return sound_json(self.body)

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields that the call can do without."""
        return {name: value for name, value in self.body.items() if name not in _FIXED}

    def without(self, refusals: frozenset[Refusal]) -> "OpenAIRequest":
        """The request without what is refused."""
        if not refusals:
            return self
        body = {
            name: value
            for name, value in self.body.items()
            if name in _FIXED or not _is_refused(name, value, refusals)
        }
        return replace(self, body=_renamed(self.body, body, refusals))


_new_openai_request = maker(OpenAIRequest)


def request_of(call: ChatCall, dialect: Dialect) -> OpenAIRequest:
    """The request for a call, refused by nobody yet."""
    endpoint, sampling = call.endpoint, call.sampling
    goes_on = bool(call.prefill) and call.model.capabilities.prefix_completion
    model = (endpoint.model_name or endpoint.label) if endpoint else call.model.name
    fields: dict[str, Any] = {
        "model": model,
        "messages": written_messages(call, dialect),
        "stream": True,
    }
    if dialect.asks_for_usage:
        fields["stream_options"] = _WITH_USAGE
    if call.conversation.tools:
        fields["tools"] = [_tool(tool) for tool in call.conversation.tools]
    if _set_in(sampling) != _NOTHING_SET:
        fields |= _sampling(sampling, dialect)
    if call.max_output_tokens is not None and _OUTPUT_NAMES.isdisjoint(sampling.disabled):
        fields[dialect.output_field] = call.max_output_tokens
    if sampling.reasoning_effort not in _NO_EFFORT:
        fields |= _effort(call, dialect)
    if endpoint and endpoint.num_ctx and dialect.takes_context_size:
        fields["options"] = {"num_ctx": endpoint.num_ctx}
    if goes_on:
        fields |= dict(dialect.prefix_flags)
    return _new_openai_request(
        dialect=dialect,
        endpoint=endpoint,
        url=_url_under(endpoint.base_url if endpoint else _base_url(dialect, goes_on=goes_on)),
        model=model,
        body=fields,
    )


def _base_url(dialect: Dialect, *, goes_on: bool) -> str:
    return (goes_on and dialect.prefix_base_url) or dialect.base_url


@lru_cache(_MOST_ADDRESSES)
def _url_under(base_url: str) -> str:
    base_url = base_url.rstrip("/")
    return base_url if base_url.endswith(PATH) else f"{base_url}{PATH}"


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": orjson.Fragment(tool.schema_json),
    }
    return {"type": "function", "function": function}


def _sampling(sampling: Sampling, dialect: Dialect) -> dict[str, Any]:
    return {
        name: value
        for name, value in _set(sampling, dialect)
        if name in dialect.sampling and name not in sampling.disabled
    }


def _set(sampling: Sampling, dialect: Dialect) -> list[tuple[str, Any]]:
    named: list[tuple[str, Any]] = []
    pairs = zip(_NUMBERS, _numbers_of(sampling), strict=True)
    named.extend((name, number) for name, number in pairs if number is not None)
    if sampling.stop:
        named.append(("stop", list(sampling.stop[: dialect.most_stops])))
    if sampling.logit_bias:
        named.append(("logit_bias", dict(sampling.logit_bias)))
    return named


def _effort(call: ChatCall, dialect: Dialect) -> dict[str, Any]:
    effort = call.sampling.reasoning_effort
    name = dialect.effort_field
    if effort is None or not name or "reasoning_effort" in call.sampling.disabled:
        return {}
    if effort == "none" and not call.model.capabilities.reasoning:
        return {}
    word = dict(dialect.efforts).get(effort, effort)
    match name:
        case "reasoning":
            return {name: {"effort": word}}
        case "thinking":
            return {name: {"type": word}}
    return {name: word}


def _is_refused(name: str, value: object, refusals: frozenset[Refusal]) -> bool:
    return bool(refusals) and bool({(name, None), (name, value_json(value))} & refusals)


_OTHER_NAME = {
    MAX_TOKENS: MAX_COMPLETION_TOKENS,
    MAX_COMPLETION_TOKENS: MAX_TOKENS,
}


def _renamed(
    asked: dict[str, Any], body: dict[str, Any], refusals: frozenset[Refusal]
) -> dict[str, Any]:
    """Where only the name of the longest answer is refused, it goes by its other name."""
    for name, other in _OTHER_NAME.items():
        refused = name in asked and name not in body and (name, None) in refusals
        if refused and not _is_refused(other, asked[name], refusals):
            return {**body, other: asked[name]}
    return body
