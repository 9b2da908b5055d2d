"""The schema of a function's parameters, and calls of it."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from tool_uses import a_use

from turnkeeper.application.ports.tools import ToolUse
from turnkeeper.infrastructure.tools.arguments import ArgumentsError
from turnkeeper.infrastructure.tools.typed_function import TypedFunction, described_by


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Place:
    """Where something is."""

    x: int
    title: str = "here"


class Trip(BaseModel):
    """From one place to the other."""

    start: Place
    colours: list[Colour] = []


class Opaque:
    pass


def schema_of(function: Callable[..., object]) -> dict[str, Any]:
    return TypedFunction(function, described_by(function).arguments).schema


def called(function: Callable[..., object], **arguments: Any) -> object:
    return TypedFunction(function, {}).bind(arguments, a_use())()


# ── schemas ─────────────────────────────────────────────────────────────────────────────────


def test_a_function_without_parameters_takes_no_arguments() -> None:
    def now() -> str:
        return "noon"

    assert schema_of(now) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_plain_types_defaults_and_keywords_are_written() -> None:
    def roll(sides: int, name: str = "d", *, fair: bool, weight: float | None = None) -> None: ...

    assert schema_of(roll) == {
        "type": "object",
        "properties": {
            "sides": {"type": "integer"},
            "name": {"type": "string", "default": "d"},
            "fair": {"type": "boolean"},
            "weight": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        },
        "required": ["sides", "fair"],
        "additionalProperties": False,
    }


def test_literals_enums_and_lists_are_written() -> None:
    def paint(colour: Colour, mode: Literal["thick", "thin"], spots: list[int]) -> None: ...

    assert schema_of(paint) == {
        "type": "object",
        "properties": {
            "colour": {"$ref": "#/$defs/Colour"},
            "mode": {"type": "string", "enum": ["thick", "thin"]},
            "spots": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["colour", "mode", "spots"],
        "additionalProperties": False,
        "$defs": {"Colour": {"type": "string", "enum": ["red", "blue"]}},
    }


def test_models_and_dataclasses_are_written_without_titles() -> None:
    def travel(trip: Trip) -> None: ...

    assert schema_of(travel) == {
        "type": "object",
        "properties": {"trip": {"$ref": "#/$defs/Trip"}},
        "required": ["trip"],
        "additionalProperties": False,
        "$defs": {
            "Trip": {
                "type": "object",
                "description": "From one place to the other.",
                "properties": {
                    "start": {"$ref": "#/$defs/Place"},
                    "colours": {
                        "type": "array",
                        "items": {"$ref": "#/$defs/Colour"},
                        "default": [],
                    },
                },
                "required": ["start"],
            },
            "Place": {
                "type": "object",
                "description": "Where something is.",
                "properties": {
                    "x": {"type": "integer"},
                    "title": {"type": "string", "default": "here"},
                },
                "required": ["x"],
            },
            "Colour": {"type": "string", "enum": ["red", "blue"]},
        },
    }


def test_a_parameter_has_the_docstring_s_description_unless_its_type_brings_one() -> None:
    def roll(
        sides: Annotated[int, Field(ge=2)], times: Annotated[int, Field(description="Mine.")]
    ) -> None:
        """Roll.

        Args:
            sides: How many.
            times: Not this.
        """

    assert schema_of(roll)["properties"] == {
        "sides": {"type": "integer", "minimum": 2, "description": "How many."},
        "times": {"type": "integer", "description": "Mine."},
    }


def test_the_use_is_not_in_the_schema() -> None:
    def roll(sides: int, use: ToolUse) -> None:
        """Roll.

        Args:
            use: Not for the model.
        """

    assert list(schema_of(roll)["properties"]) == ["sides"]


def test_a_parameter_may_have_any_name() -> None:
    def odd(json: int, model_config: int, _id: int, copy: int = 1, schema: int = 2) -> list[int]:
        return [json, model_config, _id, copy, schema]

    assert list(schema_of(odd)["properties"]) == ["json", "model_config", "_id", "copy", "schema"]
    assert called(odd, json=3, model_config=4, _id=5, schema=6) == [3, 4, 5, 1, 6]


def test_annotations_that_are_texts_are_read() -> None:
    def roll(sides: "int", use: "ToolUse") -> None: ...

    assert schema_of(roll)["properties"] == {"sides": {"type": "integer"}}


def test_a_default_that_is_no_json_is_left_out() -> None:
    missing: Any = object()

    def roll(sides: int = missing) -> bool:
        return sides is missing

    assert schema_of(roll)["properties"] == {"sides": {"type": "integer"}}
    assert called(roll) is True


def test_an_argument_that_is_not_given_is_left_to_the_function_s_own_default() -> None:
    usual = [2, 4, 6]

    def roll(sides: list[int] = usual) -> bool:
        return sides is usual

    assert called(roll) is True


def test_a_method_and_a_partial_function_are_functions() -> None:
    class Cup:
        def roll(self, sides: int) -> int:
            return sides

    def scaled(factor: int, sides: int) -> int:
        return factor * sides

    assert called(Cup().roll, sides=6) == 6
    assert called(partial(scaled, factor=2), sides=6) == 12


def test_a_partial_function_is_not_described_by_what_partials_are() -> None:
    assert described_by(partial(print)).description == ""


# ── calls ───────────────────────────────────────────────────────────────────────────────────


def test_arguments_arrive_as_the_function_s_own_types() -> None:
    def travel(trip: Trip, on: date) -> object:
        return trip, on

    arguments = {"trip": {"start": {"x": 1}, "colours": ["red"]}, "on": "2030-01-02"}

    assert called(travel, **arguments) == (
        Trip(start=Place(x=1), colours=[Colour.RED]),
        date(2030, 1, 2),
    )


def test_the_use_is_given_under_its_parameter_s_name() -> None:
    def roll(sides: int, its: ToolUse) -> object:
        return sides, its

    use = a_use()

    assert TypedFunction(roll, {}).bind({"sides": 6}, use)() == (6, use)


def test_an_argument_that_its_type_does_not_take_is_told_by_its_place() -> None:
    def travel(on: date) -> None: ...

    with pytest.raises(ArgumentsError) as raised:
        called(travel, on="s3cret")

    assert str(raised.value).startswith("$.on: Input should be a valid date")
    assert "s3cret" not in str(raised.value)


# ── what is refused ─────────────────────────────────────────────────────────────────────────


async def coroutine() -> None: ...


async def stream() -> AsyncIterator[int]:
    yield 1


def pieces() -> Iterator[int]:
    yield 1


def open_ended(*sides: int) -> None: ...


def by_place(sides: int, /) -> None: ...


def options(**more: int) -> None: ...


def untyped(sides) -> None: ...  # type: ignore[no-untyped-def]


def misspelt(sides: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


def opaque(sides: Opaque) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (coroutine, "it is async"),
        (stream, "it is async"),
        (pieces, "it is a generator"),
        (open_ended, r"'\*sides: int' cannot be given by name"),
        (by_place, "'sides: int' cannot be given by name"),
        (options, r"'\*\*more: int' cannot be given by name"),
        (untyped, "'sides' has no type"),
        (misspelt, "its signature cannot be read: name 'Nowhere' is not defined"),
        (opaque, "a parameter's type has no schema"),
    ],
)
def test_a_function_that_cannot_be_called_so_is_refused(
    function: Callable[..., object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        schema_of(function)


def test_a_type_that_has_no_json_schema_is_refused() -> None:
    def call(back: Callable[[], int]) -> None: ...

    with pytest.raises(ValueError, match="a parameter's type has no schema"):
        schema_of(call)
