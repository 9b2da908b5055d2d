"""The same script of tools, over real sockets, in every dialect."""

from collections.abc import Callable
from itertools import count

import pytest
from streets import FALLBACK, House, Street

from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.infrastructure.wall.answer import Answer, ToolCall
from turnkeeper.infrastructure.wall.behaviour import Behaviour, CutAfter
from turnkeeper.infrastructure.wall.fault import FROM_FALLBACK

ROLLED = "it fell on four"
SAID = Answer(text="It is a four, as the lamp is my witness.")
names = (f"roll_{number}" for number in count(1))


@pytest.fixture
def rolled() -> list[int]:
    return []


@pytest.fixture
def house(street: Street, rolled: list[int]) -> House:
    """A house with a tool of its own."""
    house = House(street, TimeLimits())
    house.tool = name = next(names)  # type: ignore[attr-defined]

    def roll(sides: int) -> str:
        rolled.append(sides)
        return ROLLED

    street.tools.add(roll, name=name, when=lambda request: request.server_id == house.server.id)
    return house


def asking(house: House, *pieces: str, text: str = "") -> Answer:
    call = ToolCall(name=house.tool, arguments=pieces or ('{"sides"', ":6}"))  # type: ignore[attr-defined]
    return Answer(text=text, tool_calls=(call,))


def test_a_tool_is_run_and_its_result_is_sent_back(house: House, rolled: list[int]) -> None:
    house.script((asking(house, text="I roll."), SAID))

    result = house.run()

    assert result.text == f"I roll.\n\n{SAID.text}"
    assert rolled == [6]
    first, second = house.calls(house.primary)
    assert ROLLED not in first.raw.decode()
    assert ROLLED in second.raw.decode()


BREAKS: dict[str, Callable[[House], Behaviour]] = {
    "reset after a word": lambda house: CutAfter(of=SAID, tokens=1),
    "reset after a call": lambda house: CutAfter(of=asking(house), tokens=3),
}


@pytest.mark.parametrize("how", BREAKS)
def test_a_tool_that_ran_before_a_break_is_not_run_for_the_next_model(
    how: str, house: House, rolled: list[int]
) -> None:
    house.script((asking(house), BREAKS[how](house)), (asking(house), FROM_FALLBACK))

    result = house.run()

    assert (result.text, house.sink.channel.text) == (FROM_FALLBACK.text, FROM_FALLBACK.text)
    assert rolled == [6]
    assert all(ROLLED in seen.raw.decode() for seen in house.calls(FALLBACK))


def test_half_a_call_before_a_reset_is_not_executed(house: House, rolled: list[int]) -> None:
    house.script((CutAfter(of=asking(house), tokens=2),))

    result = house.run()

    assert (result.status, result.text) == (TurnStatus.COMPLETED, FROM_FALLBACK.text)
    assert rolled == []


def test_arguments_that_were_cut_are_not_executed(house: House, rolled: list[int]) -> None:
    if house.street.way.name == "google":
        pytest.skip("google's arguments come whole: an object, not a text in pieces")
    house.script((asking(house, '{"sides"', ":"), SAID))

    assert house.run().text == SAID.text
    assert rolled == []
    assert "cut off" in house.calls(house.primary)[1].raw.decode()
