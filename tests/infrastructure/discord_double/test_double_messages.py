"""What the bot says, changes and takes back."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from discord_caller import Caller, answer_of, contents
from fakes import FrozenClock

from turnkeeper.infrastructure.discord_double.double import SOMEBODY, DiscordDouble
from turnkeeper.infrastructure.discord_double.mentions import NOBODY, Pings


def test_people_see_what_was_said_in_order(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    discord.say(channel, "hello?")
    call.post(channel, "one")
    call.post(channel, "two")

    assert contents(discord, channel) == ["hello?", "one", "two"]
    assert discord.visible(channel)[1].author == discord.bot


def test_an_edit_shows_in_place_and_what_stood_there_is_remembered(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    message = call.post(channel, "on")
    call.post(channel, "after")

    call("PATCH", f"/channels/{channel}/messages/{message['id']}", {"content": "one"})

    assert contents(discord, channel) == ["one", "after"]
    assert discord.visible(channel)[0].earlier == ("on",)


def test_an_edit_to_nothing_leaves_a_blank_message(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    message = call.post(channel, "one")

    call("PATCH", f"/channels/{channel}/messages/{message['id']}", {"content": ""})

    assert contents(discord, channel) == [""]


def test_what_is_deleted_is_gone_and_logged(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    message = call.post(channel, "one")

    response = call("DELETE", f"/channels/{channel}/messages/{message['id']}")

    assert response.status_code == 204
    assert contents(discord, channel) == []
    assert [(gone.message.content, gone.by) for gone in discord.deleted(channel)] == [
        ("one", "bot")
    ]


def test_a_second_delete_is_told_that_there_is_no_message(call: Caller, channel: str) -> None:
    path = f"/channels/{channel}/messages/{call.post(channel, 'one')['id']}"
    call("DELETE", path)

    assert answer_of(call("DELETE", path)) == (404, 10008)


def test_an_enforced_nonce_says_a_thing_once(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    first = call.post(channel, "one", nonce="n1", enforce_nonce=True)
    second = call.post(channel, "one again", nonce="n1", enforce_nonce=True)

    assert second == first
    assert contents(discord, channel) == ["one"]


def test_threads_with_one_nonce_say_a_thing_once(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    body = {"content": "one", "nonce": "n1", "enforce_nonce": True}
    url, headers = f"{discord.url}/channels/{channel}/messages", dict(call.session.headers)

    with ThreadPoolExecutor(8) as pool:
        jobs = [
            pool.submit(requests.post, url, json=body, headers=headers, timeout=10)
            for _ in range(24)
        ]
        ids = {job.result().json()["id"] for job in jobs}

    assert ids == {message.id for message in discord.visible(channel)}
    assert contents(discord, channel) == ["one"]


def test_a_nonce_that_is_not_enforced_says_it_twice(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    call.post(channel, "one", nonce="n1")
    call.post(channel, "one", nonce="n1")

    assert contents(discord, channel) == ["one", "one"]


def test_the_nonce_of_a_deleted_message_is_of_no_more_use(call: Caller, channel: str) -> None:
    body = {"content": "one", "nonce": "n1", "enforce_nonce": True}
    message = call("POST", f"/channels/{channel}/messages", body).json()
    call("DELETE", f"/channels/{channel}/messages/{message['id']}")

    assert answer_of(call("POST", f"/channels/{channel}/messages", body)) == (404, 10008)


def test_a_nonce_is_forgotten_after_some_minutes(
    discord: DiscordDouble, call: Caller, channel: str, clock: FrozenClock
) -> None:
    call.post(channel, "one", nonce="n1", enforce_nonce=True)
    clock.advance(600)
    call.post(channel, "two", nonce="n1", enforce_nonce=True)

    assert contents(discord, channel) == ["one", "two"]


def test_a_reply_names_what_it_answers(discord: DiscordDouble, call: Caller, channel: str) -> None:
    question = discord.say(channel, "why?")

    reply = call.post(channel, "because", message_reference={"message_id": question})

    assert reply["referenced_message"]["content"] == "why?"
    assert reply["message_reference"]["message_id"] == question
    assert discord.visible(channel)[1].reply_to == question


def test_a_reply_to_what_is_gone_fails_unless_told_otherwise(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    question = discord.say(channel, "why?")
    discord.remove(question)
    body: dict[str, Any] = {"content": "because", "message_reference": {"message_id": question}}
    path = f"/channels/{channel}/messages"

    refused = call("POST", path, body)
    body["message_reference"]["fail_if_not_exists"] = False
    call("POST", path, body)

    assert refused.json()["errors"]["message_reference"]["_errors"][0]["code"] == (
        "MESSAGE_REFERENCE_UNKNOWN_MESSAGE"
    )
    assert contents(discord, channel) == ["because"]
    assert discord.visible(channel)[0].reply_to is None


def test_a_reply_needs_the_history(discord: DiscordDouble, call: Caller, channel: str) -> None:
    question = discord.say(channel, "why?")
    discord.revoke(channel, "READ_MESSAGE_HISTORY")
    body = {"content": "because", "message_reference": {"message_id": question}}

    assert answer_of(call("POST", f"/channels/{channel}/messages", body)) == (403, 160002)


def test_2000_code_points_fit_whatever_they_weigh(call: Caller, channel: str) -> None:
    assert len(call.post(channel, "🏮" * 2000)["content"]) == 2000


@pytest.mark.parametrize("blank", ["", "  \n\t "])
def test_blank_content_is_an_empty_message(call: Caller, channel: str, blank: str) -> None:
    response = call("POST", f"/channels/{channel}/messages", {"content": blank})

    assert answer_of(response) == (400, 50006)


BUTTON = {"type": 2, "style": 2, "label": "Details", "custom_id": "key"}


@pytest.mark.parametrize(
    ("form", "place", "code"),
    [
        pytest.param({"content": "x" * 2001}, ("content",), "BASE_TYPE_MAX_LENGTH", id="content"),
        pytest.param(
            {"content": "x", "nonce": "n" * 26}, ("nonce",), "BASE_TYPE_MAX_LENGTH", id="nonce"
        ),
        pytest.param(
            {"embeds": [{"title": "t"}] * 11}, ("embeds",), "BASE_TYPE_MAX_LENGTH", id="11 embeds"
        ),
        pytest.param(
            {"embeds": [{"description": "d" * 4097}]},
            ("embeds", "0", "description"),
            "BASE_TYPE_MAX_LENGTH",
            id="a long description",
        ),
        pytest.param(
            {"embeds": [{"description": "d" * 3001}] * 2},
            ("embeds",),
            "MAX_EMBED_SIZE_EXCEEDED",
            id="6002 characters in embeds",
        ),
        pytest.param(
            {"content": "x", "components": [{"type": 1, "components": [BUTTON]}] * 6},
            ("components",),
            "BASE_TYPE_MAX_LENGTH",
            id="6 rows",
        ),
        pytest.param(
            {"content": "x", "components": [{"type": 1, "components": [BUTTON] * 6}]},
            ("components", "0", "components"),
            "BASE_TYPE_BAD_LENGTH",
            id="6 buttons",
        ),
        pytest.param(
            {"content": "x", "components": [{"type": 1, "components": [BUTTON] * 2}]},
            ("components", "0", "components", "1", "custom_id"),
            "COMPONENT_CUSTOM_ID_DUPLICATED",
            id="one custom id twice",
        ),
        pytest.param(
            {
                "content": "x",
                "components": [{"type": 1, "components": [BUTTON | {"custom_id": "k" * 101}]}],
            },
            ("components", "0", "components", "0", "custom_id"),
            "BASE_TYPE_BAD_LENGTH",
            id="a long custom id",
        ),
        pytest.param(
            {"content": "x", "flags": 1 << 15},
            ("content",),
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
            id="content beside V2",
        ),
        pytest.param(
            {"flags": 1 << 15, "components": [{"type": 10, "content": "x" * 4001}]},
            ("components", "0", "content"),
            "BASE_TYPE_BAD_LENGTH",
            id="4001 characters of text display",
        ),
        pytest.param(
            {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
            ("allowed_mentions",),
            "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
            id="users parsed and listed",
        ),
    ],
)
def test_a_wrong_form_is_told_where_it_is_wrong(
    call: Caller, channel: str, form: dict[str, object], place: tuple[str, ...], code: str
) -> None:
    body = call("POST", f"/channels/{channel}/messages", form).json()

    at = body["errors"]
    for step in place:
        at = at[step]
    assert (body["code"], at["_errors"][0]["code"]) == (50035, code)


@pytest.mark.parametrize(
    ("allowed", "pings"),
    [
        pytest.param(None, Pings(everyone=True, users=("7",), roles=("8",)), id="left out"),
        pytest.param({"parse": []}, NOBODY, id="nobody"),
        pytest.param({"parse": [], "users": ["7"]}, Pings(users=("7",)), id="one user"),
    ],
)
def test_a_message_pings_whom_it_names_and_may(
    discord: DiscordDouble, call: Caller, channel: str, allowed: object, pings: Pings
) -> None:
    call.post(channel, "@everyone <@7> <@&8>", allowed_mentions=allowed)

    assert discord.visible(channel)[0].pings == pings


def test_an_edit_that_allows_nothing_pings_by_the_defaults(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    message = call.post(channel, "<@7>", allowed_mentions={"parse": []})

    call("PATCH", f"/channels/{channel}/messages/{message['id']}", {"content": "<@7>!"})

    assert discord.visible(channel)[0].pings == Pings(users=("7",))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [4, 3, 2, 1, 0]),
        ("?limit=2", [4, 3]),
        ("?limit=2&before={2}", [1, 0]),
        ("?limit=2&after={1}", [3, 2]),
        ("?limit=3&around={2}", [3, 2, 1]),
    ],
)
def test_a_channel_is_listed_newest_first(
    call: Caller, channel: str, query: str, expected: list[int]
) -> None:
    ids = [call.post(channel, str(number))["id"] for number in range(5)]

    listed = call("GET", f"/channels/{channel}/messages{query.format(*ids)}").json()

    assert [int(message["content"]) for message in listed] == expected


def test_without_the_history_a_channel_looks_empty(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    call.post(channel, "one")
    discord.revoke(channel, "READ_MESSAGE_HISTORY")

    assert call("GET", f"/channels/{channel}/messages").json() == []


@pytest.mark.parametrize(
    ("permission", "answer"), [("VIEW_CHANNEL", (403, 50001)), ("SEND_MESSAGES", (403, 50013))]
)
def test_sending_needs_permission(
    discord: DiscordDouble, call: Caller, channel: str, permission: Any, answer: tuple[int, int]
) -> None:
    discord.revoke(channel, permission)

    assert answer_of(call("POST", f"/channels/{channel}/messages", {"content": "x"})) == answer


def test_another_s_message_goes_only_with_permission(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    path = f"/channels/{channel}/messages/{discord.say(channel, 'mine')}"
    discord.revoke(channel, "MANAGE_MESSAGES")

    assert answer_of(call("DELETE", path)) == (403, 50013)
    assert answer_of(call("PATCH", path, {"content": "x"})) == (403, 50005)


def test_a_channel_that_is_gone_is_unknown(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    call.post(channel, "one")
    discord.delete_channel(channel)

    assert answer_of(call("POST", f"/channels/{channel}/messages", {"content": "x"})) == (
        404,
        10003,
    )
    assert discord.visible(channel) == ()
    assert [gone.by for gone in discord.deleted(channel)] == ["channel"]


def test_many_go_at_once_and_unknown_ones_do_no_harm(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    ids = [call.post(channel, str(number))["id"] for number in range(3)]
    path = f"/channels/{channel}/messages/bulk-delete"

    response = call("POST", path, {"messages": [*ids[:2], str(int(ids[0]) - 1)]})

    assert response.status_code == 204
    assert contents(discord, channel) == ["2"]


@pytest.mark.parametrize(
    ("pick", "answer"),
    [
        pytest.param([0], (400, 50016), id="one"),
        pytest.param([0] * 101, (400, 50016), id="101"),
        pytest.param([0, 0], (400, 50035), id="one twice"),
        pytest.param([0, 1], (400, 50034), id="one of three weeks ago"),
    ],
)
def test_a_wrong_pick_deletes_nothing(
    discord: DiscordDouble, call: Caller, channel: str, pick: list[int], answer: tuple[int, int]
) -> None:
    old = discord.say(channel, "old", author=discord.bot, age_s=21 * 86_400)
    ids = [call.post(channel, "new")["id"], old]
    path = f"/channels/{channel}/messages/bulk-delete"

    response = call("POST", path, {"messages": [ids[one] for one in pick]})

    assert answer_of(response) == answer
    assert contents(discord, channel) == ["old", "new"]


def test_a_direct_conversation_has_no_bulk_delete(discord: DiscordDouble, call: Caller) -> None:
    conversation = discord.add_dm()
    path = f"/channels/{conversation}/messages/bulk-delete"

    assert answer_of(call("POST", path, {"messages": ["1", "2"]})) == (403, 50003)


def test_typing_is_noticed(discord: DiscordDouble, call: Caller, channel: str) -> None:
    assert call("POST", f"/channels/{channel}/typing").status_code == 204
    assert discord.typed(channel) == 1


def test_the_bot_is_told_who_it_is(discord: DiscordDouble, call: Caller) -> None:
    assert call("GET", "/users/@me").json()["id"] == discord.bot.id


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        pytest.param({"Authorization": None}, (401, 40001), id="no token"),
        pytest.param({"Authorization": "Bot wrong"}, (401, 50014), id="a wrong token"),
        pytest.param({"User-Agent": "python-requests"}, (403, 40333), id="a foreign agent"),
        pytest.param({"Content-Type": "text/plain"}, (400, 50035), id="a wrong type"),
    ],
)
def test_a_request_that_is_not_a_bot_s_is_refused(
    call: Caller, channel: str, headers: dict[str, str | None], answer: tuple[int, int]
) -> None:
    response = call("POST", f"/channels/{channel}/messages", {"content": "x"}, **headers)

    assert answer_of(response) == answer


def test_a_body_that_is_no_json_is_told_so(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    url = f"{discord.url}/channels/{channel}/messages"

    response = call.session.post(url, data=b'{"content": ', timeout=10)

    assert answer_of(response) == (400, 50109)


def test_a_path_without_version_is_refused(discord: DiscordDouble, call: Caller) -> None:
    url = discord.url.replace("/v10", "") + "/users/@me"

    assert answer_of(call.session.get(url, timeout=10)) == (400, 50041)


def test_the_transcript_reads_as_people_do(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    question = discord.say(channel, "why?")
    rows = [{"type": 1, "components": [BUTTON]}]
    reference = {"message_id": question}
    message = call.post(channel, "be", components=rows, message_reference=reference)
    call("PATCH", f"/channels/{channel}/messages/{message['id']}", {"content": "because\nso"})

    assert discord.transcript(channel) == (
        f"{SOMEBODY.name} (person):\n    why?\n"
        f"Turnkeeper (bot, answers {question}, edited):\n    because\n    so\n    [Details]"
    )
