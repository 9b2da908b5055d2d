"""A conversation in turns, as the native adapters take it."""

import pytest
from builders import a_model
from hypothesis import given
from hypothesis import strategies as st
from talks import looked_at, talks

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import Conversation, Item, Role, TextPart, VideoPart
from turnkeeper.infrastructure.providers.native_turns import Dialogue, Turn, dialogue_of

PREFILLS = st.sampled_from(("", "Once "))


def dialogue(talk: Conversation, prefill: str = "") -> Dialogue:
    return dialogue_of(ChatCall(model=a_model(), conversation=talk, prefill=prefill))


@given(talks(), PREFILLS)
def test_an_item_is_taken_alike_at_a_glance_and_looked_at(talk: Conversation, prefill: str) -> None:
    assert dialogue(talk, prefill) == dialogue(looked_at(talk), prefill)


@given(talks(), PREFILLS)
def test_user_and_model_take_turns_and_the_user_has_the_first_and_the_last(
    talk: Conversation, prefill: str
) -> None:
    turns = dialogue(talk, prefill).turns

    assert [turn.is_model for turn in turns] == [at % 2 == 1 for at in range(len(turns))]
    assert len(turns) % 2 == 1
    assert all(part.text.strip() for turn in turns for part in turn.parts if type(part) is TextPart)


def test_a_systems_first_words_stand_before_all_and_its_later_ones_are_the_users() -> None:
    system = Item.said(Role.SYSTEM, " Be brief. ")
    talk = (system, system, Item.said(Role.MODEL, "Hi."), system)

    told = dialogue(Conversation(items=talk))

    assert told.system == "Be brief.\n\nBe brief."
    assert [turn.only_text for turn in told.turns] == [
        "(the conversation begins)",
        "Hi.",
        " Be brief. ",
    ]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((TextPart(text="hi"),), "hi"),
        ((TextPart(text="hi"), TextPart(text="you")), None),
        ((VideoPart(uri="https://v.example/a.mp4"),), None),
    ],
)
def test_a_turn_of_one_text_says_only_that(parts: tuple[TextPart, ...], text: str | None) -> None:
    assert Turn(is_model=False, parts=parts).only_text == text
