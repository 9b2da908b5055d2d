from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    ReasoningPart,
    Role,
    Tag,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from turnkeeper.domain.verbatim_history import callable_names, in_words

DICE = ToolSpec(name="roll")
CALL = ToolCallPart(call_id="1", name="roll", arguments_json='{"sides": 6}', signature="s")
RESULT = ToolResultPart(call_id="1", name="roll", result_json='{"fell": 4}')
SCHEMAS = Item.said(Role.SYSTEM, "These tools can be called:", Tag.TOOL_SCHEMAS)


def told(*items: Item) -> list[tuple[Role, str]]:
    return [(item.role, item.text) for item in in_words(Conversation(items=items)).items]


def test_a_call_is_the_json_that_the_model_wrote() -> None:
    parts = (ReasoningPart(text="Hm."), TextPart(text="I roll."), CALL)

    assert told(Item(role=Role.MODEL, parts=parts)) == [
        (Role.MODEL, 'I roll.\n{"name": "roll", "arguments": {"sides": 6}}')
    ]


def test_a_call_without_words_stands_alone() -> None:
    assert told(Item(role=Role.MODEL, parts=(CALL,))) == [
        (Role.MODEL, '{"name": "roll", "arguments": {"sides": 6}}')
    ]


def test_a_result_is_said_by_the_users_side() -> None:
    assert told(Item(role=Role.TOOL, parts=(RESULT,))) == [
        (Role.USER, '[System: result of roll: {"fell": 4}]')
    ]


def test_several_results_are_one_item() -> None:
    line = '[System: result of roll: {"fell": 4}]'

    assert told(Item(role=Role.TOOL, parts=(RESULT, RESULT))) == [(Role.USER, f"{line}\n{line}")]


def test_all_else_stays_what_it_is() -> None:
    seen = Item(role=Role.USER, parts=(TextPart(text="Look."), ImagePart(uri="https://x/y.png")))
    conversation = Conversation(items=(SCHEMAS, seen, Item.said(Role.MODEL, "A whale.")))

    assert in_words(conversation) == conversation


def test_the_tools_are_not_sent() -> None:
    assert in_words(Conversation(tools=(DICE,))).tools == ()


def test_a_tool_that_was_called_but_is_offered_no_more_is_still_read() -> None:
    called = Item(role=Role.MODEL, parts=(CALL,))

    assert callable_names(Conversation(items=(SCHEMAS, called))) == {"roll"}
    assert callable_names(Conversation(items=(SCHEMAS,), tools=(DICE,))) == {"roll"}


def test_where_no_tools_were_told_of_none_is_read() -> None:
    assert callable_names(Conversation(items=(Item(role=Role.MODEL, parts=(CALL,)),))) == set()
