"""A call as a request to NovelAI's own text API.

Source: NovelAI's API documentation.
"""

from collections.abc import Iterator
from typing import Any

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.providers.native_exchange import Draft
from turnkeeper.infrastructure.providers.novelai_answer import Expected
from turnkeeper.infrastructure.providers.novelai_prompt import USER, prompt_of

MOST_TOKENS = 150
"""The longest answer of these models, unless one was registered with another limit."""

_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "frequency_penalty": "repetition_penalty_frequency",
    "presence_penalty": "repetition_penalty_presence",
}


def draft_of(call: ChatCall, *, base_url: str, key: Secret | None) -> Draft:
    """The request for a call, refused by nobody yet."""
    always = {
        "use_string": True,
        "max_length": max_length_of(call),
        "min_length": 1,
        "generate_until_sentence": True,
        "return_full_text": False,
        "use_cache": False,
        "prefix": "vanilla",
    }
    return Draft(
        url=f"{base_url}/ai/generate-stream",
        model=call.model.name,
        fixed={"input": prompt_of(call), "model": call.model.name, "parameters": always},
        parameters=dict(_sampling(call)),
        within="parameters",
        key_headers=(("Authorization", f"Bearer {key.reveal()}"),) if key else (),
    )


def expected_of(call: ChatCall) -> Expected:
    """What is needed to tell how the answer ended."""
    stops = () if "stop" in call.sampling.disabled else call.sampling.stop
    return Expected(
        max_length=max_length_of(call),
        stops=(f"\n{USER}", *filter(None, stops)),
        goes_on=bool(call.prefill),
    )


def max_length_of(call: ChatCall) -> int:
    """The longest answer in tokens."""
    most = call.model.limits.max_output_tokens or MOST_TOKENS
    return max(1, min(call.max_output_tokens or most, most))


def _sampling(call: ChatCall) -> Iterator[tuple[str, Any]]:
    for name, theirs in _NAMES.items():
        value = getattr(call.sampling, name)
        if value is not None and name not in call.sampling.disabled:
            yield theirs, value
