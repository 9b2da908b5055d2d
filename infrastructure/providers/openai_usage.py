"""Token counts as OpenAI and those who follow it report them."""

from collections.abc import Mapping
from typing import Any

from turnkeeper.domain.stream import Usage


def usage_of(raw: Mapping[str, Any]) -> Usage:
    """The counts of one report."""
    prompt = _mapping(raw.get("prompt_tokens_details"))
    completion = _mapping(raw.get("completion_tokens_details"))
    cached = _count(prompt.get("cached_tokens"))
    cost = raw.get("cost")
    usage = Usage(
        input_tokens=_count(raw.get("prompt_tokens")),
        output_tokens=_count(raw.get("completion_tokens")),
        total_tokens=_count(raw.get("total_tokens")),
        reasoning_tokens=_count(completion.get("reasoning_tokens")),
        cached_tokens=_count(raw.get("prompt_cache_hit_tokens")) if cached is None else cached,
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
    )
    return _with_reasoning(usage)


def _with_reasoning(usage: Usage) -> Usage:
    """Count the reasoning to the output where the sum shows that it was not (xAI)."""
    if not usage.reasoning_tokens:
        return usage
    parts = (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens)
    if None in parts or usage.total_tokens != sum(filter(None, parts)):
        return usage
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=(usage.output_tokens or 0) + usage.reasoning_tokens,
        total_tokens=usage.total_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost_usd,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 2**53 else None
