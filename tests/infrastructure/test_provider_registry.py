"""Providers by their names."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from turnkeeper.application.ports.chat_provider import ChatProvider
from turnkeeper.domain.errors import SettingsError
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.openai_compatible import OpenAICompatibleProvider
from turnkeeper.infrastructure.providers.registry import (
    ProviderRegistry,
    register_installed,
    register_openai_compatible,
)


@pytest.fixture
def http() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper-tests")
    yield client
    client.close()


@pytest.fixture
def registry() -> ProviderRegistry:
    return ProviderRegistry()


@pytest.fixture
def provider(http: HttpClient) -> ChatProvider:
    return OpenAICompatibleProvider(http=http, clock=SystemClock())


@pytest.mark.parametrize("name", ["gemini", "GEMINI", " gemini ", "google", "Google"])
def test_a_provider_is_found_by_its_name_and_aliases(
    registry: ProviderRegistry, provider: ChatProvider, name: str
) -> None:
    registry.register("Gemini", provider, aliases=["google"])

    assert registry.find(name) is provider


@pytest.mark.parametrize("name", ["custom:1", "custom:77", "custom"])
def test_all_connections_of_owners_are_served_by_one(
    registry: ProviderRegistry, provider: ChatProvider, name: str
) -> None:
    registry.register("custom", provider)

    assert registry.find(name) is provider


def test_a_name_that_is_not_known_is_answered_with_those_that_are(
    registry: ProviderRegistry, provider: ChatProvider
) -> None:
    registry.register("b", provider)
    registry.register("a", provider)

    with pytest.raises(SettingsError, match="provider 'foo' is not known; known are a, b"):
        registry.find("foo")


def test_a_provider_is_replaced_under_its_own_name(
    registry: ProviderRegistry, provider: ChatProvider, http: HttpClient
) -> None:
    other = OpenAICompatibleProvider(http=http, clock=SystemClock())
    registry.register("a", provider, aliases=["b"])

    registry.register("a", other, aliases=["b"])

    assert registry.find("b") is other


@pytest.mark.parametrize(("name", "aliases"), [("c", ["a"]), ("c", ["b"]), ("b", [])])
def test_a_name_of_another_provider_is_not_taken(
    registry: ProviderRegistry, provider: ChatProvider, name: str, aliases: list[str]
) -> None:
    registry.register("a", provider, aliases=["b"])

    with pytest.raises(SettingsError, match="belongs to 'a'"):
        registry.register(name, provider, aliases)


def test_all_that_speak_it_are_registered(registry: ProviderRegistry, http: HttpClient) -> None:
    register_openai_compatible(registry, http=http, clock=SystemClock())

    for name in ("openai", "openrouter", "deepseek", "zai", "mistral", "groq", "xai", "nvidia"):
        registry.find(name)
    for name in ("vllm", "ollama", "llama.cpp", "lm studio", "custom:3"):
        registry.find(name)


def test_a_provider_of_another_package_is_registered(
    registry: ProviderRegistry, http: HttpClient
) -> None:
    entry = EntryPoint(name="mine", value=f"{__name__}:made", group="turnkeeper.providers")

    register_installed(registry, http=http, entries=[entry])

    assert isinstance(registry.find("mine"), OpenAICompatibleProvider)


def test_a_provider_of_another_package_that_does_not_load_is_named(
    registry: ProviderRegistry, http: HttpClient
) -> None:
    entry = EntryPoint(name="mine", value="no_such_package:made", group="turnkeeper.providers")

    with pytest.raises(SettingsError, match="provider 'mine' of no_such_package:made"):
        register_installed(registry, http=http, entries=[entry])


def made(http: HttpClient) -> ChatProvider:
    return OpenAICompatibleProvider(http=http, clock=SystemClock())
