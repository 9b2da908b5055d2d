"""How the providers, and what is known of their models and keys, are made of the settings."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from turnkeeper.application.ports.chat_provider import ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.credential_window import CredentialWindow
from turnkeeper.application.ports.runner import Runner
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.address_check import AddressCheck
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.model_catalogue import ListedProvider, ModelCatalogue
from turnkeeper.infrastructure.providers.dialects import DIALECTS, Dialect
from turnkeeper.infrastructure.providers.late import native_provider
from turnkeeper.infrastructure.providers.natives import ANTHROPIC, GOOGLE, NOVELAI, Native
from turnkeeper.infrastructure.providers.openai_compatible import (
    Attribution,
    OpenAICompatibleProvider,
)
from turnkeeper.infrastructure.providers.registry import (
    ProviderRegistry,
    register_installed,
    register_openai_compatible,
)
from turnkeeper.interfaces.settings import Settings


def catalogue_of(
    settings: Settings, http: HttpClient, clock: Clock, runner: Runner
) -> ModelCatalogue:
    """What the providers say of their models; nothing where they are not to be asked."""
    if not settings.live_limits:
        return ModelCatalogue(http=http, clock=clock, runner=runner, sources=())
    from turnkeeper.infrastructure.providers.list_sources import list_sources

    sources = list_sources(settings.base_urls)
    return ModelCatalogue(http=http, clock=clock, runner=runner, sources=sources)


MakeProvider = Callable[[HttpClient], ChatProvider]
"""Makes a provider that is not built in, as an entry point does."""


def windows_of(
    settings: Settings, http: HttpClient, clock: Clock, runner: Runner
) -> Mapping[str, CredentialWindow]:
    """Who knows what a key's plan pays for. A provider that was moved is not asked elsewhere."""
    if "novelai" in settings.base_urls:
        return {}
    from turnkeeper.infrastructure.providers.novelai_subscription import NovelAiSubscription

    return {"novelai": NovelAiSubscription(http=http, clock=clock, runner=runner)}


def providers_of(
    settings: Settings,
    http: HttpClient,
    clock: Clock,
    catalogue: ModelCatalogue | None = None,
    address_of: AddressCheck | None = None,
    own: Mapping[str, MakeProvider] = MappingProxyType({}),
) -> ProviderRegistry:
    """All providers, at the addresses that the settings name.

    Args:
        own: The host's, by name; they may take the place of built-in ones.

    Raises:
        SettingsError: An address is set for a provider that there is not.
    """
    registry = ProviderRegistry()
    attribution = (
        Attribution(site=settings.app_site, title=settings.app_title)
        if settings.openrouter_attribution
        else None
    )
    register_openai_compatible(
        registry, http=http, clock=clock, attribution=attribution, address_of=address_of
    )
    for name, native in NATIVE.items():
        registry.register(name, native_provider(native, http=http, clock=clock), native.aliases)
    register_installed(registry, http=http)
    for name, make in own.items():
        registry.register(name, make(http))
    for name, base_url in settings.base_urls.items():
        registry.register(name, _moved(name, base_url, http, clock))
    if catalogue is not None:
        for name in LISTED:
            listed = ListedProvider(registry.find(name), name=name, catalogue=catalogue)
            registry.register(name, listed)
    return registry


LISTED = ("google", "anthropic", "groq", "mistral", "vllm", "llamacpp", "lmstudio")
"""Providers whose lists of models want a key: that of each call is offered."""

NATIVE = {one.name: one for one in (GOOGLE, ANTHROPIC, NOVELAI)}
"""Providers with a dialect of their own, by name."""


def key_variables() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Pairs of the variable that may hold a provider's key, and that provider's names."""
    known: tuple[Dialect | Native, ...] = (*DIALECTS, *NATIVE.values())
    return tuple((one.key_env, (one.name, *one.aliases)) for one in known if one.key_env)


def _moved(name: str, base_url: str, http: HttpClient, clock: Clock) -> ChatProvider:
    """A provider at another address than its own."""
    if name in NATIVE:
        return native_provider(NATIVE[name], http=http, clock=clock, base_url=base_url)
    dialects = {dialect.name: dialect for dialect in DIALECTS}
    if name not in dialects:
        raise SettingsError(
            f"TURNKEEPER_BASE_URLS names provider {name!r};"
            f" known are {', '.join(sorted({*dialects, *NATIVE}))}"
        )
    dialect = replace(dialects[name], base_url=base_url)
    return OpenAICompatibleProvider(http=http, clock=clock, dialect=dialect)
