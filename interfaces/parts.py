"""How each part is made of the settings. What the settings do not name is not imported."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from socket import gethostname
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from turnkeeper.application.ports.channel_reader import ChannelReader
from turnkeeper.application.ports.chat_provider import ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.credential_window import CredentialWindow
from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.key_ring import KeyRing, KeyVault
from turnkeeper.application.ports.notices import Notices
from turnkeeper.application.ports.orphans import Orphans
from turnkeeper.application.ports.runner import Runner
from turnkeeper.application.ports.spool import NoSpool, Spool
from turnkeeper.application.ports.vault import Vault
from turnkeeper.application.sweep_orphans import SweepOrphans
from turnkeeper.application.sweep_report import OnLostTurn
from turnkeeper.domain.errors import SettingsError, StoreUnavailable
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.version import VERSION
from turnkeeper.infrastructure.address_check import AddressCheck
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.master_secrets import local_secret
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
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.vault import AesGcmVault
from turnkeeper.interfaces.settings import Settings

if TYPE_CHECKING:
    from turnkeeper.interfaces.stores import Stores


def open_runner() -> Iterator[ThreadRunner]:
    """Threads, until they are closed."""
    runner = ThreadRunner()
    yield runner
    runner.close()


def open_http(settings: Settings) -> Iterator[HttpClient]:
    """One pool of connections to all providers.

    What lies beneath it logs paths at DEBUG, and a path may hold a token.
    """
    quiet = logging.getLogger("urllib3")
    quiet.setLevel(max(quiet.level, logging.INFO))
    http = HttpClient(
        user_agent=f"turnkeeper/{VERSION}",
        connect_timeout_s=settings.connect_s,
        pool_size=settings.max_turns,
    )
    yield http
    http.close()


def vault_of(settings: Settings) -> Vault:
    """Seals with the numbered secrets, else with the one in the data folder."""
    masters = settings.master_secrets or local_secret(settings.data_folder)
    return AesGcmVault(masters)


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


def open_database(settings: Settings) -> Iterator[str]:
    """The database's URL; a server of our own is joined or started for it, and left at the end."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres

    server = EmbeddedPostgres(settings.data_folder)
    yield server.start()
    server.stop()


def open_engine(url: str, settings: Settings) -> Iterator[Any]:
    """The pool of database connections."""
    from sqlalchemy import event

    from turnkeeper.infrastructure.postgres.engine import create_engine_for

    engine = create_engine_for(url, pool_size=settings.pool_size)
    yield engine
    event.listen(engine, "do_connect", _refuse)
    engine.dispose()


def _refuse(*_: object) -> None:
    """A turn that outlived its turnkeeper opens no connection."""
    raise StoreUnavailable("the turnkeeper was closed")


def migrated(engine: Any) -> tuple[str, ...]:
    """Bring the schema up to date; returns what was applied."""
    from turnkeeper.infrastructure.postgres.migrate import migrate

    return migrate(engine)


def open_postgres(engine: Any, vault: Vault, runner: Runner) -> "Iterator[Stores]":
    """The store that is Postgres."""
    from turnkeeper.interfaces.postgres_stores import postgres_stores

    stores = postgres_stores(engine, vault=vault, runner=runner)
    yield stores
    stores.close()


def memory_of(vault: Vault, clock: Clock) -> "Stores":
    """The store that forgets."""
    from turnkeeper.interfaces.memory_stores import memory_stores

    return memory_stores(vault=vault, clock=clock)


def open_spool(settings: Settings, clock: Clock) -> Iterator[Spool]:
    """What outlives this process where the store may be away; a store in memory never is."""
    if settings.store == "memory":
        yield NoSpool()
        return
    from turnkeeper.infrastructure.spool import FileSpool

    spool = FileSpool(settings.data_folder / "spool", clock=clock)
    yield spool
    spool.close()


def sweep_of(
    orphans: Orphans, journal: Journal, reader: ChannelReader, on_lost_turn: OnLostTurn
) -> SweepOrphans:
    """Sweeps under the name of this process."""
    return SweepOrphans(
        orphans=orphans,
        journal=journal,
        reader=reader,
        by=f"{gethostname()}:{os.getpid()}",
        on_lost_turn=on_lost_turn,
    )


def keys_of(
    ring: KeyRing, vault: KeyVault, environment_keys: Mapping[str, Secret], clock: Clock
) -> KeyRing:
    """The saved keys, and those of the environment behind them."""
    if not environment_keys:
        return ring
    from turnkeeper.infrastructure.environment_keys import EnvironmentKeyRing

    return EnvironmentKeyRing(ring, vault=vault, keys=environment_keys, clock=clock)


def open_bot(settings: Settings, *needs: Any) -> Iterator[Any]:
    """The Discord bot; its code is imported only where there is one."""
    from turnkeeper.interfaces import discord

    yield from discord.open_bot(settings, *needs)


def reader_of(settings: Settings, bot: Any) -> ChannelReader:
    """How channels are looked at outside of turns; not at all where there is no bot."""
    if settings.discord_token is None:
        from turnkeeper.infrastructure.no_channel import NoChannel

        return NoChannel()
    from turnkeeper.interfaces import discord

    return discord.reader_of(bot())


def expiry_of(settings: Settings, bot: Any, notices: Notices, clock: Clock) -> Callable[[], None]:
    """What takes the buttons of old notices out of use, now and then."""
    if settings.discord_token is None:
        return _no_buttons
    from turnkeeper.interfaces import discord

    return discord.expiry_of(bot(), notices, clock)


def _no_buttons() -> None:
    """There is no bot, and so there are no buttons."""
