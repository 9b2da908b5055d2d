"""How each part is made of the settings. What only it needs is imported when it is made."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from socket import gethostname
from typing import TYPE_CHECKING, Any

from turnkeeper.application.ports.channel_reader import ChannelReader
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.credential_window import CredentialWindow
from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.key_ring import KeyRing, KeyVault
from turnkeeper.application.ports.media_reader import MediaReader
from turnkeeper.application.ports.orphans import Orphans
from turnkeeper.application.ports.runner import Runner
from turnkeeper.application.ports.spool import NoSpool, Spool
from turnkeeper.application.ports.vault import Vault
from turnkeeper.application.sweep_orphans import SweepOrphans
from turnkeeper.application.sweep_report import OnLostTurn
from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.version import VERSION
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.master_secrets import local_secret
from turnkeeper.infrastructure.name_lookup import NameLookup
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.vault import AesGcmVault
from turnkeeper.interfaces.settings import Settings

if TYPE_CHECKING:
    from turnkeeper.application.ports.notices import Notices
    from turnkeeper.infrastructure.address_check import AddressCheck
    from turnkeeper.infrastructure.model_catalogue import ModelCatalogue
    from turnkeeper.infrastructure.providers.registry import ProviderRegistry
    from turnkeeper.interfaces.stores import Stores


def open_runner() -> Iterator[ThreadRunner]:
    """Threads, until they are closed."""
    runner = ThreadRunner()
    yield runner
    runner.close()


def open_http(settings: Settings, runner: Runner) -> Iterator[HttpClient]:
    """One pool of connections to all providers.

    What lies beneath it logs paths at DEBUG, and a path may hold a token.
    """
    quiet = logging.getLogger("urllib3")
    quiet.setLevel(max(quiet.level, logging.INFO))
    http = HttpClient(
        user_agent=f"turnkeeper/{VERSION}",
        connect_timeout_s=settings.connect_s,
        pool_size=settings.max_turns,
        names=NameLookup(runner),
    )
    yield http
    http.close()


def vault_of(settings: Settings) -> Vault:
    """Seals with the numbered secrets, else with the one in the data folder."""
    masters = settings.master_secrets or local_secret(settings.data_folder)
    return AesGcmVault(masters)


def address_check_of(settings: Settings, runner: Runner) -> "AddressCheck":
    """What members' endpoints have to pass."""
    from turnkeeper.infrastructure.address_check import AddressCheck

    return AddressCheck(allowed_hosts=settings.allowed_hosts, runner=runner)


def media_of(http: HttpClient, address_check: "AddressCheck", runner: Runner) -> MediaReader:
    """What looks at media."""
    from turnkeeper.infrastructure.media import MediaCheck
    from turnkeeper.infrastructure.media_fetcher import MediaFetcher

    return MediaCheck(MediaFetcher(http, address_check, runner))


def catalogue_of(*needs: Any) -> "ModelCatalogue":
    """What the providers say of their models."""
    from turnkeeper.interfaces import providers

    return providers.catalogue_of(*needs)


def windows_of(*needs: Any) -> Mapping[str, CredentialWindow]:
    """Who knows what a key's plan pays for."""
    from turnkeeper.interfaces import providers

    return providers.windows_of(*needs)


def providers_of(*needs: Any) -> "ProviderRegistry":
    """All providers."""
    from turnkeeper.interfaces import providers

    return providers.providers_of(*needs)


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


def expiry_of(settings: Settings, bot: Any, notices: "Notices", clock: Clock) -> Callable[[], None]:
    """What takes the buttons of old notices out of use, now and then."""
    if settings.discord_token is None:
        return _no_buttons
    from turnkeeper.interfaces import discord

    return discord.expiry_of(bot(), notices, clock)


def _no_buttons() -> None:
    """There is no bot, and so there are no buttons."""
