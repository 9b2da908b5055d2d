"""Whole turns in memory, each in the thread of its test unless a runner is given."""

from collections.abc import Iterator

import pytest
from fakes import FrozenClock, InlineRunner, ScriptedProvider
from streets import WAYS, Street
from turns import Bench, Benches

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Runner
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.wall.server import Wall


@pytest.fixture
def bench() -> Iterator[Benches]:
    made: list[Bench] = []

    def make(
        provider: ScriptedProvider,
        *,
        clock: Clock | None = None,
        runner: Runner | None = None,
        **more: object,
    ) -> Bench:
        if clock is None:
            clock = frozen = FrozenClock()
            runner = runner or InlineRunner(frozen)
        made.append(Bench(provider, clock=clock, runner=runner, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module", params=WAYS, ids=[way.name for way in WAYS])
def street(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Street]:
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    with Wall(dialects=(request.param.dialect,)) as wall:
        street = Street(request.param, wall, http, tmp_path_factory.mktemp("street"))
        yield street
        street.close()
    http.close()
