import json
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from types import NoneType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from builders import SERVER, a_failure
from hypothesis import given, settings
from hypothesis import strategies as st

from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.events import (
    EffectFailed,
    Entry,
    Event,
    InvocationEnded,
    KeyLeased,
    TurnEnded,
)
from turnkeeper.domain.model import Limits, Model
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.policy import ContentFilterPolicy, TurnPolicy
from turnkeeper.domain.turn import ThoughtLogOfDefault, TurnResult
from turnkeeper.infrastructure.journal_codec import (
    EVENTS,
    entry_from_json,
    entry_to_json,
    event_from_json,
    event_to_json,
    result_from_json,
    result_to_json,
)
from turnkeeper.infrastructure.json_values import to_json

# Any character that Python has, halves of characters and NUL among them.
TEXTS = st.text(st.characters(), max_size=5)
NAMES = st.text("abc", min_size=1, max_size=3)
COUNTS = st.integers(min_value=1, max_value=9)
SPECIAL: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    NoneType: st.none(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    Owner: st.builds(Owner.server, NAMES) | st.builds(Owner.user, NAMES),
    Limits: st.builds(Limits, window_tokens=COUNTS | st.none(), max_output_tokens=COUNTS),
    Model: st.builds(Model, id=TEXTS, provider=NAMES, name=NAMES),
    TurnPolicy: st.builds(
        TurnPolicy,
        max_keys=COUNTS,
        max_invocations=COUNTS,
        shrink_to=st.sampled_from([0.3, 0.7]),
        empty_fails_over=st.booleans(),
        content_filter=st.sampled_from(ContentFilterPolicy),
    ),
}


def any_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that events and results are made of."""
    if kind in SPECIAL:
        return SPECIAL[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if is_dataclass(kind):
        return _any_object(kind)
    if get_origin(kind) in (tuple, frozenset):
        return _any_items(kind)
    assert get_origin(kind) is Union or type(kind).__name__ == "UnionType", kind
    return st.one_of(*map(any_of, get_args(kind)))


def _any_object(kind: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    return st.builds(kind, **{one.name: any_of(hints[one.name]) for one in fields(kind)})


def _any_items(kind: Any) -> st.SearchStrategy[Any]:
    kinds, make = get_args(kind), get_origin(kind)
    if make is tuple and kinds[-1] is not Ellipsis:
        return st.tuples(*map(any_of, kinds))
    return st.lists(any_of(kinds[0]), max_size=2).map(make)


ANY_EVENT = st.sampled_from(list(EVENTS.values())).flatmap(any_of)


@given(event=ANY_EVENT)
def test_every_event_comes_back_as_it_was(event: Event) -> None:
    name, data = event_to_json(event)

    assert event_from_json(name, data) == event


@settings(max_examples=100)
@given(result=any_of(TurnResult))
def test_every_result_comes_back_as_it_was(result: TurnResult) -> None:
    assert result_from_json(result_to_json(result)) == result


@settings(max_examples=50)
@given(entry=st.builds(Entry, turn_id=TEXTS, seq=COUNTS, at_s=SPECIAL[float], event=ANY_EVENT))
def test_every_entry_comes_back_as_it_was(entry: Entry) -> None:
    text = entry_to_json(entry)

    assert (entry_from_json(text), text.isascii()) == (entry, True)


def test_no_event_is_left_out() -> None:
    assert set(EVENTS.values()) == set(get_args(Event))


def test_the_names_of_events_do_not_change() -> None:
    assert " ".join(sorted(EVENTS)) == (
        "attempt_prepared attempt_unpreparable cleaned_up effect_failed finalized first_progress"
        " invocation_ended invocation_started key_booked key_leased message_posted message_stuck"
        " message_taken_back model_rested no_key_left quota_reserved quota_settled said"
        " server_route_asked signal_heard tool_ran turn_ended turn_refused turn_started"
        " turn_swept waited"
    )


def test_an_event_is_written_with_its_values_in_plain_words() -> None:
    event = KeyLeased(attempt_no=0, key_id=7, is_main=True, is_probe=False)

    name, data = event_to_json(event)

    assert (name, json.loads(data)) == (
        "key_leased",
        {"attempt_no": 0, "key_id": 7, "is_main": True, "is_probe": False, "without": None},
    )


def test_fields_of_a_newer_version_are_passed_over() -> None:
    newer = '{"status": "error", "responses": 0, "delivered_by_tool": false, "mood": "fine"}'

    event = event_from_json("turn_ended", newer)

    assert event == TurnEnded(status="error", responses=0, delivered_by_tool=False)


def test_fields_of_a_newer_version_are_passed_over_within_values_too() -> None:
    event = InvocationEnded(
        attempt_no=0, invocation_no=0, outcome="Failed", failure=a_failure(status=429)
    )
    name, data = event_to_json(event)
    newer = json.loads(data)
    newer["failure"]["mood"] = "bad"

    assert event_from_json(name, json.dumps(newer)) == event


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("mood_changed", '{"to": "fine"}'),
        ("key_leased", '{"attempt_no": 0}'),
        ("invocation_ended", '{"failure": {"kind": "boredom", "message": ""}}'),
        ("key_leased", "[]"),
        ("key_leased", "{"),
    ],
    ids=["name", "missing field", "unknown kind", "another form", "no JSON"],
)
def test_an_event_that_cannot_be_read_says_so(name: str, data: str) -> None:
    assert event_from_json(name, data) == EffectFailed(
        effect=name, cause="this version cannot read the event"
    )


@pytest.mark.parametrize("text", ["", "{}", '{"status": "happy"}', "[1]"])
def test_a_result_that_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(StoreError, match="a newer version of turnkeeper"):
        result_from_json(text)


def test_an_entry_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(StoreError, match="no JSON of an entry"):
        entry_from_json("{}")


def test_classes_of_a_union_are_told_apart_by_name() -> None:
    result = TurnResult(status=TurnStatus.SKIPPED, thought_log_owner=ThoughtLogOfDefault())

    assert json.loads(result_to_json(result))["thought_log_owner"] == {"is": "ThoughtLogOfDefault"}


def test_a_type_that_is_not_known_is_an_error() -> None:
    with pytest.raises(TypeError, match="not written as JSON"):
        to_json(complex)


def test_an_owner_is_written_as_its_parts() -> None:
    assert to_json(Owner)(SERVER) == {"kind": "server", "id": "guild"}  # type: ignore[misc]
