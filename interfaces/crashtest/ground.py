"""The ground of a crash test: walls, streets, and time, for as long as it lasts."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

from turnkeeper.domain.policy import ContentFilterPolicy, TimeLimits
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.hurry import HurriedClock, HurriedRunner
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.wall.fault import PATIENT, Family
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.crashtest.street import House, Street
from turnkeeper.interfaces.crashtest.watched import Watch
from turnkeeper.interfaces.crashtest.ways import WAYS, Way
from turnkeeper.interfaces.settings import Settings

T = TypeVar("T")


class Ground:
    """Houses in every dialect, with all settings as they are built in; nothing of it is kept.

    Args:
        speed: How many seconds of faults and limits pass in each second.
        content_filter: What is done where content is refused.
    """

    def __init__(
        self, *, speed: float, content_filter: ContentFilterPolicy = ContentFilterPolicy.NEXT
    ) -> None:
        self.speed = speed
        self.content_filter = content_filter
        self.clock = HurriedClock(speed)
        self.threads = ThreadRunner()
        self.runner = HurriedRunner(self.threads, speed)
        self.watch = Watch(clock=self.clock, runner=self.runner)
        self._afterwards = ExitStack()
        self._streets: dict[str, Street] = {}
        self._opening = Lock()

    def __enter__(self) -> Self:
        self._afterwards.callback(self.threads.close)
        self.folder = Path(self._afterwards.enter_context(TemporaryDirectory(prefix="crashtest-")))
        self.http = HttpClient(user_agent="turnkeeper-crashtest", pool_size=64)
        self._afterwards.callback(self.http.close)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._afterwards.close()

    @property
    def ways(self) -> Mapping[str, Way]:
        """The ways by the names of their dialects."""
        return {way.name: way for way in WAYS}

    def family(self, dialect: str) -> Family:
        """In whose words a dialect refuses."""
        return self.ways[dialect].family

    def house(self, dialect: str) -> House:
        """A new server whose models are on the wall of a dialect."""
        house = self._house(dialect)
        house.filters(self.content_filter)
        return house

    def _house(self, dialect: str) -> House:
        return House(self._street(dialect), PATIENT)

    def _street(self, dialect: str) -> Street:
        with self._opening:
            if dialect not in self._streets:
                street = self._opened(self.ways[dialect])
                self._afterwards.callback(street.close)
                self._streets[dialect] = street
            return self._streets[dialect]

    def _opened(self, way: Way) -> Street:
        return BuiltInStreet(
            way, self.wall(way), self.http, self.folder, clock=self.clock, runner=self.runner
        )

    def wall(self, way: Way) -> Wall:
        """A new wall that speaks as they do at the end of a way."""
        return self.kept(Wall(dialects=(way.dialect,), scale=1 / self.speed))

    def kept(self, thing: AbstractContextManager[T]) -> T:
        """What a thing gives that is there for as long as the ground is."""
        return self._afterwards.enter_context(thing)


class BuiltInStreet(Street):
    """A street whose settings are the built-in ones, whatever the environment says."""

    def _settings(self, limits: TimeLimits) -> Settings:
        return Settings.model_construct(
            store="memory",
            data_dir=self._folder,
            live_limits=False,
            sweep_every_s=0.0,
            base_urls={} if self.way.name == "custom" else {self.way.name: self.base_url},
        )
