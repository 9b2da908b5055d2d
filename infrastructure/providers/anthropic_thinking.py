"""How much a Claude model is to think, in the terms of its version.

Source: Anthropic's guides to extended thinking, adaptive thinking and effort.
"""

import re
from typing import Any

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import ToolCallPart
from turnkeeper.infrastructure.providers.anthropic_messages import thoughts_of
from turnkeeper.infrastructure.providers.native_turns import Turn

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d)(?:[.-](\d{1,2})(?!\d))?")
_NEWEST = (99, 0)
_FIRST_THAT_THINKS = (3, 7)
_FIRST_THAT_ADAPTS = (4, 6)
_LEAST_BUDGET = 1024
_BUDGETS = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
}
_EFFORTS = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",  # the newest know it, but all of them know high
    "max": "max",
}


def thinking_of(
    call: ChatCall, turns: tuple[Turn, ...], *, max_tokens: int
) -> dict[str, dict[str, Any]]:
    """The parameters that make it think; empty to leave them out.

    Args:
        max_tokens: The longest answer, of which thinking is a part.
    """
    effort = call.sampling.reasoning_effort or "auto"
    version = version_of(call.model.name)
    if effort not in _BUDGETS or "reasoning_effort" in call.sampling.disabled:
        return {}
    if turns[-1].is_model or version < _FIRST_THAT_THINKS:
        return {}
    if version >= _FIRST_THAT_ADAPTS:
        thinking = {"type": "adaptive", "display": "summarized"}
        return {"thinking": thinking, "output_config": {"effort": _EFFORTS[effort]}}
    budget = min(_BUDGETS[effort], max_tokens // 2)
    if budget < _LEAST_BUDGET or _has_not_thought(turns):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def version_of(model: str) -> tuple[int, int]:
    """The version in a model's name; a name without one is taken for the newest."""
    found = _VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else _NEWEST


def _has_not_thought(turns: tuple[Turn, ...]) -> bool:
    """Whether the calls just answered were made without thinking, which then cannot begin."""
    if len(turns) < 2 or not turns[-1].results:
        return False
    asked = turns[-2]
    has_calls = any(isinstance(part, ToolCallPart) for part in asked.parts)
    return has_calls and not thoughts_of(asked)
