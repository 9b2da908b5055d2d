"""What a server has saved, and what each of its models is called on the walls."""

from collections import Counter
from collections.abc import Mapping

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import BrokenEntry, EndpointEntry, ModelEntry
from turnkeeper.domain.settings import ServerSettings
from turnkeeper.infrastructure.providers.dialects import DIALECTS
from turnkeeper.interfaces.container import Container
from turnkeeper.interfaces.crashtest import ways
from turnkeeper.interfaces.crashtest.ways import Way
from turnkeeper.interfaces.providers import NATIVE
from turnkeeper.interfaces.settings import Settings

Entry = ModelEntry | EndpointEntry
CUSTOM = "custom"
"""What the dialect of endpoints is called."""


@frozen
class OwnConfiguration:
    """What a server has saved.

    Attributes:
        settings: The installation's.
        server: The server's.
        keys: How many keys it has for each provider.
    """

    settings: Settings
    server: ServerSettings
    keys: Mapping[str, int]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The primary and its fallbacks, those that lead somewhere.

        Raises:
            SettingsError: There is no primary, or it leads nowhere.
        """
        server = self.server
        if server.primary is None:
            raise SettingsError(
                f"server {server.server_id} has no model: set one with `turnkeeper model use`,"
                " or leave --server out to test the built-in defaults"
            )
        if isinstance(server.primary, BrokenEntry):
            raise SettingsError(
                f"the primary model of server {server.server_id}, {server.primary.name}, cannot be"
                f" used: {server.primary.cause}; set another with `turnkeeper model use`"
            )
        found = [one for one in server.chain if not isinstance(one, BrokenEntry)]
        return (server.primary, *found)


def own_configuration(container: Container, server_id: str) -> OwnConfiguration:
    """Read what a server has saved; nothing is migrated or written.

    Raises:
        StoreError: It cannot be read.
    """
    saved = container.key_vault().keys(Owner.server(server_id))
    return OwnConfiguration(
        settings=container.settings(),
        server=container.settings_store().server(server_id),
        keys=Counter(one.provider for one in saved if one.key.enabled),
    )


def on_the_wall(endpoint: Endpoint, base_url: str) -> Endpoint:
    """The endpoint at another address; it wants a key, by which its calls are known."""
    return replace(
        endpoint,
        id=0,
        connection_id=_connection_of(endpoint),
        base_url=base_url,
        requires_auth=True,
        trusted=True,
    )


def _connection_of(endpoint: Endpoint) -> int:
    return endpoint.id if endpoint.connection_id is None else endpoint.connection_id


def provider_of(entry: Entry) -> str:
    """For which provider its keys are saved."""
    match entry:
        case ModelEntry(model=model):
            return model.provider
        case EndpointEntry(endpoint=endpoint):
            return f"{CUSTOM}:{_connection_of(endpoint)}"


def name_of(entry: Entry) -> str:
    """What its model is called in requests."""
    match entry:
        case ModelEntry(model=model):
            return model.name
        case EndpointEntry(endpoint=endpoint):
            return endpoint.model_name or endpoint.label


def place_of(entry: Entry) -> str:
    """Which wall it is on: that of its provider, or one of its own."""
    match entry:
        case ModelEntry(model=model):
            return model.provider
        case EndpointEntry(endpoint=endpoint):
            return f"endpoint:{endpoint.id}"


def way_of(entry: Entry) -> Way:
    """Where it leads on its wall.

    Raises:
        SettingsError: No wall speaks as its provider does.
    """
    if isinstance(entry, EndpointEntry):
        return ways.way_of(CUSTOM)
    provider = entry.model.provider
    known = {*(dialect.name for dialect in DIALECTS), *NATIVE}
    if provider not in known:
        raise SettingsError(
            f"{entry.model.id} cannot be crash-tested: no wall speaks as provider {provider!r}"
            f" does; known are {', '.join(sorted(known))}"
        )
    return ways.way_of(provider)
