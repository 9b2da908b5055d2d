"""The bodies that are sent: whole values, and what Discord takes."""

import jsonschema
import pytest
from discord_schema import EDIT, OF_BOT, OF_WEBHOOK, check
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.application.ports.sink import Spoken
from turnkeeper.infrastructure.discord import payloads
from turnkeeper.infrastructure.discord.content import fitted, is_visible, speaker_name
from turnkeeper.infrastructure.discord.nonces import MAX_CHARS, Nonces

NOBODY = {"parse": [], "replied_user": False}
TEXTS = st.text(max_size=5000)


def test_a_text_pings_nobody() -> None:
    assert payloads.text("hello") == {"content": "hello", "allowed_mentions": NOBODY}


def test_a_reply_does_not_fail_where_what_it_replies_to_is_gone() -> None:
    assert payloads.replying({"content": "hello"}, "7", "5") == {
        "content": "hello",
        "message_reference": {
            "type": 0,
            "message_id": "5",
            "channel_id": "7",
            "fail_if_not_exists": False,
        },
    }


def test_a_nonce_comes_with_its_enforcement() -> None:
    assert payloads.once({"content": "hello"}, "n1") == {
        "content": "hello",
        "nonce": "n1",
        "enforce_nonce": True,
    }


def test_a_webhook_is_told_name_and_picture() -> None:
    assert payloads.speaking_as({}, "Ada", "https://example.org/a.png") == {
        "username": "Ada",
        "avatar_url": "https://example.org/a.png",
    }
    assert payloads.speaking_as({}, None, None) == {}
    assert payloads.speaking_as({}, None, "https://example.org/" + "a" * 2048) == {}


def test_a_card_says_all_and_leaves_out_what_is_blank() -> None:
    spoken = Spoken(title=" ", text="No.", tips=("Do this.", "\u200b"))

    assert payloads.card(spoken, colour=7) == {
        "embeds": [{"color": 7, "description": "No.\n\nDo this."}],
        "allowed_mentions": NOBODY,
    }


def test_a_button_stands_alone_in_its_row() -> None:
    assert payloads.button("Details", "x:y") == {
        "components": [
            {
                "type": 1,
                "components": [
                    {
                        "type": 2,
                        "style": 2,
                        "label": "Details",
                        "custom_id": "x:y",
                        "disabled": False,
                    }
                ],
            }
        ],
        "allowed_mentions": NOBODY,
    }


@given(TEXTS.filter(is_visible), TEXTS)
def test_discord_takes_every_message(text: str, name: str) -> None:
    body = payloads.text(text)

    check(body, EDIT)
    check(payloads.once(payloads.replying(body, "7", "5"), "n1"), OF_BOT)
    check(payloads.speaking_as(body, speaker_name(name), "https://example.org/a"), OF_WEBHOOK)


@given(TEXTS.filter(is_visible), TEXTS, st.lists(TEXTS, max_size=3))
def test_discord_takes_every_card_and_button(title: str, text: str, tips: list[str]) -> None:
    card = payloads.card(Spoken(title=title, text=text, tips=tuple(tips)), colour=payloads.RED)

    check(card, EDIT)
    check(payloads.button(title, "turnkeeper:details", is_disabled=True), EDIT)


def test_the_schema_refuses_what_discord_refuses() -> None:
    for body in (
        {"content": "x" * 2001, "allowed_mentions": NOBODY},
        {"content": " ", "allowed_mentions": NOBODY},
        {"content": "x"},
        {"allowed_mentions": NOBODY},
    ):
        with pytest.raises(jsonschema.ValidationError):
            check(body, EDIT)


@pytest.mark.parametrize("text", ["a", "❤️", "\u200bx", "。", "…", "👨‍👩‍👧"])
def test_what_people_see_is_visible(text: str) -> None:
    assert is_visible(text)


@pytest.mark.parametrize(
    "text", ["", " ", "\u3000", "\u200b\u200d", "\ufe0f", "\U000e0041", "\u115f"]
)
def test_what_nobody_sees_is_not(text: str) -> None:
    assert not is_visible(text)


@given(TEXTS)
def test_what_fits_is_left_alone_and_the_rest_is_cut(text: str) -> None:
    cut = fitted(text, 100)

    assert len(cut) <= 100
    assert cut == text or len(text) > 100


def test_half_a_pair_of_surrogates_is_no_text() -> None:
    assert fitted("a\ud800b") == "a?b"


@pytest.mark.parametrize(
    ("name", "spoken"),
    [("  ", "User"), ("Ada", "Ada"), ("DISCORD", "DI*CORD"), ("x" * 90, "x" * 79 + "…")],
)
def test_a_name_is_one_that_a_webhook_may_have(name: str, spoken: str) -> None:
    assert speaker_name(name) == spoken


def test_a_nonce_is_the_same_until_its_message_may_be_gone() -> None:
    nonces = Nonces()
    nonces.used("n1", "5")
    before = nonces.fresh("n1")

    nonces.spend("5")
    nonces.spend("5")
    after = nonces.fresh("n1")

    assert before == "n1"
    assert after == nonces.fresh("n1") != "n1"
    assert len(after) <= MAX_CHARS


def test_a_nonce_that_is_too_long_is_shortened_to_the_same() -> None:
    nonces = Nonces()

    assert nonces.fresh("n" * 40) == nonces.fresh("n" * 40) != nonces.fresh("n" * 41)
    assert len(nonces.fresh("n" * 40)) <= MAX_CHARS
