import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.conversation import Item, ReasoningPart, Role, ToolCallPart, ToolResultPart
from turnkeeper.domain.outcome import ToolRecord, ToolState
from turnkeeper.domain.stream import ReasoningDelta, ToolCallDelta
from turnkeeper.domain.tool_calls import (
    arguments_hash,
    assembled,
    exchange,
    is_whole,
    remembered,
    told,
)
from turnkeeper.domain.tools import ToolDone, ToolFailed

CALL = ToolCallPart(call_id="c1", name="roll", arguments_json='{"sides":6}')


def a_record(state: ToolState = ToolState.DONE, **more: object) -> ToolRecord:
    return ToolRecord(
        name="roll",
        arguments_hash="h",
        nth=0,
        state=state,
        result_json="4",
        **more,  # type: ignore[arg-type]
    )


class TestAssembled:
    def test_fragments_of_one_index_are_one_call(self) -> None:
        deltas = (
            ToolCallDelta(index=0, call_id="c1", name="roll", arguments='{"sides"'),
            ToolCallDelta(index=1, call_id="c2", name="flip", signature="s"),
            ToolCallDelta(index=0, arguments=":6}"),
        )

        assert assembled(deltas) == (
            CALL,
            ToolCallPart(call_id="c2", name="flip", arguments_json="", signature="s"),
        )

    def test_a_call_without_an_id_is_given_one(self) -> None:
        (call,) = assembled((ToolCallDelta(index=3, name="roll"),))

        assert call.call_id == "call_3"


class TestWholeness:
    @pytest.mark.parametrize(
        ("arguments", "was_cut", "whole"),
        [
            ("{}", False, True),
            ("{}", True, True),
            ("", False, True),
            (" ", True, False),
            ('{"a":', False, False),
            ('{"a":"b', True, False),
            ("[" * 100_000, False, False),
        ],
    )
    def test_arguments_are_whole_if_their_json_is(
        self, arguments: str, was_cut: bool, whole: bool
    ) -> None:
        assert is_whole(arguments, was_cut=was_cut) is whole

    @given(st.dictionaries(st.text(), st.integers(), min_size=1), st.data())
    def test_no_beginning_of_an_object_is_whole(
        self, value: dict[str, int], data: st.DataObject
    ) -> None:
        text = json.dumps(value)
        cut = data.draw(st.integers(1, len(text) - 1))

        assert not is_whole(text[:cut], was_cut=True)


class TestHash:
    def test_order_and_spaces_do_not_count(self) -> None:
        assert arguments_hash('{"a":1,"b":2}') == arguments_hash('{ "b": 2, "a": 1 }')

    def test_none_are_an_empty_object(self) -> None:
        assert arguments_hash("") == arguments_hash("{}")

    def test_values_count(self) -> None:
        assert arguments_hash('{"a":1}') != arguments_hash('{"a":2}')

    @given(st.text())
    def test_any_text_has_one(self, text: str) -> None:
        assert len(arguments_hash(text)) == 64


class TestTold:
    @given(st.text(), st.integers(0, 50))
    def test_it_is_json_whatever_its_length(self, text: str, most: int) -> None:
        json.loads(told(ToolDone(result_json=json.dumps(text)), max_chars=most))
        json.loads(told(ToolFailed(message=text), max_chars=most))


class TestExchange:
    def test_what_was_thought_goes_back_with_the_call(self) -> None:
        thoughts = (ReasoningDelta("I "), ReasoningDelta("roll"), ReasoningDelta("", "[1]"))

        model, tool = exchange("", thoughts, [(CALL, "4")])

        assert model == Item(
            role=Role.MODEL, parts=(ReasoningPart(text="I roll", opaque_json="[1]"), CALL)
        )
        assert tool == Item(
            role=Role.TOOL,
            parts=(ToolResultPart(call_id="c1", name="roll", result_json="4"),),
        )

    def test_without_calls_nothing_is_added(self) -> None:
        assert exchange("I said something.", (), ()) == ()


class TestRemembered:
    def test_what_failed_is_left_out(self) -> None:
        assert remembered((a_record(ToolState.FAILED),), with_tools=True) == ()

    def test_what_may_have_happened_is_not(self) -> None:
        assert len(remembered((a_record(ToolState.UNKNOWN),), with_tools=True)) == 2

    def test_context_comes_as_it_was(self) -> None:
        news = Item.said(Role.USER, "news")

        assert remembered((a_record(context=(news,)),), with_tools=True) == (news,)

    def test_calls_of_several_answers_have_ids_of_their_own(self) -> None:
        (model, tool) = remembered((a_record(), a_record()), with_tools=True)

        calls = [part.call_id for part in model.parts if isinstance(part, ToolCallPart)]
        assert calls == [part.call_id for part in tool.parts if isinstance(part, ToolResultPart)]
        assert len(set(calls)) == 2
