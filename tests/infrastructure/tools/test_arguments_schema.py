"""What a schema must be, and what is said of arguments that do not fit."""

import socket
from typing import Any

import pytest

from turnkeeper.infrastructure.tools.schema import (
    MOST_COMPLAINTS,
    MOST_EXPECTED_CHARACTERS,
    ArgumentsSchema,
    complaint,
)

DICE = {
    "type": "object",
    "properties": {
        "sides": {"type": "integer", "minimum": 2},
        "mode": {"enum": ["fair", "loaded"]},
        "names": {"type": "array", "items": {"type": "string", "maxLength": 3}},
        "at": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
    },
    "required": ["sides"],
    "additionalProperties": False,
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {"x": {"type": "integer"}},
            "required": ["x"],
        }
    },
}


def said(arguments: dict[str, Any], schema: dict[str, Any] = DICE) -> str:
    return complaint(ArgumentsSchema(schema).misfits(arguments))


def test_what_fits_has_no_misfit() -> None:
    arguments = {"sides": 6.0, "mode": "fair", "names": ["a"], "at": {"x": 1}}

    assert ArgumentsSchema(DICE).misfits(arguments) == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "$ lacks 'sides'"),
        ({"sides": "6"}, '$.sides is a string, expected {"type": "integer"}'),
        ({"sides": True}, '$.sides is a boolean, expected {"type": "integer"}'),
        ({"sides": 1}, '$.sides is an integer, expected {"minimum": 2}'),
        (
            {"sides": 6, "mode": "odd"},
            '$.mode is a string, expected {"enum": ["fair", "loaded"]}',
        ),
        (
            {"sides": 6, "names": ["a", None]},
            '$.names[1] is null, expected {"type": "string"}',
        ),
        ({"sides": 6, "names": ["abcd"]}, '$.names[0] is a string, expected {"maxLength": 3}'),
        ({"sides": 6, "at": {}}, "$.at lacks 'x'"),
        ({"sides": 6, "at": {"x": []}}, '$.at.x is an array, expected {"type": "integer"}'),
        (
            {"sides": 6, "size": 1, "die": 2},
            "$ has no 'size', 'die', only 'sides', 'mode', 'names', 'at'",
        ),
        (
            {"sides": None, "names": 1},
            '$.sides is null, expected {"type": "integer"};'
            ' $.names is an integer, expected {"type": "array"}',
        ),
    ],
)
def test_a_misfit_is_told_by_its_place_its_kind_and_what_was_expected(
    arguments: dict[str, Any], message: str
) -> None:
    assert said(arguments) == message


def test_an_argument_of_a_tool_that_takes_none_is_told_so() -> None:
    schema = {"type": "object", "additionalProperties": False}

    assert said({"a": 1}, schema) == "$ has no 'a', only an empty object"


def test_all_that_is_missing_is_told_once() -> None:
    schema = {"type": "object", "required": ["a", "b", "c"]}

    assert said({"b": 1}, schema) == "$ lacks 'a', 'c'"


def test_of_very_many_misfits_the_first_are_told() -> None:
    message = said({"sides": 6, "names": [1] * 1000})

    assert message.count("expected") == MOST_COMPLAINTS


def test_a_long_rule_is_cut() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [str(n) for n in range(1000)]}}}

    assert len(said({"a": "x"}, schema)) < MOST_EXPECTED_CHARACTERS + 50


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, 'its schema at $.type is None: arguments are always an "object"'),
        ({"type": "array"}, "its schema at $.type is 'array': arguments are always an \"object\""),
        (
            {"type": "object", "required": "a"},
            "its schema at $.required: 'a' is not of type 'array'",
        ),
        (
            {"type": "object", "properties": {"a": {"pattern": "("}}},
            "its schema at $.properties.a.pattern: '(' is not a 'regex'",
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
            "its schema at $.properties.a.$ref: '#/$defs/A' is not found within the schema,"
            " and nothing is fetched; copy it into $defs",
        ),
        (
            {"type": "object", "allOf": [{"$dynamicRef": "#none"}]},
            "its schema at $.allOf[0].$dynamicRef: '#none' is not found within the schema,"
            " and nothing is fetched; copy it into $defs",
        ),
        (
            {"type": "object", "default": {"a": object}},
            "its schema cannot be written as JSON: Object of type type is not JSON serializable",
        ),
        (
            {"type": "object", "maxProperties": float("nan")},
            "its schema cannot be written as JSON: Out of range float values",
        ),
    ],
)
def test_a_bad_schema_is_refused_by_where_it_is_bad(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the whole message is compared
        ArgumentsSchema(schema)

    assert str(raised.value).startswith(message)


def test_a_schema_that_holds_itself_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"a": schema}

    with pytest.raises(ValueError, match="cannot be written as JSON"):
        ArgumentsSchema(schema)


def test_a_schema_may_refer_to_itself() -> None:
    tree = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "value": {"type": "integer"}},
    }

    assert said({"next": {"next": {"value": ""}}}, tree) == (
        '$.next.next.value is a string, expected {"type": "integer"}'
    )


def test_nothing_is_fetched_for_a_reference_to_elsewhere() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema"
        here = {"type": "object", "$schema": address, "$id": address}

        ArgumentsSchema(here).misfits({})
        with pytest.raises(ValueError, match="nothing is fetched"):
            ArgumentsSchema({**here, "properties": {"a": {"$ref": f"{address}/a"}}})

        server.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has knocked
            server.accept()
