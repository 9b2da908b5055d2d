"""Token counts as OpenAI and those who follow it report them."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.domain.frozen import maker
from turnkeeper.domain.stream import Usage

_new_usage = maker(Usage)

_MOST = 2**53


def usage_of(raw: Mapping[str, Any]) -> Usage:
    """The counts of one report."""
    prompt, completion = raw.get("prompt_tokens_details"), raw.get("completion_tokens_details")
    input_tokens, output_tokens, total_tokens, reasoning, cached = _counts(
        raw.get("prompt_tokens"),
        raw.get("completion_tokens"),
        raw.get("total_tokens"),
        completion.get("reasoning_tokens") if isinstance(completion, dict) else None,
        prompt.get("cached_tokens") if isinstance(prompt, dict) else None,
    )
    cost = raw.get("cost")
    usage = _new_usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=total_tokens,
        reasoning_tokens=reasoning,
        cached_tokens=_count(raw.get("prompt_cache_hit_tokens")) if cached is None else cached,
        cost_usd=None if cost is None else _cost(cost),
    )
    return _with_reasoning(usage) if reasoning else usage


def _with_reasoning(usage: Usage) -> Usage:
    """Count the reasoning to the output where the sum shows that it was not (xAI)."""
    parts = (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens)
    if None in parts or usage.total_tokens != sum(filter(None, parts)):
        return usage
    return _new_usage(
        input_tokens=usage.input_tokens,
        output_tokens=(usage.output_tokens or 0) + (usage.reasoning_tokens or 0),
        total_tokens=usage.total_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost_usd,
    )


def _counts(*values: Any) -> Sequence[int | None]:
    """The values, with None for each that is no count; mostly all are."""
    if set(map(type, values)) == {int} and min(values) >= 0 and max(values) < _MOST:
        return values
    return [_count(value) for value in values]


def _count(value: object) -> int | None:
    if type(value) is int:  # no bool
        return value if 0 <= value < _MOST else None
    if isinstance(value, float):
        return int(value) if 0 <= value < _MOST else None
    return None


def _cost(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
