"""How each part is made of the settings. Database code is imported only where it is needed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.key_ring import KeyRing, KeyVault
from turnkeeper.application.ports.runner import Runner
from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.version import VERSION
from turnkeeper.infrastructure.environment_keys import EnvironmentKeyRing
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.master_secrets import local_secret
from turnkeeper.infrastructure.providers.dialects import DIALECTS
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
from turnkeeper.interfaces.stores import Stores


def open_runner() -> Iterator[ThreadRunner]:
    """Threads, until they are closed."""
    runner = ThreadRunner()
    yield runner
    runner.close()


def open_http(settings: Settings) -> Iterator[HttpClient]:
    """One pool of connections to all providers."""
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


def providers_of(settings: Settings, http: HttpClient, clock: Clock) -> ProviderRegistry:
    """All providers, at the addresses that the settings name."""
    registry = ProviderRegistry()
    attribution = (
        Attribution(site=settings.app_site, title=settings.app_title)
        if settings.openrouter_attribution and settings.app_site
        else None
    )
    register_openai_compatible(registry, http=http, clock=clock, attribution=attribution)
    register_installed(registry, http=http)
    dialects = {dialect.name: dialect for dialect in DIALECTS}
    for name, base_url in settings.base_urls.items():
        if name not in dialects:
            raise SettingsError(
                f"TURNKEEPER_BASE_URLS names provider {name!r};"
                f" known are {', '.join(sorted(dialects))}"
            )
        moved = replace(dialects[name], base_url=base_url)
        provider = OpenAICompatibleProvider(http=http, clock=clock, dialect=moved)
        registry.register(name, provider, moved.aliases)
    return registry


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
    from turnkeeper.infrastructure.postgres.engine import create_engine_for

    engine = create_engine_for(url, pool_size=settings.pool_size)
    yield engine
    engine.dispose()


def migrated(engine: Any) -> tuple[str, ...]:
    """Bring the schema up to date; returns what was applied."""
    from turnkeeper.infrastructure.postgres.migrate import migrate

    return migrate(engine)


def open_postgres(engine: Any, vault: Vault, runner: Runner) -> Iterator[Stores]:
    """The store that is Postgres."""
    from turnkeeper.interfaces.postgres_stores import postgres_stores

    stores = postgres_stores(engine, vault=vault, runner=runner)
    yield stores
    stores.close()


def memory_of(vault: Vault, clock: Clock) -> Stores:
    """The store that forgets."""
    from turnkeeper.interfaces.memory_stores import memory_stores

    return memory_stores(vault=vault, clock=clock)


def keys_of(
    ring: KeyRing, vault: KeyVault, environment_keys: Mapping[str, Secret], clock: Clock
) -> KeyRing:
    """The saved keys, and those of the environment behind them."""
    if not environment_keys:
        return ring
    return EnvironmentKeyRing(ring, vault=vault, keys=environment_keys, clock=clock)
