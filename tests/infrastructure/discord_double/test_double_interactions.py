"""Buttons, modals, and how the application is asked and answers."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from discord_caller import Caller, answer_of, contents
from fakes import FrozenClock
from raw_server import Peer, RawServer, Received, reply

from turnkeeper.infrastructure.discord_double.double import SOMEBODY, DiscordDouble
from turnkeeper.infrastructure.discord_double.message import Author
from turnkeeper.infrastructure.discord_double.signing import Manner

ROWS = [
    {"type": 1, "components": [{"type": 2, "style": 2, "label": "Details", "custom_id": "key"}]}
]
MODAL = {
    "type": 9,
    "data": {
        "custom_id": "details",
        "title": "Details",
        "components": [
            {"type": 10, "content": "What happened."},
            {"type": 18, "label": "Note", "component": {"type": 4, "custom_id": "note"}},
        ],
    },
}
PRIVATE = {"type": 4, "data": {"content": "only you", "flags": 64}}
JSON = "Content-Type: application/json"
Endpoint = Callable[[Callable[[Received], bytes]], RawServer]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Opens endpoints of an application that answer as told."""
    with ExitStack() as stack:

        def open_one(answer: Callable[[Received], bytes]) -> RawServer:
            def talk(peer: Peer) -> None:
                while request := peer.receive():
                    server.received.append(request)
                    peer.send(answer(request))

            server = RawServer(talk)
            stack.callback(server.close)
            return server

        yield open_one


@pytest.fixture
def button(call: Caller, channel: str) -> str:
    """A message with a button."""
    return str(call.post(channel, "fallback used", components=ROWS)["id"])


def is_signed(request: Received, public_key: str) -> bool:
    headers = request.headers
    signed = headers.get("X-Signature-Timestamp", "").encode() + request.body
    try:
        signature = bytes.fromhex(headers.get("X-Signature-Ed25519", ""))
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(signature, signed)
    except InvalidSignature:
        return False
    return True


def answering(body: object) -> Callable[[Received], bytes]:
    return lambda _: reply(json.dumps(body).encode(), headers=JSON)


def test_a_ping_is_signed_and_its_answer_returned(
    discord: DiscordDouble, endpoint: Endpoint
) -> None:
    server = endpoint(answering({"type": 1}))

    heard = discord.ping(server.url)

    assert (heard.status, heard.body) == (200, {"type": 1})
    assert json.loads(server.received[0].body)["type"] == 1
    assert is_signed(server.received[0], discord.public_key)


@pytest.mark.parametrize(
    ("manner", "signed"),
    [
        ("honest", [True]),
        ("replayed", [True, True]),
        ("stale", [True]),
        ("forged", [False]),
        ("truncated", [False]),
        ("unsigned", [False]),
    ],
)
def test_a_press_is_signed_in_its_manner(
    discord: DiscordDouble, endpoint: Endpoint, button: str, manner: Manner, signed: list[bool]
) -> None:
    server = endpoint(answering(PRIVATE))

    discord.press(button, "key", url=server.url, manner=manner)

    assert [is_signed(one, discord.public_key) for one in server.received] == signed


def test_a_stale_press_names_an_hour_ago(
    discord: DiscordDouble, endpoint: Endpoint, button: str, clock: FrozenClock
) -> None:
    server = endpoint(answering(PRIVATE))

    discord.press(button, "key", url=server.url, manner="stale")

    timestamp = int(server.received[0].headers["X-Signature-Timestamp"])
    assert timestamp == int(clock.now().timestamp()) - 3600


def test_a_replay_is_the_same_to_the_byte_and_counts_no_second_time(
    discord: DiscordDouble, endpoint: Endpoint, button: str, channel: str
) -> None:
    server = endpoint(answering(PRIVATE))

    heard = discord.press(button, "key", url=server.url, manner="replayed")

    first, second = server.received
    assert (first.body, first.headers) == (second.body, second.headers)
    assert heard.problem == (
        "its answer was refused: 40060 Interaction has already been acknowledged."
    )
    assert len(discord.private(channel)) == 1


def test_a_press_carries_the_button_the_message_and_the_presser(
    discord: DiscordDouble, endpoint: Endpoint, button: str, channel: str
) -> None:
    server = endpoint(answering(PRIVATE))

    heard = discord.press(button, "key", url=server.url)

    sent: dict[str, Any] = json.loads(server.received[0].body)
    assert sent["data"] == {"component_type": 2, "custom_id": "key", "id": 2}
    assert (sent["message"]["id"], sent["channel_id"]) == (button, channel)
    assert sent["member"]["user"]["id"] == SOMEBODY.id
    assert (sent["id"], sent["token"]) == (heard.interaction_id, heard.token)


def test_only_the_presser_sees_a_private_answer(
    discord: DiscordDouble, endpoint: Endpoint, button: str, channel: str
) -> None:
    heard = discord.press(button, "key", url=endpoint(answering(PRIVATE)).url)

    assert heard.problem is None
    assert contents(discord, channel) == ["fallback used"]
    assert [message.content for message in discord.private(channel)] == ["only you"]
    assert discord.private(channel, Author(id="9", name="Eve")) == ()


def test_a_modal_is_shown_and_sent_off(
    discord: DiscordDouble, endpoint: Endpoint, button: str, channel: str
) -> None:
    heard = discord.press(button, "key", url=endpoint(answering(MODAL)).url)
    server = endpoint(answering(PRIVATE))
    assert heard.interaction_id is not None

    discord.submit(heard.interaction_id, {"note": "thanks"}, url=server.url)

    assert discord.interaction(heard.interaction_id).modal == MODAL["data"]
    sent = json.loads(server.received[0].body)
    assert (sent["type"], sent["message"]["id"]) == (5, button)
    assert sent["data"] == {
        "custom_id": "details",
        "components": [
            {"type": 10, "id": 1},
            {
                "type": 18,
                "id": 2,
                "component": {"type": 4, "id": 3, "custom_id": "note", "value": "thanks"},
            },
        ],
    }
    assert [message.content for message in discord.private(channel)] == ["only you"]


def test_a_modal_does_not_answer_a_modal(
    discord: DiscordDouble, endpoint: Endpoint, button: str
) -> None:
    url = endpoint(answering(MODAL)).url
    heard = discord.press(button, "key", url=url)
    assert heard.interaction_id is not None

    assert discord.submit(heard.interaction_id, url=url).problem == (
        "its answer was refused: 50035 Invalid Form Body"
    )


def test_a_modal_after_a_deferral_is_refused(
    discord: DiscordDouble, call: Caller, button: str
) -> None:
    heard = discord.press(button, "key")
    path = f"/interactions/{heard.interaction_id}/{heard.token}/callback"

    deferred = call("POST", path, {"type": 5}, Authorization=None)

    assert deferred.status_code == 204
    assert answer_of(call("POST", path, MODAL)) == (400, 40060)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"title": "t" * 46}, id="a long title"),
        pytest.param({"components": []}, id="no component"),
        pytest.param({"components": [{"type": 10, "content": "x"}] * 6}, id="six components"),
        pytest.param({"components": [{"type": 10, "content": "x" * 4001}]}, id="a long text"),
        pytest.param({"components": [{"type": 2, "custom_id": "k"}]}, id="a bare button"),
    ],
)
def test_a_wrong_modal_is_refused_and_another_answer_counts(
    discord: DiscordDouble, call: Caller, button: str, change: dict[str, object]
) -> None:
    heard = discord.press(button, "key")
    path = f"/interactions/{heard.interaction_id}/{heard.token}/callback"
    data: Any = MODAL["data"]

    assert answer_of(call("POST", path, {"type": 9, "data": data | change})) == (400, 50035)
    assert call("POST", path, PRIVATE).status_code == 204


def test_a_callback_after_three_seconds_is_too_late(
    discord: DiscordDouble, call: Caller, button: str, clock: FrozenClock
) -> None:
    heard = discord.press(button, "key")
    clock.advance(3.1)

    response = call("POST", f"/interactions/{heard.interaction_id}/{heard.token}/callback", PRIVATE)

    assert answer_of(response) == (404, 10062)


def test_an_unknown_token_opens_no_interaction(
    discord: DiscordDouble, call: Caller, button: str
) -> None:
    heard = discord.press(button, "key")

    response = call("POST", f"/interactions/{heard.interaction_id}/wrong/callback", PRIVATE)

    assert answer_of(response) == (404, 10062)


def test_a_deferred_answer_is_filled_in_later(
    discord: DiscordDouble, call: Caller, button: str, channel: str
) -> None:
    heard = discord.press(button, "key")
    callback = f"/interactions/{heard.interaction_id}/{heard.token}/callback"
    call("POST", callback, {"type": 5, "data": {"flags": 64}})
    thinking = discord.private(channel)[0]
    original = f"/webhooks/{discord.application_id}/{heard.token}/messages/@original"

    edited = call("PATCH", original, {"content": "here"}, Authorization=None)

    assert (thinking.flags, thinking.content) == (64 | 128, "")
    assert edited.json()["id"] == thinking.id
    assert [(one.content, one.flags) for one in discord.private(channel)] == [("here", 64)]
    assert call("DELETE", original).status_code == 204
    assert discord.private(channel) == ()


def test_a_follow_up_needs_an_answer_first_and_a_young_token(
    discord: DiscordDouble, call: Caller, button: str, channel: str, clock: FrozenClock
) -> None:
    heard = discord.press(button, "key")
    path = f"/webhooks/{discord.application_id}/{heard.token}"
    early = call("POST", path, {"content": "more"})
    callback = f"/interactions/{heard.interaction_id}/{heard.token}/callback"
    call("POST", callback, {"type": 6})
    in_time = call("POST", path, {"content": "more"})
    clock.advance(901)

    assert answer_of(early) == (404, 10015)
    assert in_time.json()["content"] == "more"
    assert answer_of(call("POST", path, {"content": "more"})) == (401, 50027)
    assert contents(discord, channel) == ["fallback used", "more"]


def test_what_one_user_sees_is_not_in_the_channel(
    discord: DiscordDouble, call: Caller, button: str, channel: str
) -> None:
    heard = discord.press(button, "key")
    call("POST", f"/interactions/{heard.interaction_id}/{heard.token}/callback", PRIVATE)
    path = f"/channels/{channel}/messages"

    listed = call("GET", path).json()

    assert [message["id"] for message in listed] == [button]
    private = discord.private(channel)[0]
    assert answer_of(call("DELETE", f"{path}/{private.id}")) == (404, 10008)


def test_a_token_opens_its_own_messages_only(
    discord: DiscordDouble, call: Caller, button: str, channel: str
) -> None:
    other = call.post(channel, "other")
    heard = discord.press(button, "key")
    call("POST", f"/interactions/{heard.interaction_id}/{heard.token}/callback", {"type": 6})
    path = f"/webhooks/{discord.application_id}/{heard.token}"
    more = call("POST", path, {"content": "more"}).json()

    assert answer_of(call("DELETE", f"{path}/messages/{other['id']}")) == (404, 10008)
    assert call("DELETE", f"{path}/messages/{more['id']}").status_code == 204
    assert call("GET", f"{path}/messages/@original").json()["id"] == button


def test_an_update_changes_the_message_of_the_button(
    discord: DiscordDouble, endpoint: Endpoint, button: str, channel: str
) -> None:
    update = {"type": 7, "data": {"content": "seen", "components": []}}

    discord.press(button, "key", url=endpoint(answering(update)).url)

    message = discord.visible(channel)[0]
    assert (message.content, message.components) == ("seen", ())


def test_a_callback_with_response_tells_what_came_of_it(
    discord: DiscordDouble, call: Caller, button: str
) -> None:
    heard = discord.press(button, "key")
    path = f"/interactions/{heard.interaction_id}/{heard.token}/callback?with_response=true"

    told = call("POST", path, PRIVATE).json()

    assert told["interaction"]["id"] == heard.interaction_id
    assert told["interaction"]["response_message_ephemeral"] is True
    assert told["resource"]["message"]["content"] == "only you"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (reply(status="401 Unauthorized"), "the endpoint answered 401"),
        (reply(b"{}", headers="Content-Type: text/html"), "the endpoint's answer is not"),
        (reply(status="202 Accepted"), "it was not answered, only 202"),
    ],
)
def test_an_endpoint_that_does_not_answer_fails_the_interaction(
    discord: DiscordDouble, endpoint: Endpoint, button: str, answer: bytes, problem: str
) -> None:
    heard = discord.press(button, "key", url=endpoint(lambda _: answer).url)

    assert heard.problem is not None
    assert heard.problem.startswith(problem)


def test_an_endpoint_may_answer_by_the_callback_route(
    discord: DiscordDouble, endpoint: Endpoint, call: Caller, button: str, channel: str
) -> None:
    def by_callback(request: Received) -> bytes:
        sent = json.loads(request.body)
        call("POST", f"/interactions/{sent['id']}/{sent['token']}/callback", PRIVATE)
        return reply(status="202 Accepted")

    heard = discord.press(button, "key", url=endpoint(by_callback).url)

    assert (heard.status, heard.problem) == (202, None)
    assert [message.content for message in discord.private(channel)] == ["only you"]


def test_nobody_presses_what_is_not_there(discord: DiscordDouble, button: str) -> None:
    with pytest.raises(LookupError, match="no button 'other'"):
        discord.press(button, "other")
    discord.remove(button)
    with pytest.raises(LookupError, match="sees no message"):
        discord.press(button, "key")


def test_in_a_direct_conversation_the_presser_is_a_user(
    discord: DiscordDouble, endpoint: Endpoint, call: Caller
) -> None:
    server = endpoint(answering(PRIVATE))
    message = call.post(discord.add_dm(), "x", components=ROWS)

    discord.press(message["id"], "key", url=server.url)

    sent = json.loads(server.received[0].body)
    assert sent["user"]["id"] == SOMEBODY.id
    assert "member" not in sent
