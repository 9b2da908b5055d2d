import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.conversation import Conversation, Item, Role, ToolCallPart, ToolResultPart
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.quotes import QUOTE_CHARACTERS, without_quotes
from turnkeeper.domain.redact import MASK

WISH = "Amelia keeps her pension book\n beneath the third floorboard"


def said(message: str, *texts: str) -> str:
    items = tuple(Item.said(Role.USER, text) for text in texts)
    failure = Failure(kind=FailureKind.BAD_REQUEST, message=message)
    return without_quotes(failure, Conversation(items=items)).message


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("Invalid input: 'Amelia keeps her pension book beneath the third floorboard'!",
         "Invalid input: '[redacted]'!"),
        ("Invalid: beneath the third floorboard.", "Invalid: [redacted]."),
        ("[{'input': 'keeps her pension book\\\\n beneath the third floorboard'}]",
         "[{'input': '[redacted]\\\\n [redacted]'}]"),
        ("flagged 'Amelia keeps her pension…' twice: her pension book beneath",
         "flagged '[redacted]…' twice: [redacted]"),
        ("Her pension is no parameter", "Her pension is no parameter"),
        ("the third floor is closed", "the third floor is closed"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_repeats_the_conversation_is_masked_and_nothing_else(message: str, left: str) -> None:
    assert said(message, "Good morning to everybody.", WISH) == left


def test_a_short_text_is_masked_where_it_stands_whole() -> None:
    assert said("bad value 'pin 90210' in content", "pin 90210", "content") == (
        "bad value '[redacted]' in content"
    )


def test_a_quote_does_not_reach_from_one_text_into_the_next() -> None:
    assert said("the end of one and more", "this is the end of one", "and more of it all") == (
        "the end of one and more"
    )


def test_of_short_texts_the_longest_is_masked_first() -> None:
    assert said("pin 90210 is", "pin 9021", "pin 90210", "pin 90210") == f"{MASK} is"


def test_a_short_text_that_is_a_part_of_the_mask_is_masked_once() -> None:
    assert said("it is redacted", "redacted", "redacted", " redacted\n") == f"it is {MASK}"


def test_a_quote_that_begins_within_another_belongs_to_it() -> None:
    first, second = "a rowing boat, and rope, and oars", "and rope, and oars, and all the sails"

    assert (
        said(f"no: {first}, and all the sails", first, second) == f"no: {MASK}, and all the sails"
    )


def test_what_tools_were_given_and_gave_is_masked_too() -> None:
    call = ToolCallPart(call_id="1", name="look", arguments_json='{"where": "the harbour wall"}')
    result = ToolResultPart(call_id="1", name="look", result_json='"a rowing boat, and rope"')
    conversation = Conversation(items=(Item(role=Role.MODEL, parts=(call, result)),))
    failure = Failure(
        kind=FailureKind.BAD_REQUEST,
        message='no: {"where": "the harbour wall"}',
        evidence="message=a rowing boat, and rope",
        code="a rowing boat, and rope",
    )

    masked = without_quotes(failure, conversation)

    assert (masked.message, masked.evidence, masked.code) == (
        f'no: {{"{MASK}',
        f"message={MASK}",
        MASK,
    )


@given(st.text(min_size=QUOTE_CHARACTERS, max_size=80), st.text(max_size=20), st.text(max_size=20))
def test_a_whole_text_of_words_never_remains(text: str, before: str, behind: str) -> None:
    written = " ".join(f"w{text}w".split())

    assert written not in said(f"{before} {written} {behind}", written)


def test_the_rest_of_a_failure_stays() -> None:
    failure = Failure(kind=FailureKind.QUOTA, message="no", status=402, rule="r", retry_after_s=1.0)

    assert without_quotes(failure, Conversation.of(WISH)) == failure
