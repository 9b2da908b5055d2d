"""The time of day jumps in the middle of turns; deadlines and shared instants do not care."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import SERVER, a_request
from chaos.worker import JumpingClock
from sqlalchemy import Engine, text
from walled import MODELS, Walled, settings_of, use_both

from turnkeeper.domain.admission import CooldownRule, CooldownType, RefusalKind
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Behaviour, Refuse, Stall
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres
DAY_S = 86_400.0
HELLO = Answer(text="Hello.")


class House:
    """A turnkeeper whose clock jumps whenever its first model is asked."""

    def __init__(self, folder: Path, url: str, jump_s: float) -> None:
        self.clock = JumpingClock()
        self.jump_s = jump_s
        self.wall = Wall()
        self.wall.__enter__()
        settings = settings_of(
            folder, store="postgres", database_url=url, first_progress_s=0.5, sweep_every_s=0
        )
        self.keeper = Turnkeeper.open(settings, clock=self.clock)
        use_both(self.keeper, self.wall, SERVER)
        self.turn = Walled(self.keeper, self.wall)
        self.meets(HELLO)
        self.wall.script(HELLO, model=MODELS[1])

    def meets(self, behaviour: Behaviour) -> None:
        def jumps(seen: Seen) -> Behaviour:
            self.clock.jump(self.jump_s)
            return behaviour

        self.wall.script(jumps, model=MODELS[0])

    def close(self) -> None:
        self.keeper.close(5.0)
        self.wall.__exit__(None, None, None)


@pytest.fixture(params=[DAY_S, -DAY_S], ids=["forward", "back"])
def house(request: pytest.FixtureRequest, tmp_path: Path, database_url: str) -> Iterator[House]:
    made = House(tmp_path, database_url, request.param)
    yield made
    made.close()


def test_a_turn_in_whose_middle_it_jumps_is_answered(house: House) -> None:
    statuses = [house.turn.run().status for _ in range(3)]

    assert statuses == [TurnStatus.COMPLETED] * 3


def test_silence_is_measured_all_the_same(house: House) -> None:
    house.meets(Stall(after_tokens=0))

    result = house.turn.run()

    assert result.status is TurnStatus.COMPLETED
    assert house.turn.ends == [(0, "TimedOut", "first_progress"), (1, "Answered", "stop")]


def test_a_key_rests_as_long_as_it_was_to(house: House, database: Engine) -> None:
    house.meets(Refuse(status=429))
    house.turn.run()

    with connected(database) as connection:
        rest_s = connection.execute(
            text("SELECT max(extract(epoch FROM rests_until - now())) FROM key_state")
        ).scalar_one()

    assert 0 < rest_s <= 60


def test_a_cooldown_lasts_as_long_as_it_was_to(house: House) -> None:
    rule = CooldownRule(type=CooldownType.PER_USER, length_s=300)
    house.keeper.configure.set_cooldown(SERVER.id, rule)
    first = house.turn.run(a_request(user_id="ann", trigger_id="one"))

    second = house.turn.run(a_request(user_id="ann", trigger_id="two"))

    assert first.status is TurnStatus.COMPLETED
    assert second.refusal is not None
    assert second.refusal.kind is RefusalKind.COOLDOWN


def test_a_turn_that_lives_is_not_swept_after_a_jump(house: House) -> None:
    lost: list[int] = []

    def sweeps(seen: Seen) -> Behaviour:
        house.clock.jump(house.jump_s)
        lost.append(len(house.keeper.sweep().lost))
        return HELLO

    house.wall.script(sweeps, model=MODELS[0])

    assert house.turn.run().status is TurnStatus.COMPLETED
    assert lost == [0]
