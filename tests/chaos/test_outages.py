"""The store was away for minutes while turns went on; and hosts that have no address."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from builders import SERVER, a_request
from chaos.city import NO_SUCH_HOST
from sqlalchemy import Engine
from sweepers import let_it_be_dead
from walled import MODELS, Walled, opened, settings_of

from turnkeeper.application.sweep_report import LostTurn
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Behaviour
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.turnkeeper import Turnkeeper

PATIENCE_S = 60.0  # only ever waited out by a test that fails
NEXT_SWEEP_S = 3600.0


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as made:
        yield made


class ToldClock(SystemClock):
    """A clock that says when somebody begins to wait for the next sweep."""

    def __init__(self) -> None:
        self.has_swept = Event()

    def wait(self, event: Event, timeout_s: float) -> bool:
        if timeout_s == NEXT_SWEEP_S:
            self.has_swept.set()
        return super().wait(event, timeout_s)


@pytest.mark.postgres
def test_a_turn_that_outlives_an_outage_of_minutes_is_not_taken_for_dead(
    wall: Wall, tmp_path: Path, database: Engine, database_url: str
) -> None:
    reached, go_on = Event(), Event()

    def waits(seen: Seen) -> Behaviour:
        reached.set()
        go_on.wait(PATIENCE_S)
        return Answer(text="Hello.")

    wall.script(waits, model=MODELS[0])
    lost: list[LostTurn] = []
    there = {"store": "postgres", "database_url": database_url}
    slow = opened(wall, tmp_path, **there, first_progress_s=PATIENCE_S, sweep_every_s=0)
    turn, clock = Walled(slow, wall), ToldClock()
    with slow, ThreadPoolExecutor(1) as pool:
        run = pool.submit(turn.run)
        try:
            assert reached.wait(PATIENCE_S)
            let_it_be_dead(database)
            settings = settings_of(tmp_path, **there, sweep_every_s=NEXT_SWEEP_S)
            with Turnkeeper.open(settings, clock=clock, on_lost_turn=lost.append):
                assert clock.has_swept.wait(PATIENCE_S)
        finally:
            go_on.set()
        status = run.result(PATIENCE_S).status

    assert (status, turn.sink.channel.text, lost) == (TurnStatus.COMPLETED, "Hello.", [])


def test_a_provider_whose_host_has_no_address_gives_way_to_the_next(
    wall: Wall, tmp_path: Path
) -> None:
    wall.script(Answer(text="Hello."), model=MODELS[1])
    with opened(wall, tmp_path, base_urls={"groq": NO_SUCH_HOST}) as keeper:
        configure = keeper.configure
        beta = configure.endpoints(SERVER)[1]
        configure.add_key(SERVER, "groq", "sk-groq")
        configure.use_model(SERVER.id, configure.register_model("groq:alpha").id)
        configure.set_fallbacks(SERVER.id, (f"endpoint:{beta.id}",))

        result = Walled(keeper, wall).run(a_request())

    assert result.status is TurnStatus.COMPLETED
    assert {one.failure.kind for one in result.failures} == {FailureKind.NETWORK}
