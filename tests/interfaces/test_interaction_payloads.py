"""Interactions in Discord's own form, recorded ones and nonsense."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import read_json
from signed import PING, a_press

from turnkeeper.domain.press import DETAILS_BUTTON, OpenModal, Press, Reply, StopButton, Whisper
from turnkeeper.interfaces.interactions.answer import answer_interaction
from turnkeeper.interfaces.interactions.payload import NotAnswered, Ping, is_ours, read_interaction

MODAL = OpenModal(title="Title", texts=("one", "two"), otherwise=Whisper(text="one two"))

ephemeral = {"flags": 64, "allowed_mentions": {"parse": []}}


def always(reply: Reply) -> Any:
    return lambda press: reply


# ── what is read ────────────────────────────────────────────────────────────────────────────


def test_a_press_says_who_pressed_what_and_where() -> None:
    payload = a_press("turnkeeper:stop:7:t1", user_id="8", permissions="8192", locale="de")

    assert read_interaction(payload) == Press(
        button="turnkeeper:stop:7:t1",
        user_id="8",
        message_id="1001",
        locale="de",
        moderates=True,
    )


def test_in_a_direct_message_there_is_a_user_and_no_moderator() -> None:
    payload = a_press()
    payload["user"] = payload.pop("member")["user"]

    assert read_interaction(payload) == Press(
        button=DETAILS_BUTTON, user_id="7", message_id="1001", locale="en-US"
    )


@pytest.mark.parametrize(
    ("permissions", "moderates"),
    [
        ("0", False),
        ("2048", False),
        (str(1 << 13), True),
        (str(1 << 3), True),
        (str((1 << 53) - 1), True),
        ("", False),
        ("-1", False),
        ("8192 ", False),
        ("٨", False),
        ("9" * 41, False),
    ],
)
def test_who_may_manage_messages_moderates(permissions: str, moderates: bool) -> None:
    read = read_interaction(a_press(permissions=permissions))

    assert isinstance(read, Press)
    assert read.moderates is moderates


@pytest.mark.parametrize("locale", ["", "e", "english language", "en\x00", "../etc", "a" * 50])
def test_a_language_that_is_none_is_english(locale: str) -> None:
    read = read_interaction(a_press(locale=locale))

    assert isinstance(read, Press)
    assert read.locale == "en"


@pytest.mark.parametrize("message_id", ["", "12\x00", "abc", "1" * 21, "-1", "1\n"])
def test_a_message_id_that_is_none_leads_nowhere(message_id: str) -> None:
    read = read_interaction(a_press(message_id=message_id))

    assert isinstance(read, Press)
    assert read.message_id == ""


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ([], "an interaction is a JSON object, not list"),
        ({}, "has a type"),
        ({"type": "3"}, "has a type"),
        ({"type": True}, "has a type"),
        ({"type": 2}, "not type 2"),
        ({"type": 4}, "not type 4"),
        ({"type": 6}, "not type 6"),
        ({"type": -1}, "has a type"),
        ({"type": 10**5000}, "has a type"),
        ({"type": 3}, "data.custom_id"),
        ({"type": 3, "data": {"custom_id": "x" * 101}}, "data.custom_id"),
        ({"type": 3, "data": {"custom_id": 5}}, "data.custom_id"),
        ({"type": 3, "data": {"custom_id": "x"}}, "a user or a member"),
        ({"type": 3, "data": {"custom_id": "x"}, "user": {"id": 5}}, "a user or a member"),
        ({"type": 3, "data": {"custom_id": "x"}, "member": []}, "a user or a member"),
    ],
)
def test_what_is_not_answered_says_why(payload: Any, said: str) -> None:
    with pytest.raises(NotAnswered, match=said):
        read_interaction(payload)


@pytest.mark.recording
def test_a_recorded_press_is_read(recordings: Path) -> None:
    payload = read_json(recordings / "di-31-button-press-full" / "payload.json")

    read = read_interaction(payload)

    assert isinstance(read, Press)
    assert (read.button, read.user_id, read.message_id, read.is_sent) == (
        "click_one",
        payload["member"]["user"]["id"],
        "123",
        False,
    )
    assert not is_ours(payload)


@pytest.mark.recording
def test_a_recorded_sending_of_a_modal_is_read(recordings: Path) -> None:
    payload = read_json(recordings / "di-32-modal-submit-full" / "payload.json")

    read = read_interaction(payload)

    assert isinstance(read, Press)
    assert (read.button, read.is_sent) == (payload["data"]["custom_id"], True)


@pytest.mark.recording
@pytest.mark.parametrize(
    "name", ["di-13-command-interaction", "di-14-command-interaction-user-install"]
)
def test_a_recorded_command_is_not_answered_here(recordings: Path, name: str) -> None:
    payload = read_json(recordings / name / "payload.json")

    with pytest.raises(NotAnswered, match="not type 2"):
        read_interaction(payload)


@pytest.mark.parametrize(
    ("button", "ours"),
    [
        (DETAILS_BUTTON, True),
        (StopButton(turn_id="t").button, True),
        ("click_one", False),
        ("turnkeeper", False),
    ],
)
def test_a_host_can_tell_our_buttons_from_its_own(button: str, ours: bool) -> None:
    assert is_ours(a_press(button)) is ours
    assert not is_ours({})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
FIELDS = st.sampled_from(list(a_press()))


@given(st.dictionaries(FIELDS, JSON), st.sampled_from([1, 3, 5, 2, 9]))
def test_whatever_the_fields_are_it_is_read_or_not_answered(
    fields: dict[str, Any], kind: int
) -> None:
    payload = {**a_press(), "type": kind, **fields}

    try:
        read = read_interaction(payload)
    except NotAnswered:
        return
    assert isinstance(read, Ping | Press)


# ── what is answered ────────────────────────────────────────────────────────────────────────


def test_a_ping_is_answered_with_a_pong() -> None:
    assert answer_interaction(PING, always(Whisper(text="no"))) == {"type": 1}


def test_a_whisper_is_a_message_that_only_one_sees_and_that_pings_nobody() -> None:
    assert answer_interaction(a_press(), always(Whisper(text="hello @everyone"))) == {
        "type": 4,
        "data": {"content": "hello @everyone", **ephemeral},
    }


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_message_is_never_blank(text: str) -> None:
    answer = answer_interaction(a_press(), always(Whisper(text=text)))

    assert answer["data"]["content"] == "…"


def test_a_modal_is_made_of_texts_to_read() -> None:
    assert answer_interaction(a_press(), always(MODAL)) == {
        "type": 9,
        "data": {
            "custom_id": DETAILS_BUTTON,
            "title": "Title",
            "components": [{"type": 10, "content": "one"}, {"type": 10, "content": "two"}],
        },
    }


def test_where_modals_are_refused_a_message_says_the_same() -> None:
    assert answer_interaction(a_press(), always(MODAL), with_modal=False) == {
        "type": 4,
        "data": {"content": "one two", **ephemeral},
    }
