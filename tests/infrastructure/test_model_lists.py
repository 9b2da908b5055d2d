"""The lists of models: as recorded, and the forms of which there is no recording."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.model import Limits
from turnkeeper.domain.model_facts import ModelFacts
from turnkeeper.infrastructure.providers.list_sources import list_sources
from turnkeeper.infrastructure.providers.model_lists import (
    ReadList,
    anthropic_models,
    gemini_models,
    groq_models,
    llama_cpp_models,
    lm_studio_models,
    mistral_models,
    openrouter_models,
    vllm_models,
)

READERS: dict[str, ReadList] = {
    "or-20-models-full": openrouter_models,
    "or-21-models-short": openrouter_models,
    "ge-16-models": gemini_models,
    "an-15-models": anthropic_models,
    "gq-09-models": groq_models,
    "mi-09-models": mistral_models,
    "lc-10-models": llama_cpp_models,
    # These say nothing but names, so any reader of this form finds nothing more.
    "ds-12-models": vllm_models,
    "oa-16-models": vllm_models,
}


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes())


@pytest.mark.recording
class TestRecordings:
    @pytest.mark.parametrize("name", READERS)
    def test_all_models_of_a_recording_are_found(self, recordings: Path, name: str) -> None:
        expected = read_json(recordings / name / "expected.json")
        facts = READERS[name](read_json(recordings / name / "response.json"))
        limits = [one.limits for one in facts.values()]

        assert {
            "count": len(facts),
            "without_context": sum(one.window_tokens is None for one in limits),
            "without_max_output": sum(one.max_output_tokens is None for one in limits),
            "image_capable": sum(one.images is True for one in facts.values()),
        } == {
            key: expected[key]
            for key in ("count", "without_context", "without_max_output", "image_capable")
        }

    @pytest.mark.parametrize("name", READERS)
    def test_the_sample_of_a_recording_is_read_as_it_says(
        self, recordings: Path, name: str
    ) -> None:
        sample = read_json(recordings / name / "expected.json")["sample"]
        listed = read_json(recordings / name / "response.json")
        facts = READERS[name](listed)

        assert [
            (
                (one := facts[model["id"].removeprefix("models/")]).limits.window_tokens,
                one.limits.max_output_tokens,
                one.images,
            )
            for model in sample
        ] == [
            (usable(model, listed), model["max_output"], model["image_input"]) for model in sample
        ]

    def test_the_recording_of_openrouter_has_34_windows_that_are_smaller_where_served(
        self, recordings: Path
    ) -> None:
        listed = read_json(recordings / "or-20-models-full" / "response.json")
        facts = openrouter_models(listed)
        smaller = [
            entry["id"]
            for entry in listed["data"]
            if (facts[entry["id"]].limits.window_tokens or 0) < entry["context_length"]
        ]

        assert (len(smaller), "openai/gpt-4o" in smaller) == (34, False)

    def test_the_recording_of_openrouter_has_68_models_without_tools(
        self, recordings: Path
    ) -> None:
        facts = openrouter_models(read_json(recordings / "or-20-models-full" / "response.json"))

        assert sum(one.tools is False for one in facts.values()) == 68


def usable(model: dict[str, Any], listed: Any) -> int | None:
    """The window of a sample; of OpenRouter's what whoever serves it takes, if that is less."""
    top = next(
        (
            one.get("top_provider") or {}
            for one in listed.get("data", ())
            if one["id"] == model["id"]
        ),
        {},
    )
    lengths = (model["context"], top.get("context_length"))
    return min((length for length in lengths if length), default=None)


# ── one of each form ────────────────────────────────────────────────────────────────────────


def test_openrouter_says_limits_modalities_and_parameters() -> None:
    entry = {
        "id": "maker/model",
        "context_length": 200_000,
        "architecture": {"input_modalities": ["text", "image"]},
        "top_provider": {"context_length": 128_000, "max_completion_tokens": 4096},
        "supported_parameters": ["tools", "temperature"],
    }

    assert openrouter_models({"data": [entry]}) == {
        "maker/model": ModelFacts(
            limits=Limits(window_tokens=128_000, max_output_tokens=4096),
            images=True,
            videos=False,
            tools=True,
        )
    }


def test_openrouter_may_not_say_who_serves_a_model() -> None:
    entry = {"id": "a/router", "context_length": 9000, "top_provider": {"context_length": None}}

    assert openrouter_models({"data": [entry]}) == {
        "a/router": ModelFacts(limits=Limits(window_tokens=9000))
    }


def test_llama_cpp_says_the_window_it_runs_with() -> None:
    meta = {"n_ctx": 4096, "n_ctx_train": 40_960}

    facts = llama_cpp_models({"data": [{"id": "/m.gguf", "aliases": ["mine"], "meta": meta}]})

    assert facts == dict.fromkeys(
        ("/m.gguf", "mine"), ModelFacts(limits=Limits(window_tokens=4096))
    )


def test_an_old_llama_cpp_says_only_the_window_of_the_training() -> None:
    facts = llama_cpp_models({"data": [{"id": "m", "meta": {"n_ctx_train": 40_960}}]})

    assert facts == {"m": ModelFacts(limits=Limits(window_tokens=40_960))}


def test_vllm_says_the_longest_model_length() -> None:
    facts = vllm_models({"data": [{"id": "org/m", "owned_by": "vllm", "max_model_len": 32_768}]})

    assert facts == {"org/m": ModelFacts(limits=Limits(window_tokens=32_768))}


def test_lm_studio_says_the_window_of_what_is_loaded() -> None:
    loaded = {
        "key": "org/loaded",
        "max_context_length": 131_072,
        "loaded_instances": [
            {"id": "a", "config": {"context_length": 8192}},
            {"id": "b", "config": {"context_length": 4096}},
        ],
        "capabilities": {"vision": True, "trained_for_tool_use": False},
    }
    resting = {"key": "org/resting", "max_context_length": 32_768, "loaded_instances": []}

    assert lm_studio_models({"models": [loaded, resting]}) == {
        "org/loaded": ModelFacts(limits=Limits(window_tokens=4096), images=True, tools=False),
        "org/resting": ModelFacts(limits=Limits(window_tokens=32_768)),
    }


def test_lm_studio_said_less_before() -> None:
    seeing = {"id": "sees", "type": "vlm", "max_context_length": 9000}
    loaded = {"id": "m", "type": "llm", "max_context_length": 9000, "loaded_context_length": 4096}

    assert lm_studio_models({"data": [seeing, loaded]}) == {
        "sees": ModelFacts(limits=Limits(window_tokens=9000), images=True),
        "m": ModelFacts(limits=Limits(window_tokens=4096), images=False),
    }


# ── what is no list ─────────────────────────────────────────────────────────────────────────

FIELDS = sorted(
    {"data", "models", "id", "name", "key", "meta", "aliases", "capabilities", "n_ctx"}
    | {"context_length", "top_provider", "architecture", "input_modalities", "inputTokenLimit"}
    | {"loaded_instances", "config", "supported_parameters", "max_tokens", "image_input"}
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "image", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_json_is_too_odd_to_be_read(some: Any) -> None:
    facts = [
        one
        for read in {*READERS.values(), lm_studio_models}
        for listed in (some, {"data": some, "models": some}, {"data": [some], "models": [some]})
        for one in read(listed).values()
    ]

    assert all(
        limit is None or limit > 0
        for one in facts
        for limit in (one.limits.window_tokens, one.limits.max_output_tokens)
    )


@pytest.mark.parametrize("number", [0, -1, True, "4096", 4096.5, None, 10**12])
def test_a_limit_that_makes_no_sense_is_unknown(number: object) -> None:
    assert vllm_models({"data": [{"id": "m", "max_model_len": number}]}) == {"m": ModelFacts()}


# ── where they are ──────────────────────────────────────────────────────────────────────────


def test_the_lists_are_where_the_providers_are() -> None:
    assert {source.names[0]: source.urls for source in list_sources()} == {
        "openrouter": ("https://openrouter.ai/api/v1/models",),
        "google": ("https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000",),
        "anthropic": ("https://api.anthropic.com/v1/models?limit=1000",),
        "groq": ("https://api.groq.com/openai/v1/models",),
        "mistral": ("https://api.mistral.ai/v1/models",),
        "vllm": ("http://localhost:8000/v1/models",),
        "llamacpp": ("http://localhost:8080/v1/models",),
        "lmstudio": (
            "http://localhost:1234/api/v1/models",
            "http://localhost:1234/api/v0/models",
        ),
    }


def test_a_provider_that_was_moved_is_asked_where_it_is() -> None:
    moved = list_sources({"openrouter": "http://wall/v1/", "lmstudio": "http://wall/lm/v1"})

    assert {source.names[0]: source.urls for source in moved if "wall" in source.urls[0]} == {
        "openrouter": ("http://wall/v1/models",),
        "lmstudio": ("http://wall/lm/api/v1/models", "http://wall/lm/api/v0/models"),
    }
