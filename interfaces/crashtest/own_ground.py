"""The operator's own configuration, with walls in the place of its providers.

Its models, its chain, its sampling, its numbers of keys and its settings are as they are saved; the
keys are planted ones. It was read before, and nothing is written where it came from.
"""

from collections.abc import Mapping
from itertools import count

from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import ModelEntry
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.crashtest.ground import Ground
from turnkeeper.interfaces.crashtest.own_configuration import OwnConfiguration, place_of, way_of
from turnkeeper.interfaces.crashtest.own_house import OwnHouse
from turnkeeper.interfaces.crashtest.street import House
from turnkeeper.interfaces.crashtest.ways import Way
from turnkeeper.interfaces.turnkeeper import Turnkeeper

ALONE: Mapping[str, object] = {
    "store": "memory",
    "database_url": None,
    "master_secrets": None,
    "discord_token": None,  # nosec B105
    "live_limits": False,
    "sweep_every_s": 0.0,
    "log": "off",
    "traces": False,
    "metrics": False,
}
"""What keeps the installation itself, and everybody beyond loopback, out of it."""


class OwnGround(Ground):
    """Houses that are set up as somebody's own server is.

    Raises:
        SettingsError: It has no primary model, or one that no wall speaks for.
    """

    def __init__(
        self, own: OwnConfiguration, *, speed: float, content_filter: ContentFilterPolicy | None
    ) -> None:
        super().__init__(speed=speed, content_filter=content_filter or own.server.content_filter)
        self._own = own
        self._ways = {place_of(entry): way_of(entry) for entry in own.entries}
        self._walls: dict[str, Wall] = {}
        self._keeper: Turnkeeper | None = None
        self._numbers = count(1)

    @property
    def ways(self) -> Mapping[str, Way]:
        """The way to the primary: whatever it meets is said in its dialect."""
        way = way_of(self._own.entries[0])
        return {way.name: way}

    def _house(self, dialect: str) -> House:
        with self._opening:
            if self._keeper is None:
                self._keeper = self._opened_keeper()
            number = next(self._numbers)
        return OwnHouse(self._own, self._keeper, self._walls, Owner.server(f"guild-{number}"))

    def _opened_keeper(self) -> Turnkeeper:
        self._walls.update({place: self.wall(way) for place, way in self._ways.items()})
        models = (one.model for one in self._own.entries if isinstance(one, ModelEntry))
        moved = {
            model.provider: f"{self._walls[model.provider].url}{self._ways[model.provider].path}"
            for model in models
        }
        here = {**ALONE, "data_dir": self.folder, "base_urls": moved}
        settings = self._own.settings.model_copy(update=here)
        keeper = Turnkeeper.open(settings, clock=self.clock, runner=self.runner)
        self._afterwards.callback(keeper.close, 0.0)
        return keeper
