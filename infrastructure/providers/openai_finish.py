"""Why an answer ended, read from the words that gateways and models have for it.

Source: the providers' API references; their answers as recorded.
"""

from collections.abc import Iterable

from turnkeeper.domain.stream import FinishReason

# In the order in which they win: a cut is told by whichever word tells it.
_WORDS = {
    FinishReason.CONTENT_FILTER: (
        "content_filter",
        "sensitive",
        "refusal",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "model_armor",
    ),
    FinishReason.LENGTH: (
        "length",
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "model_length",
        "model_context_window_exceeded",
    ),
    FinishReason.TOOL_CALLS: ("tool_calls", "function_call", "tool_use"),
}
_REASONS = {word: reason for reason, words in _WORDS.items() for word in words}
_FAILURES = frozenset(
    {
        "error",
        "network_error",
        "insufficient_system_resource",
        "malformed_function_call",
        "unexpected_tool_call",
        "too_many_tool_calls",
    }
)


def failing(words: Iterable[str]) -> list[str]:
    """Those of the words that mean no end but a failure."""
    return [word for word in words if word.lower() in _FAILURES]


def reason_of(words: Iterable[str], *, has_calls: bool) -> FinishReason:
    """The reason that the words give; a word that nobody knows is an ordinary end."""
    known = _REASONS.keys() & map(str.lower, words)
    if not known:  # some end a call with "stop"
        return FinishReason.TOOL_CALLS if has_calls else FinishReason.STOP
    said = {_REASONS[word] for word in known}
    reason = next(reason for reason in _WORDS if reason in said)
    is_empty_call = reason is FinishReason.TOOL_CALLS and not has_calls
    return FinishReason.STOP if is_empty_call else reason
