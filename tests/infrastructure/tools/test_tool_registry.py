"""Tools that a host registers."""

import json
from collections.abc import Callable
from functools import partial
from threading import Barrier
from typing import Annotated, Any

import pytest
from builders import a_request
from pydantic import AfterValidator
from tool_uses import a_use

from turnkeeper.application.ports.runner import Cancelled, Stop
from turnkeeper.application.ports.tools import ToolUse
from turnkeeper.domain.conversation import ToolSpec
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.tools import ToolDone, ToolFailed, ToolResult, ToolRules
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop
from turnkeeper.infrastructure.tools.registry import ToolRegistry

ANY_OBJECT = {"type": "object"}
SIDES = {"type": "object", "properties": {"sides": {"type": "integer"}}, "required": ["sides"]}


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry()


def names(registry: ToolRegistry, request: TurnRequest | None = None) -> list[str]:
    return [spec.name for spec in registry.offered(request or a_request())]


def raising(error: BaseException) -> Callable[[], object]:
    def tool() -> object:
        raise error

    return tool


def run_in_a_thread(registry: ToolRegistry, name: str) -> ToolResult:
    def work(stop: Stop) -> ToolResult:
        return registry.run(name, "", a_use())

    runner = ThreadRunner()
    try:
        return runner.start(work, name).result(10)
    finally:
        runner.close()


# ── what is offered ─────────────────────────────────────────────────────────────────────────


def test_a_function_is_offered_under_its_name_with_its_docstring(registry: ToolRegistry) -> None:
    @registry.tool
    def roll(sides: int, use: ToolUse) -> int:
        """Roll one die.

        Args:
            sides: How many it has.
        """
        return sides

    (spec,) = registry.offered(a_request())

    assert (spec.name, spec.description) == ("roll", "Roll one die.")
    assert json.loads(spec.schema_json) == {
        "type": "object",
        "properties": {"sides": {"type": "integer", "description": "How many it has."}},
        "required": ["sides"],
        "additionalProperties": False,
    }


def test_the_decorator_leaves_the_function_as_it_is(registry: ToolRegistry) -> None:
    def four() -> int:
        return 4

    assert registry.tool(four) is four
    assert registry.tool(name="vier")(four) is four
    assert names(registry) == ["four", "vier"]


def test_name_description_and_rules_may_be_given(registry: ToolRegistry) -> None:
    rules = ToolRules(is_repeatable=True, once=True)

    @registry.tool(name="die-6", description="Rolls.", rules=rules)
    def roll() -> int:
        """Not this."""
        return 4

    (spec,) = registry.offered(a_request())

    assert (spec.name, spec.description) == ("die-6", "Rolls.")
    assert registry.rules("die-6") == rules


def test_a_given_schema_is_offered_as_it_was_when_it_was_given(registry: ToolRegistry) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
    registry.add_schema("weather", schema, lambda arguments, use: None, description="Looks out.")

    schema["properties"]["city"]["type"] = "integer"

    assert registry.offered(a_request()) == (
        ToolSpec(
            name="weather",
            description="Looks out.",
            schema_json='{"properties":{"city":{"type":"string"}},"type":"object"}',
        ),
    )


def test_a_given_schema_is_checked_as_it_was_when_it_was_given(registry: ToolRegistry) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
    registry.add_schema("weather", schema, lambda arguments, use: arguments["city"])

    schema["properties"]["city"]["type"] = "integer"

    assert registry.run("weather", '{"city":"Rome"}', a_use()) == ToolDone(result_json='"Rome"')


def test_a_given_schema_without_properties_gets_none(registry: ToolRegistry) -> None:
    registry.add_schema("ping", ANY_OBJECT, lambda arguments, use: None)

    (spec,) = registry.offered(a_request())

    assert json.loads(spec.schema_json) == {"type": "object", "properties": {}}


def test_tools_are_offered_in_the_order_in_which_they_were_registered(
    registry: ToolRegistry,
) -> None:
    for name in ("c", "a", "b"):
        registry.add(lambda: None, name=name)

    assert names(registry) == ["c", "a", "b"]


def test_a_tool_is_offered_to_the_turns_that_it_is_for(registry: ToolRegistry) -> None:
    registry.add(lambda: None, name="ban", when=lambda request: request.user_id == "admin")

    assert names(registry, a_request(user_id="admin")) == ["ban"]
    assert names(registry, a_request(user_id="guest")) == []


def test_a_tool_that_cannot_tell_whom_it_is_for_is_withheld(registry: ToolRegistry) -> None:
    registry.add(lambda: None, name="ban", when=lambda request: 1 / 0 > 0)
    registry.add(lambda: None, name="roll")

    assert names(registry) == ["roll"]


def test_of_a_tool_that_is_not_known_the_rules_are_the_strictest(registry: ToolRegistry) -> None:
    assert registry.rules("nothing") == ToolRules()


# ── what is refused ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["", "6", "-a", "a.b", "a b", "würfel", "a" * 65, "a\n"])
def test_a_name_that_a_provider_would_refuse_is_refused(registry: ToolRegistry, name: str) -> None:
    with pytest.raises(SettingsError, match="its name must be 1 to 64 of"):
        registry.add(lambda: None, name=name)

    assert names(registry) == []


@pytest.mark.parametrize("name", ["a", "_", "A-1_b", "a" * 64])
def test_a_name_that_all_providers_take_is_taken(registry: ToolRegistry, name: str) -> None:
    registry.add(lambda: None, name=name)

    assert names(registry) == [name]


def test_a_name_is_not_registered_twice(registry: ToolRegistry) -> None:
    registry.add(lambda: "first", name="roll")

    with pytest.raises(SettingsError, match="'roll' is registered already"):
        registry.add(lambda: "second", name="roll")

    assert registry.run("roll", "", a_use()) == ToolDone(result_json='"first"')


def test_a_refused_function_is_named(registry: ToolRegistry) -> None:
    with pytest.raises(SettingsError, match=r"tool 'roll' .* parameter 'sides' has no type"):
        registry.add(lambda sides: sides, name="roll")


def test_a_refused_schema_is_named(registry: ToolRegistry) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "strin"}}}

    with pytest.raises(SettingsError, match=r"tool 'roll' .* \$\.properties\.a\.type"):
        registry.add_schema("roll", schema, lambda arguments, use: None)


# ── what is run ─────────────────────────────────────────────────────────────────────────────


def test_a_function_is_given_the_use_that_it_asks_for(registry: ToolRegistry) -> None:
    uses: list[ToolUse] = []

    @registry.tool
    def keep(use: ToolUse) -> None:
        uses.append(use)

    use = a_use()
    registry.run("keep", "{}", use)

    assert uses == [use]


def test_a_given_schema_s_function_has_the_arguments_and_the_use(registry: ToolRegistry) -> None:
    seen: list[tuple[dict[str, Any], ToolUse]] = []
    registry.add_schema("roll", SIDES, lambda arguments, use: seen.append((arguments, use)))

    use = a_use()
    registry.run("roll", '{"sides":6,"more":[1]}', use)

    assert seen == [({"sides": 6, "more": [1]}, use)]


def test_arguments_that_do_not_fit_run_nothing(registry: ToolRegistry) -> None:
    rolled: list[object] = []
    registry.add_schema("roll", SIDES, lambda arguments, use: rolled.append(arguments))

    result = registry.run("roll", '{"sides":"six"}', a_use())

    assert result == ToolFailed(
        message='it was not run: $.sides is a string, expected {"type": "integer"}',
        ran=False,
    )
    assert rolled == []


@pytest.mark.parametrize("cut", ['{"sides":6', '{"sides"', "{", '{"sides":6}{"sides":6}'])
def test_arguments_that_are_not_whole_run_nothing(registry: ToolRegistry, cut: str) -> None:
    rolled: list[object] = []
    registry.add_schema("roll", ANY_OBJECT, lambda arguments, use: rolled.append(arguments))

    result = registry.run("roll", cut, a_use())

    assert isinstance(result, ToolFailed)
    assert result.message.startswith("it was not run: the arguments are not JSON")
    assert rolled == []


def test_a_list_that_was_written_as_a_text_is_read(registry: ToolRegistry) -> None:
    registry.add(_sum, name="sum")

    assert registry.run("sum", '{"numbers":"[1,2]"}', a_use()) == ToolDone(result_json="3")


def _sum(numbers: list[int]) -> int:
    return sum(numbers)


def test_a_text_that_looks_like_a_list_stays_a_text_where_one_is_wanted(
    registry: ToolRegistry,
) -> None:
    @registry.tool
    def echo(text: str) -> str:
        return text

    assert registry.run("echo", '{"text":"[1,2]"}', a_use()) == ToolDone(result_json='"[1,2]"')


def test_a_misfit_within_a_list_that_was_a_text_is_told_as_the_model_wrote_it(
    registry: ToolRegistry,
) -> None:
    registry.add(_sum, name="sum")

    assert registry.run("sum", '{"numbers":"[1,null]"}', a_use()) == ToolFailed(
        message='it was not run: $.numbers is a string, expected {"type": "array"}',
        ran=False,
    )


def test_a_tool_that_is_not_known_is_a_failure_that_names_those_that_are(
    registry: ToolRegistry,
) -> None:
    registry.add(lambda: None, name="roll")
    registry.add(lambda: None, name="ban", when=lambda request: False)

    assert registry.run("rol", "{}", a_use()) == ToolFailed(
        message="there is no tool 'rol'; there are: roll",
        ran=False,
    )


def test_a_tool_that_the_turn_is_not_offered_is_not_run(registry: ToolRegistry) -> None:
    banned: list[str] = []
    registry.add(lambda: banned.append("somebody"), name="ban", when=lambda request: False)

    assert registry.run("ban", "{}", a_use()) == ToolFailed(
        message="there is no tool 'ban'; there are: none",
        ran=False,
    )
    assert banned == []


def test_what_a_tool_raises_is_a_redacted_failure(registry: ToolRegistry) -> None:
    registry.add(raising(OSError("refused Bearer abcdef0123456789")), name="fetch")

    assert registry.run("fetch", "", a_use()) == ToolFailed(
        message="OSError: refused Bearer [redacted]"
    )


def test_a_stop_that_a_tool_heeds_is_raised(registry: ToolRegistry) -> None:
    stop = ThreadStop()

    @registry.tool
    def wait(use: ToolUse) -> None:
        stop.set()
        use.stop.check()

    with pytest.raises(Cancelled):
        registry.run("wait", "", a_use(stop=stop))


def test_a_tool_is_not_begun_once_it_was_stopped(registry: ToolRegistry) -> None:
    begun: list[str] = []
    registry.add(lambda: begun.append("it"), name="post")
    stop = ThreadStop()
    stop.set()

    with pytest.raises(Cancelled):
        registry.run("post", "", a_use(stop=stop))

    assert begun == []


@pytest.mark.parametrize("error", [SystemExit(1), GeneratorExit("1")])
def test_a_tool_that_exits_has_failed(registry: ToolRegistry, error: BaseException) -> None:
    registry.add(raising(error), name="quit")

    assert registry.run("quit", "", a_use()) == ToolFailed(message=f"{type(error).__name__}: 1")


def test_an_interrupt_that_a_tool_raises_in_its_thread_is_a_failure(registry: ToolRegistry) -> None:
    registry.add(raising(KeyboardInterrupt()), name="quit")

    assert run_in_a_thread(registry, "quit") == ToolFailed(message="KeyboardInterrupt")


def test_an_interrupt_in_the_main_thread_is_a_person_s(registry: ToolRegistry) -> None:
    registry.add(raising(KeyboardInterrupt()), name="slow")

    with pytest.raises(KeyboardInterrupt):
        registry.run("slow", "", a_use())


def test_an_error_in_a_type_s_own_check_is_a_failure(registry: ToolRegistry) -> None:
    def odd(number: int) -> int:
        raise KeyError(number)

    @registry.tool
    def roll(sides: Annotated[int, AfterValidator(odd)]) -> int:
        return sides

    assert registry.run("roll", '{"sides":6}', a_use()) == ToolFailed(
        message="it was not run, its arguments cannot be checked: KeyError: 6",
        ran=False,
    )


# ── threads ─────────────────────────────────────────────────────────────────────────────────


def test_what_is_registered_while_tools_are_offered_is_seen_by_the_next_turn(
    registry: ToolRegistry,
) -> None:
    def also_registers(request: TurnRequest) -> bool:
        registry.add(lambda: None, name=f"late-{request.trigger_id}")
        return True

    registry.add(lambda: None, name="first", when=also_registers)
    registry.add(lambda: None, name="second")

    assert names(registry, a_request(trigger_id="1")) == ["first", "second"]
    assert names(registry, a_request(trigger_id="2")) == ["first", "second", "late-1"]


def test_threads_that_register_at_once_lose_no_tool(registry: ToolRegistry) -> None:
    barrier = Barrier(8)

    def register(number: int, stop: Stop) -> None:
        barrier.wait(10)
        for again in range(20):
            registry.add(lambda: None, name=f"t{number}-{again}")

    runner = ThreadRunner()
    for work in [runner.start(partial(register, number), "register") for number in range(8)]:
        work.result(30)
    runner.close()

    assert sorted(names(registry)) == sorted(
        f"t{n}-{again}" for n in range(8) for again in range(20)
    )


def test_of_threads_that_register_one_name_one_succeeds(registry: ToolRegistry) -> None:
    barrier = Barrier(8)

    def register(stop: Stop) -> bool:
        barrier.wait(10)
        try:
            registry.add(lambda: None, name="roll")
        except SettingsError:
            return False
        return True

    runner = ThreadRunner()
    succeeded = [work.result(30) for work in [runner.start(register, "r") for _ in range(8)]]
    runner.close()

    assert sorted(succeeded) == [False] * 7 + [True]
