"""What the model is told of a tool's return or exception."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

import pytest
from pydantic import BaseModel, field_serializer

from turnkeeper.domain.conversation import Item, Role
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.tools import ToolDone, ToolFailed
from turnkeeper.infrastructure.tools.results import (
    MOST_MESSAGE_CHARACTERS,
    failed,
    raised,
    returned,
)


class Colour(Enum):
    RED = "red"


@dataclass
class Place:
    x: int
    colour: Colour = Colour.RED


class Trip(BaseModel):
    start: Place
    at: datetime = datetime(2030, 1, 2, tzinfo=UTC)


class Stubborn(BaseModel):
    x: int = 1

    @field_serializer("x")
    def refuse(self, x: int) -> int:
        raise RuntimeError("no")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_what_a_tool_says_itself_passes_through() -> None:
    done = ToolDone(
        result_json='{"a":1}', delivered=True, context=(Item.said(Role.USER, "x"),), fetched="page"
    )

    assert returned(done) is done


def test_a_result_that_is_no_json_is_told_as_a_text() -> None:
    assert returned(ToolDone(result_json='rolled "4"', delivered=True)) == ToolDone(
        result_json='"rolled \\"4\\""', delivered=True
    )


def test_a_failure_that_a_tool_returns_is_redacted() -> None:
    assert returned(ToolFailed(message="Bearer abcdef0123456789")) == ToolFailed(
        message="Bearer [redacted]"
    )


def test_nothing_is_success() -> None:
    assert returned(None) == ToolDone()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("rolled ä 4", '"rolled ä 4"'),
        (4, "4"),
        (1.5, "1.5"),
        (False, "false"),
        ([1, "a", None], '[1,"a",null]'),
        ((1, 2), "[1,2]"),
        ({"a": {"b": 1}}, '{"a":{"b":1}}'),
        (Colour.RED, '"red"'),
        (Place(x=1), '{"x":1,"colour":"red"}'),
        (Trip(start=Place(x=1)), '{"start":{"x":1,"colour":"red"},"at":"2030-01-02T00:00:00Z"}'),
        (10**40, "1" + "0" * 40),
        (float("inf"), '"Infinity"'),
    ],
)
def test_data_is_told_as_json(value: object, text: str) -> None:
    assert returned(value) == ToolDone(result_json=text)


def itself() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (object(), "object"),
        ({"a": object()}, "dict"),
        (itself(), "list"),
        (Stubborn(), "Stubborn"),
        ("\ud800", "str"),
        (b"\xff", "bytes"),
        (Secret("hunter22"), "Secret"),
    ],
)
def test_what_cannot_be_shown_is_done_nevertheless(value: object, kind: str) -> None:
    note = f"it is done; its result, a {kind}, cannot be shown as JSON"

    assert returned(value) == ToolDone(result_json=json.dumps({"status": "done", "note": note}))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no such die"), "ValueError: no such die"),
        (ValueError(), "ValueError"),
        (SystemExit(2), "SystemExit: 2"),
        (Mute(), "Mute"),
        (
            OSError("at https://me:pw@host/?key=abcdefgh"),
            "OSError: at https://[redacted]@host/?key=[redacted]",
        ),
        (ValueError("half \ud800 pair"), "ValueError: half \ufffd pair"),
    ],
)
def test_what_was_raised_is_told_by_its_type_and_message(
    error: BaseException, message: str
) -> None:
    assert raised(error) == ToolFailed(message=message)


def test_a_long_message_is_cut() -> None:
    assert len(failed("x y " * 1000).message) == MOST_MESSAGE_CHARACTERS
