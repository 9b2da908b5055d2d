"""Tools of models that write their calls as text, over real sockets."""

from collections.abc import Iterator
from itertools import count

import pytest
from streets import FALLBACK, WAYS, House, Street

from turnkeeper.domain.model import Capabilities
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.wall.answer import Answer, ToolCall
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.fault import FROM_FALLBACK
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall

ROLLED = "it fell on four"
SAID = Answer(text="It is a four, as the lamp is my witness.")
VERBATIM = Capabilities(verbatim_tool_calling=True)
NATIVE = Capabilities()
DUMP = "These tools can be called:"
NUDGE = "to use a tool, write its call"
names = (f"roll_{number}" for number in count(1))


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    (way,) = (way for way in WAYS if way.name == "custom")
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    with Wall(dialects=(way.dialect,)) as wall:
        street = Street(way, wall, http, tmp_path_factory.mktemp("street"))
        yield street
        street.close()
    http.close()


class Table:
    """A house with a tool of its own."""

    def __init__(self, street: Street, primary: Capabilities, fallback: Capabilities) -> None:
        self.house = House(street, TimeLimits(), {street.way.primary: primary, FALLBACK: fallback})
        self.tool = next(names)
        self.rolled: list[int] = []
        server = self.house.server.id
        street.tools.add(
            self.roll, name=self.tool, when=lambda request: request.server_id == server
        )

    def roll(self, sides: int) -> str:
        self.rolled.append(sides)
        return ROLLED

    @property
    def call(self) -> str:
        return f'{{"name": "{self.tool}", "arguments": {{"sides": 6}}}}'

    @property
    def first(self) -> list[Seen]:
        return self.house.calls(self.house.primary)


@pytest.fixture
def table(street: Street) -> Table:
    return Table(street, VERBATIM, VERBATIM)


@pytest.mark.parametrize("wrapped", ["{}", "```json\n{}\n```", "<tool_call>\n{}\n</tool_call>"])
def test_a_written_call_runs_its_tool_once_and_is_never_seen(table: Table, wrapped: str) -> None:
    written = wrapped.replace("{}", table.call)
    table.house.script((Answer(tokens=("I roll. ", *written)), SAID))

    result = table.house.run()

    assert table.rolled == [6]
    assert result.text == f"I roll. \n\n{SAID.text}"
    assert table.house.sink.channel.text.split() == result.text.split()


def test_the_history_has_call_and_result_as_text(table: Table) -> None:
    table.house.script((Answer(text=f"I roll. {table.call}"), SAID))

    table.house.run()

    first, second = table.first
    call, result = second.body["messages"][-2:]
    assert call["role"] == "assistant"
    assert call["content"].split() == f"I roll. {table.call}".split()
    assert result == {
        "role": "user",
        "content": f'[System: result of {table.tool}: "{ROLLED}"]',
    }
    assert all(seen.body.keys().isdisjoint({"tools", "tool_choice"}) for seen in (first, second))
    assert all("tool_calls" not in message for message in second.body["messages"])


def test_a_call_that_was_cut_is_not_run_and_the_model_is_told(table: Table) -> None:
    table.house.script((Answer(text=table.call[:-4], finish="length"), SAID))

    result = table.house.run()

    assert (result.text, table.rolled) == (SAID.text, [])
    assert "cut off" in table.first[1].raw.decode()


def test_what_is_no_call_is_the_answer(table: Table) -> None:
    text = 'Write {"name": "fly", "arguments": {}} or <b>`{}`</b>, like [this](x).'
    table.house.script((Answer(tokens=tuple(text)),))

    result = table.house.run()

    assert (result.text, table.house.sink.channel.text) == (text, text)


def test_a_tool_that_ran_before_a_failure_is_not_run_for_a_fallback_that_writes_its_calls(
    street: Street,
) -> None:
    table = Table(street, NATIVE, VERBATIM)
    native = Answer(tool_calls=(ToolCall(name=table.tool, arguments=('{"sides"', ": 6}")),))
    table.house.script((native, Refuse(status=500)), (Answer(text=table.call), FROM_FALLBACK))

    result = table.house.run()

    assert (result.status, result.text) == (TurnStatus.COMPLETED, FROM_FALLBACK.text)
    assert table.rolled == [6]
    assert all(f"result of {table.tool}" in told(seen) for seen in table.house.calls(FALLBACK))


@pytest.mark.parametrize(("primary", "fallback"), [(NATIVE, VERBATIM), (VERBATIM, NATIVE)])
def test_each_model_is_told_of_its_tools_in_its_own_way(
    street: Street, primary: Capabilities, fallback: Capabilities
) -> None:
    """35 and 36: native primary, verbatim fallback: dump and nudge; the other way: neither."""
    table = Table(street, primary, fallback)
    table.house.script((Refuse(status=500),))

    table.house.run()

    seen = (table.first[-1], table.house.calls(FALLBACK)[-1])
    for one, can in zip(seen, (primary, fallback), strict=True):
        writes = can is VERBATIM
        assert ("tools" in one.body) is not writes
        assert (DUMP in told(one), NUDGE in told(one)) == (writes, writes)


def told(seen: Seen) -> str:
    return "\n".join(str(message["content"]) for message in seen.body["messages"])
