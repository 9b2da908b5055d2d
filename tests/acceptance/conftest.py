"""Whole turns in memory, each in the thread of its test unless a runner is given."""

from collections.abc import Iterator

import pytest
from fakes import FrozenClock, InlineRunner, ScriptedProvider
from turns import Bench, Benches

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Runner


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
