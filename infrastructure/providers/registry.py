"""The providers by their names."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from threading import Lock

from turnkeeper.application.ports.chat_provider import ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.errors import SettingsError
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.dialects import CUSTOM, DIALECTS
from turnkeeper.infrastructure.providers.openai_compatible import (
    Attribution,
    OpenAICompatibleProvider,
)
from turnkeeper.infrastructure.providers.verbatim import VerbatimTools

ENTRY_POINTS = "turnkeeper.providers"

_CUSTOM = "custom"
_OF_OWNERS = f"{_CUSTOM}:"
_MOST_NAMES = 1_024  # whose plain form is remembered


class ProviderRegistry:
    """Finds a provider by its name or one of its aliases, in any case.

    Safe to use from several threads. All connections of owners, ``custom:7`` and the like, are
    served by the provider "custom".
    """

    def __init__(self) -> None:
        self._lock = Lock()  # guards the two below
        self._providers: dict[str, ChatProvider] = {}
        self._aliases: dict[str, str] = {}

    def register(self, name: str, provider: ChatProvider, aliases: Iterable[str] = ()) -> None:
        """Add a provider, or put another one in its place.

        Raises:
            SettingsError: An alias belongs to another provider.
        """
        name = _plain(name)
        with self._lock:
            self._check(name, [_plain(alias) for alias in aliases])
            self._providers[name] = provider
            self._aliases |= {_plain(alias): name for alias in aliases}

    def find(self, name: str) -> ChatProvider:
        """Return the provider of that name.

        Raises:
            SettingsError: There is none.
        """
        plain = _plain(name)
        provider = self._providers.get(plain)  # as mostly, and an alias is never such a name
        if provider is None:
            with self._lock:
                provider = self._providers.get(self._aliases.get(plain, plain))
        if provider is None:
            raise SettingsError(
                f"provider {name!r} is not known; known are {', '.join(self.names)}"
            )
        return provider

    def canonical(self, name: str) -> str:
        """Return the name under which its keys are kept; ``custom:7`` stays what it is.

        Raises:
            SettingsError: There is no such provider.
        """
        self.find(name)
        given = name.strip().lower()
        with self._lock:
            return self._aliases.get(given, given)

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which providers are registered, in order."""
        with self._lock:
            return tuple(sorted(self._providers))

    def _check(self, name: str, aliases: list[str]) -> None:
        taken = self._aliases.get(name)
        for alias in aliases:
            owner = alias if alias in self._providers else self._aliases.get(alias, name)
            taken = taken or (owner if owner != name else None)
        if taken:
            raise SettingsError(f"provider {name!r} takes a name that belongs to {taken!r}")


def register_openai_compatible(
    registry: ProviderRegistry,
    *,
    http: HttpClient,
    clock: Clock,
    attribution: Attribution | None = None,
    address_of: Callable[[str], str] | None = None,
) -> None:
    """Register all providers that speak OpenAI's chat completions, and "custom"."""
    for dialect in DIALECTS:
        provider = OpenAICompatibleProvider(
            http=http,
            clock=clock,
            dialect=dialect,
            attribution=attribution,
            address_of=address_of,
        )
        served = VerbatimTools(provider) if dialect is CUSTOM else provider
        registry.register(dialect.name, served, dialect.aliases)


def register_installed(
    registry: ProviderRegistry, *, http: HttpClient, entries: Iterable[EntryPoint] | None = None
) -> None:
    """Register the providers of other packages, under the names of their entry points.

    An entry point names a callable that takes the `HttpClient` and returns a `ChatProvider`.

    Args:
        entries: The entry points; None for all that are installed.

    Raises:
        SettingsError: One cannot be loaded, or takes a name that belongs to another.
    """
    for entry in entry_points(group=ENTRY_POINTS) if entries is None else entries:
        try:
            provider = entry.load()(http)
        except Exception as error:  # foreign code, which may raise anything
            raise SettingsError(
                f"provider {entry.name!r} of {entry.value} does not load: fix or uninstall it"
            ) from error
        registry.register(entry.name, provider)


@lru_cache(_MOST_NAMES)
def _plain(name: str) -> str:
    plain = name.strip().lower()
    return _CUSTOM if plain.startswith(_OF_OWNERS) else plain
