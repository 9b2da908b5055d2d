"""How much a Gemini model is to think, in the terms of its version.

Source: Google's guide to thinking: levels since version 3, budgets before it.
"""

from typing import Any

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.infrastructure.providers.gemini_contents import version_of

_LEVELS = {
    "none": "minimal",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
_BUDGETS = {
    "none": 0,
    "minimal": 512,
    "low": 1024,
    "medium": 8192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
}
_LEAST_BUDGET_OF_PRO = 128


def thinking_of(call: ChatCall) -> dict[str, Any]:
    """The thinking config; empty to leave it out.

    Thoughts are asked for wherever a model thinks, as they show that it is at work.
    """
    effort = call.sampling.reasoning_effort or "auto"
    thinks = call.model.capabilities.reasoning
    version = version_of(call.model.name)
    if version is None or version < (2, 5) or "reasoning_effort" in call.sampling.disabled:
        return {}
    if effort == "none" and not thinks:
        return {}
    shown = effort != "none" and (thinks or effort in _LEVELS)
    config = {"includeThoughts": True} if shown else {}
    if effort in _LEVELS:
        config |= _amount(effort, is_pro="pro" in call.model.name, has_levels=version >= (3, 0))
    return config


def _amount(effort: str, *, is_pro: bool, has_levels: bool) -> dict[str, Any]:
    """Neither of the large models can leave thinking out."""
    if has_levels:
        level = _LEVELS[effort]
        return {"thinkingLevel": "low" if is_pro and level == "minimal" else level}
    budget = _BUDGETS[effort]
    return {"thinkingBudget": max(budget, _LEAST_BUDGET_OF_PRO) if is_pro else budget}
