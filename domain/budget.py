"""How many tokens an answer may be, and how many that leaves for the prompt."""

from functools import lru_cache

from turnkeeper.domain.model import Model, Sampling

FALLBACK_OUTPUT_TOKENS = 4096
BIG_FALLBACK_OUTPUT_TOKENS = 8192
BIG_FALLBACK_PROVIDERS = frozenset({"openrouter", "google", "gemini", "anthropic"})
NOVELAI = "novelai"
NOVELAI_OUTPUT_TOKENS = 2048
STORY_MODELS = frozenset({"clio-v1", "kayra-v1", "llama-3-erato-v1"})
STORY_OUTPUT_TOKENS = 150
"""The ceiling of NovelAI's story models, unless one was registered with another."""
PROMPT_FLOOR_TOKENS = 1024
PROMPT_SHARE = 0.9
"""What of the room for the prompt is used: counts are estimates."""
EATEN_SHARE = 0.8
"""From which share of the output on reasoning counts as having used it up."""


def output_tokens(model: Model, sampling: Sampling, cap: int | None) -> int:
    """The output that the request asks for, and that is reserved: always the same number.

    The owner's override, else the cap set for the provider, else a fallback that never eats
    more than a quarter of a known window; at most the model's ceiling, and never so much that a
    known window has no room for a prompt.
    """
    limits, override = model.limits, sampling.max_output_tokens
    window, ceiling = limits.window_tokens, limits.max_output_tokens
    return _output_tokens(model.provider, model.name, window, ceiling, override, cap)


def raised_output_tokens(model: Model, sampling: Sampling, tokens: int) -> int:
    """Up to twice as many, where the model has them and its owner has not said how many."""
    if sampling.max_output_tokens and sampling.max_output_tokens > 0:
        return tokens
    limits = model.limits
    ceiling = _ceiling(model.provider, model.name, limits.max_output_tokens)
    return max(tokens, _possible(2 * tokens, ceiling, limits.window_tokens))


def is_eaten(reasoning_tokens: int | None, output_tokens: int) -> bool:
    """Whether the reasoning has left no room for an answer."""
    return (reasoning_tokens or 0) >= EATEN_SHARE * output_tokens


def within_window(output_tokens: int, window_tokens: int) -> int:
    """The output, or less where the prompt would have no room."""
    floor = min(PROMPT_FLOOR_TOKENS, window_tokens // 2)
    return max(1, min(output_tokens, window_tokens - floor))


def prompt_tokens(window_tokens: int, output_tokens: int) -> int:
    """How many tokens the prompt may be, as they are counted."""
    return max(1, int((window_tokens - output_tokens) * PROMPT_SHARE))


@lru_cache(maxsize=1024)  # of each model with its settings
def _output_tokens(
    provider: str,
    name: str,
    window: int | None,
    registered: int | None,
    override: int | None,
    cap: int | None,
) -> int:
    ceiling = _ceiling(provider, name, registered)
    if override and override > 0:
        return _possible(override, ceiling, window)
    wanted = cap if cap and cap > 0 else _fallback(provider, ceiling, window)
    return _possible(wanted, ceiling, window)


def _fallback(provider: str, ceiling: int | None, window: int | None) -> int:
    if provider == NOVELAI:
        wanted = ceiling or NOVELAI_OUTPUT_TOKENS
    elif provider in BIG_FALLBACK_PROVIDERS:
        wanted = BIG_FALLBACK_OUTPUT_TOKENS
    else:
        wanted = FALLBACK_OUTPUT_TOKENS
    return wanted if window is None else min(wanted, window // 4)


def _possible(tokens: int, ceiling: int | None, window: int | None) -> int:
    most = tokens if ceiling is None else min(tokens, ceiling)
    return max(1, most if window is None else within_window(most, window))


def _ceiling(provider: str, name: str, registered: int | None) -> int | None:
    if registered is None and provider == NOVELAI and name in STORY_MODELS:
        return STORY_OUTPUT_TOKENS
    return registered
