"""The providers' lists of their models, each in its own form.

Source: the providers' API references; their lists as recorded.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from turnkeeper.domain.model import Limits
from turnkeeper.domain.model_facts import ModelFacts

Facts = dict[str, ModelFacts]
ReadList = Callable[[object], Facts]
Entry = dict[str, Any]

_MOST_TOKENS = 1_000_000_000


def openrouter_models(listed: object) -> Facts:
    """Of OpenRouter: the window is what both the model and whoever mostly serves it take."""
    return {entry["id"]: _openrouter_facts(entry) for entry in _entries(listed, "data", "id")}


def gemini_models(listed: object) -> Facts:
    """Of Gemini, by the names without ``models/``. The window is that of the prompt alone."""
    return {
        entry["name"].removeprefix("models/"): ModelFacts(
            limits=_limits(entry.get("inputTokenLimit"), entry.get("outputTokenLimit"))
        )
        for entry in _entries(listed, "models", "name")
    }


def anthropic_models(listed: object) -> Facts:
    """Of Anthropic."""
    return {
        entry["id"]: ModelFacts(
            limits=_limits(entry.get("max_input_tokens"), entry.get("max_tokens")),
            images=_flag(_object(_object(entry, "capabilities"), "image_input"), "supported"),
        )
        for entry in _entries(listed, "data", "id")
    }


def groq_models(listed: object) -> Facts:
    """Of Groq."""
    return {
        entry["id"]: ModelFacts(
            limits=_limits(entry.get("context_window"), entry.get("max_completion_tokens")),
            images=_lists(entry, "input_modalities", "image"),
            videos=_lists(entry, "input_modalities", "video"),
            tools=_lists(entry, "supported_features", "tools"),
        )
        for entry in _entries(listed, "data", "id")
    }


def mistral_models(listed: object) -> Facts:
    """Of Mistral, where each alias is an entry of its own."""
    return {
        entry["id"]: ModelFacts(
            limits=_limits(entry.get("max_context_length"), None),
            images=_flag(_object(entry, "capabilities"), "vision"),
            tools=_flag(_object(entry, "capabilities"), "function_calling"),
        )
        for entry in _entries(listed, "data", "id")
    }


def llama_cpp_models(listed: object) -> Facts:
    """Of llama.cpp's server: the window it runs with, else that of the model's training."""
    facts: Facts = {}
    for entry in _entries(listed, "data", "id"):
        meta = _object(entry, "meta")
        limits = _limits(_number(meta.get("n_ctx")) or meta.get("n_ctx_train"), None)
        for name in (entry["id"], *_texts(entry, "aliases")):
            facts[name] = ModelFacts(limits=limits)
    return facts


def vllm_models(listed: object) -> Facts:
    """Of vLLM."""
    return {
        entry["id"]: ModelFacts(limits=_limits(entry.get("max_model_len"), None))
        for entry in _entries(listed, "data", "id")
    }


def lm_studio_models(listed: object) -> Facts:
    """Of LM Studio's own lists, the present and the former. A loaded model has a smaller window."""
    facts = {
        entry["key"]: ModelFacts(
            limits=_limits(_loaded(entry) or entry.get("max_context_length"), None),
            images=_flag(_object(entry, "capabilities"), "vision"),
            tools=_flag(_object(entry, "capabilities"), "trained_for_tool_use"),
        )
        for entry in _entries(listed, "models", "key")
    }
    for entry in _entries(listed, "data", "id"):
        loaded = _number(entry.get("loaded_context_length"))
        limits = _limits(loaded or entry.get("max_context_length"), None)
        facts[entry["id"]] = ModelFacts(limits=limits, images=entry.get("type") == "vlm")
    return facts


def _openrouter_facts(entry: Entry) -> ModelFacts:
    top, architecture = _object(entry, "top_provider"), _object(entry, "architecture")
    lengths = (_number(entry.get("context_length")), _number(top.get("context_length")))
    return ModelFacts(
        limits=_limits(
            min((length for length in lengths if length), default=None),
            top.get("max_completion_tokens"),
        ),
        images=_lists(architecture, "input_modalities", "image"),
        videos=_lists(architecture, "input_modalities", "video"),
        tools=_lists(entry, "supported_parameters", "tools"),
    )


def _loaded(entry: Entry) -> int | None:
    """The smallest window of the instances that are loaded, as any of them may answer."""
    instances = (one for one in _list(entry, "loaded_instances") if isinstance(one, dict))
    windows = (_number(_object(one, "config").get("context_length")) for one in instances)
    return min((window for window in windows if window), default=None)


# ── reading what may be anything ────────────────────────────────────────────────────────────


def _entries(listed: object, field: str, name: str) -> Iterator[Entry]:
    """The entries of a list that have a name."""
    for entry in _list(listed, field):
        if isinstance(entry, dict) and isinstance(entry.get(name), str):
            yield entry


def _list(value: object, field: str) -> list[Any]:
    found = value.get(field) if isinstance(value, Mapping) else None
    return found if isinstance(found, list) else []


def _object(value: Entry, field: str) -> Entry:
    found = value.get(field)
    return found if isinstance(found, dict) else {}


def _texts(value: Entry, field: str) -> Iterator[str]:
    return (one for one in _list(value, field) if isinstance(one, str))


def _flag(value: Entry, field: str) -> bool | None:
    found = value.get(field)
    return found if isinstance(found, bool) else None


def _lists(value: Entry, field: str, word: str) -> bool | None:
    """Whether a list has the word; None where there is no list."""
    return word in _list(value, field) if isinstance(value.get(field), list) else None


def _limits(window: object, max_output: object) -> Limits:
    return Limits(window_tokens=_number(window), max_output_tokens=_number(max_output))


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 < value <= _MOST_TOKENS else None
