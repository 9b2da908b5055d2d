"""Arguments as models write them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tool_uses import a_use

from turnkeeper.domain.tools import ToolDone, ToolFailed
from turnkeeper.infrastructure.tools.arguments import ArgumentsError, kind_of, read
from turnkeeper.infrastructure.tools.registry import ToolRegistry

ANY_TEXT = st.text(st.characters(exclude_categories=()))
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), JSON_VALUES, max_size=4)
SOME_VALUE = st.sampled_from(["sides", "times", "note", "limit", "else"])


def registered() -> ToolRegistry:
    registry = ToolRegistry()
    registry.add_schema("echo", {"type": "object"}, lambda arguments, use: arguments)

    @registry.tool
    def roll(sides: int, times: list[int] | None = None, note: str = "", limit: float = 1.5) -> Any:
        return [sides, times, note, limit]

    return registry


REGISTRY = registered()


@pytest.mark.parametrize("text", ["", "  \n", "null", "{}", '"null"', '"{}"', '""', '" "'])
def test_what_says_that_there_are_no_arguments_is_no_arguments(text: str) -> None:
    assert read(text) == {}


def test_an_object_that_was_written_as_json_twice_is_read_twice() -> None:
    assert read(json.dumps(json.dumps({"a": ["b", 1]}))) == {"a": ["b", 1]}


def test_a_line_end_within_a_text_is_taken_as_it_is() -> None:
    assert read('{"a":"b\nc"}') == {"a": "b\nc"}


def test_an_integer_beyond_64_bits_is_exact() -> None:
    assert read('{"a":123456789012345678901234567890}') == {"a": 123456789012345678901234567890}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "the arguments are an array, expected an object"),
        ("1", "the arguments are an integer, expected an object"),
        ("true", "the arguments are a boolean, expected an object"),
        ('"\\"{}\\""', "the arguments are a string, expected an object"),
        ('{"a":', "the arguments are not JSON, Expecting value at character 5 of 5"),
        ('{"a":1}{"a":1}', "the arguments are not JSON, Extra data at character 7 of 14"),
        ("roll(6)", "the arguments are not JSON, Expecting value at character 0 of 7"),
        ('{"a":1,"a":2}', "'a' is given twice in one object"),
        ('{"b":{"a":1,"a":1}}', "'a' is given twice in one object"),
        ('{"a":"\\ud800"}', "the arguments hold half of a surrogate pair"),
        ('{"a":' + "9" * 5000 + "}", "the arguments hold a number with too many digits"),
        ("[" * 100_000, "the arguments are nested too deeply"),
    ],
)
def test_what_is_no_object_of_arguments_is_refused_by_what_it_is(text: str, message: str) -> None:
    with pytest.raises(ArgumentsError) as raised:
        read(text)

    assert str(raised.value) == message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_is_not_finite_is_refused(number: str) -> None:
    with pytest.raises(ArgumentsError, match="a number that is not finite"):
        read(f'{{"a":{number}}}')


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "an integer"),
        (1.5, "a number"),
        ("", "a string"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_a_value_has_the_name_that_json_gives_it(value: object, kind: str) -> None:
    assert kind_of(value) == kind


@given(OBJECTS)
def test_any_object_is_read_as_it_is(arguments: dict[str, Any]) -> None:
    assert read(json.dumps(arguments)) == arguments
    assert read(json.dumps(json.dumps(arguments))) == arguments


@given(OBJECTS)
def test_a_tool_without_a_schema_to_speak_of_has_the_arguments_as_they_are(
    arguments: dict[str, Any],
) -> None:
    result = REGISTRY.run("echo", json.dumps(arguments), a_use())

    assert isinstance(result, ToolDone)
    assert json.loads(result.result_json) == arguments


@given(st.sampled_from(["echo", "roll"]) | ANY_TEXT, ANY_TEXT)
def test_no_text_makes_a_run_raise(name: str, text: str) -> None:
    assert_told(REGISTRY.run(name, text, a_use()))


@given(
    st.sampled_from(["echo", "roll"]),
    st.dictionaries(SOME_VALUE, JSON_VALUES | st.integers() | st.lists(st.integers()), max_size=5),
    st.integers(0, 60),
)
def test_no_cut_object_makes_a_run_raise(name: str, arguments: dict[str, Any], cut: int) -> None:
    text = json.dumps(arguments)

    assert_told(REGISTRY.run(name, text[: len(text) - cut], a_use()))


@given(st.sampled_from(["sides", "times", "limit"]), st.integers(1, 4000), st.integers(0, 2))
def test_no_huge_number_makes_a_run_raise(name: str, digits: int, depth: int) -> None:
    number = "[" * depth + "9" * digits + "]" * depth

    assert_told(REGISTRY.run("roll", f'{{"{name}":{number}}}', a_use()))


@pytest.mark.parametrize("depth", [50, 400, 900, 5000])
@pytest.mark.parametrize("name", ["echo", "roll"])
def test_no_nesting_makes_a_run_raise(name: str, depth: int) -> None:
    assert_told(REGISTRY.run(name, '{"times":' + "[" * depth + "]" * depth + "}", a_use()))


def assert_told(result: object) -> None:
    """It is JSON, or a message; either can be sent."""
    match result:
        case ToolDone(result_json=text):
            json.loads(text, parse_constant=pytest.fail)
        case ToolFailed(message=text):
            assert text
        case _:
            pytest.fail(f"no result: {result!r}")
    text.encode()
