"""A server that is set up as somebody's own is."""

from collections.abc import Iterator, Mapping, Sequence

from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import EndpointEntry, ModelEntry
from turnkeeper.domain.policy import TurnPolicy
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.wall.fault import FROM_FALLBACK, Steps, Who
from turnkeeper.infrastructure.wall.script import InTurn
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.crashtest.own_configuration import (
    Entry,
    OwnConfiguration,
    name_of,
    on_the_wall,
    place_of,
    provider_of,
    way_of,
)
from turnkeeper.interfaces.crashtest.street import House
from turnkeeper.interfaces.turnkeeper import Turnkeeper


class OwnHouse(House):
    """A server that is set up as another one is, on walls, with planted keys."""

    def __init__(
        self,
        own: OwnConfiguration,
        keeper: Turnkeeper,
        walls: Mapping[str, Wall],
        server: Owner,
    ) -> None:
        self.keeper = keeper
        self.server = server
        self._own = own
        self._walls = walls
        self._entries = own.entries
        self._keys: dict[str, tuple[str, ...]] = {}
        first, *others = tuple(map(self._saved, self._entries))
        keeper.configure.use_model(server.id, first)
        if others:
            keeper.configure.set_fallbacks(server.id, tuple(others))
        keeper.configure.set_sampling(server.id, own.server.sampling)
        for row in own.server.providers:
            keeper.configure.set_sampling(server.id, row.sampling, row.provider)

    @property
    def policy(self) -> TurnPolicy:
        return self._own.settings.policy

    def script(self, primary: Steps, fallback: Steps = (FROM_FALLBACK,)) -> None:
        first, *others = self._entries
        for entry in others:
            self._meet(entry, fallback)
        self._meet(first, primary)

    @property
    def of_primary(self) -> Sequence[Seen]:
        return tuple(self._calls(self._entries[0]))

    @property
    def of_fallback(self) -> Sequence[Seen]:
        return tuple(seen for entry in self._entries[1:] for seen in self._calls(entry))

    def winner(self, result: TurnResult) -> Who | None:
        model = result.success_model
        if model is None:
            return None
        first = self._entries[0]
        is_first = (model.provider, model.name) == (provider_of(first), name_of(first))
        return "primary" if is_first else "fallback"

    def _meet(self, entry: Entry, steps: Steps) -> None:
        shared = InTurn(steps)
        for key in self._keys[provider_of(entry)]:
            self._walls[place_of(entry)].script(shared, model=name_of(entry), key=key)

    def _calls(self, entry: Entry) -> Iterator[Seen]:
        keys, name = self._keys[provider_of(entry)], name_of(entry)
        for seen in self._walls[place_of(entry)].seen:
            if seen.key in keys and seen.model == name:
                yield seen

    def _saved(self, entry: Entry) -> str:
        """Save an entry with its keys; what it is called here."""
        configure = self.keeper.configure
        match entry:
            case ModelEntry(model=model):
                self._plant(model.provider)
                return configure.register_model(model).id
            case EndpointEntry(endpoint=endpoint):
                base_url = f"{self._walls[place_of(entry)].url}{way_of(entry).path}"
                saved = configure.save_endpoint(self.server, on_the_wall(endpoint, base_url))
                self._plant(saved.provider)
                return f"endpoint:{saved.id}"

    def _plant(self, provider: str) -> None:
        """Save as many keys as the server has for a provider, and one at least."""
        if provider in self._keys:
            return
        keys = range(max(1, self._own.keys.get(provider, 0)))
        self._keys[provider] = tuple(f"sk-planted-{self.server.id}-{provider}-{n}" for n in keys)
        for key in self._keys[provider]:
            self.keeper.configure.add_key(self.server, provider, key)
