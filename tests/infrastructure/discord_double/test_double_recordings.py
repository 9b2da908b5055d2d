"""The double's answers have the shape of what is recorded of the real one."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
from discord_caller import Caller
from fakes import FrozenClock
from raw_server import answering, reply

from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.fault import (
    EdgeBlock,
    Fault,
    RateLimited,
    ServerError,
)
from turnkeeper.infrastructure.discord_double.faults import FAULTS

pytestmark = pytest.mark.recording

NOT_BY_US = {"reactions"}  # of a message: nobody reacts here
Act = Callable[[DiscordDouble, Caller, str, FrozenClock], requests.Response]
ROWS = [{"type": 1, "components": [{"type": 2, "style": 1, "label": "Go", "custom_id": "go"}]}]


def case(recordings: Path, name: str) -> tuple[dict[str, Any], str]:
    """What is known of a recorded answer, and its body."""
    folder = recordings / name
    meta: dict[str, Any] = json.loads((folder / "meta.json").read_text())
    return meta, (folder / meta["response_file"]).read_text()


def payload(recordings: Path, name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(case(recordings, name)[1])
    return body


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any], at: str = "") -> list[str]:
    """Where a recorded object has a field that ours has not, or of another type."""
    found = []
    for name, value in theirs.items():
        if name not in ours:
            found.append(f"{at}{name} is missing")
        elif isinstance(value, dict) and isinstance(ours[name], dict):
            found += differences(ours[name], value, f"{at}{name}.")
        elif None not in (value, ours[name]) and type(value) is not type(ours[name]):
            found.append(f"{at}{name} is {type(ours[name]).__name__}")
    return found


def twice(path: str) -> Act:
    """Delete what was there a moment ago."""

    def act(_: DiscordDouble, call: Caller, channel: str, __: FrozenClock) -> requests.Response:
        message = call.post(channel, "x")
        own = path.format(channel=channel, message=message["id"])
        call("DELETE", own)
        return call("DELETE", own)

    return act


def post(content: str = "x") -> Act:
    return lambda _, call, channel, __: call(
        "POST", f"/channels/{channel}/messages", {"content": content}
    )


def gone(discord: DiscordDouble, call: Caller, channel: str, _: FrozenClock) -> requests.Response:
    discord.delete_channel(channel)
    return call("POST", f"/channels/{channel}/messages", {"content": "x"})


def webhook_gone(
    discord: DiscordDouble, call: Caller, channel: str, _: FrozenClock
) -> requests.Response:
    path = call.webhook(channel)
    discord.delete_webhook(discord.webhooks(channel)[0].id)
    return call("POST", path, {"content": "x"})


def wrong_token(_: DiscordDouble, call: Caller, channel: str, __: FrozenClock) -> requests.Response:
    return call("POST", f"{call.webhook(channel)}x", {"content": "x"})


def archived(
    discord: DiscordDouble, call: Caller, channel: str, _: FrozenClock
) -> requests.Response:
    thread = discord.add_thread(channel)
    message = call.post(thread, "x")
    discord.archive(thread)
    return call("DELETE", f"/channels/{thread}/messages/{message['id']}")


def without(permission: Any) -> Act:
    def act(
        discord: DiscordDouble, call: Caller, channel: str, clock: FrozenClock
    ) -> requests.Response:
        discord.revoke(channel, permission)
        return post()(discord, call, channel, clock)

    return act


def broken(fault: Fault) -> Act:
    def act(
        discord: DiscordDouble, call: Caller, channel: str, clock: FrozenClock
    ) -> requests.Response:
        discord.break_with(fault)
        return post()(discord, call, channel, clock)

    return act


def answered(times: int, after_s: float) -> Act:
    """Answer a press, so often, and so late."""

    def act(
        discord: DiscordDouble, call: Caller, channel: str, clock: FrozenClock
    ) -> requests.Response:
        heard = discord.press(call.post(channel, "x", components=ROWS)["id"], "go")
        clock.advance(after_s)
        path = f"/interactions/{heard.interaction_id}/{heard.token}/callback"
        return [call("POST", path, {"type": 6}) for _ in range(times)][-1]

    return act


def wrong_bot_token(_: DiscordDouble, call: Caller, __: str, ___: FrozenClock) -> requests.Response:
    return call("GET", "/users/@me", Authorization="Bot wrong")


SAME: dict[str, Act] = {
    "rc-40-di-404-10008": twice("/channels/{channel}/messages/{message}"),
    "rc-41-di-404-10003": gone,
    "rc-42-di-404-10015": webhook_gone,
    "rc-43-di-401-50027": wrong_token,
    "rc-44-di-403-50013": without("SEND_MESSAGES"),
    "rc-45-di-403-50001": without("VIEW_CHANNEL"),
    "rc-46-di-400-50083": archived,
    "rc-47-di-429-20028": broken(FAULTS["a post meets the channel's write limit"]),
    "rc-48-di-429-cloudflare-text": broken(Fault(what=EdgeBlock(form="text"))),
    "rc-49-di-429-cloudflare-json": broken(Fault(what=EdgeBlock(form="json"))),
    "rc-50-di-400-50035-content": post("x" * 2001),
    "rc-51-di-404-10062": answered(1, 3.5),
    "rc-52-di-400-40060": answered(2, 0.0),
    "rc-53-di-502-html": broken(Fault(what=ServerError(status=502, form="html"))),
    "rc-54-di-429-webhook-40s": broken(FAULTS["a post meets the hidden webhook limit"]),
    "di-10-error-50014": wrong_bot_token,
    "di-22-429-user": broken(Fault(what=RateLimited(retry_after_s=64.57))),
    "di-23-429-shared": broken(
        Fault(
            what=RateLimited(
                retry_after_s=1336.57,
                scope="shared",
                remaining=9,
                message="The resource is being rate limited.",
            )
        )
    ),
    "di-24-429-global": broken(
        Fault(what=RateLimited(retry_after_s=64.57, scope="global", remaining=None))
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_refusal_is_the_recorded_one(
    discord: DiscordDouble,
    call: Caller,
    channel: str,
    clock: FrozenClock,
    recordings: Path,
    name: str,
) -> None:
    meta, body = case(recordings, name)

    response = SAME[name](discord, call, channel, clock)

    assert response.status_code == meta["http"]["status"]
    is_json = body.lstrip().startswith("{")
    assert (response.json() if is_json else response.text) == (
        json.loads(body) if is_json else body
    )


@pytest.mark.parametrize("name", [name for name in SAME if "429" in name or "502" in name])
def test_a_limit_has_the_recorded_headers(
    discord: DiscordDouble,
    call: Caller,
    channel: str,
    clock: FrozenClock,
    recordings: Path,
    name: str,
) -> None:
    recorded = case(recordings, name)[0]["http"]["headers"]

    headers = SAME[name](discord, call, channel, clock).headers

    ours = {one.lower() for one in headers if one.lower().startswith("x-ratelimit")}
    theirs = {one for one in recorded if one.startswith("x-ratelimit")}
    # A reconstructed case leaves the instant out and has the span alone.
    assert ours - {"x-ratelimit-reset"} == theirs - {"x-ratelimit-reset"}
    same = ("content-type", "retry-after", "x-ratelimit-scope", "x-ratelimit-global")
    for one in (*same, "x-ratelimit-remaining"):
        assert headers.get(one) == recorded.get(one)
    if "retry_after" not in case(recordings, name)[1]:
        assert "Via" not in headers


def test_a_message_has_the_recorded_fields(call: Caller, channel: str, recordings: Path) -> None:
    recorded = payload(recordings, "di-01-message")

    ours = call.post(channel, "Supa Hot")

    assert differences(ours, {k: v for k, v in recorded.items() if k not in NOT_BY_US}) == []


def test_a_webhook_has_the_recorded_fields(call: Caller, channel: str, recordings: Path) -> None:
    ours = call("POST", f"/channels/{channel}/webhooks", {"name": "test webhook"}).json()

    assert differences(ours, payload(recordings, "di-04-webhook-incoming")) == []


def test_a_press_has_the_recorded_fields(
    discord: DiscordDouble, call: Caller, channel: str, recordings: Path
) -> None:
    message = call.post(channel, "x", components=ROWS)
    with answering(reply(b'{"type":6}', headers="Content-Type: application/json")) as server:
        discord.press(message["id"], "go", url=server.url)
    sent: dict[str, Any] = json.loads(server.received[0].body)
    recorded = payload(recordings, "di-31-button-press-full")

    shallow = {name: value for name, value in recorded.items() if not isinstance(value, dict)}

    assert differences(sent, shallow) == []
    assert (
        differences(sent["data"], payload(recordings, "di-15-button-press-partial")["data"]) == []
    )
    assert set(sent) <= set(recorded)


@pytest.mark.parametrize(
    "name",
    [
        "di-03-create-message-request",
        "di-19-message-button-v2",
        "di-20-message-button-legacy",
        "di-21-message-text-display",
    ],
)
def test_a_recorded_request_is_accepted(
    call: Caller, channel: str, recordings: Path, name: str
) -> None:
    response = call("POST", f"/channels/{channel}/messages", payload(recordings, name))

    assert response.status_code == 200, response.text


def test_mentions_that_exclude_each_other_are_refused(
    call: Caller, channel: str, recordings: Path
) -> None:
    body = {**payload(recordings, "di-12-allowed-mentions-invalid"), "content": "x"}

    assert call("POST", f"/channels/{channel}/messages", body).json()["code"] == 50035


def test_a_recorded_modal_is_shown(
    discord: DiscordDouble, call: Caller, channel: str, recordings: Path
) -> None:
    modal = payload(recordings, "di-17-modal-with-text-display")
    heard = discord.press(call.post(channel, "x", components=ROWS)["id"], "go")

    response = call("POST", f"/interactions/{heard.interaction_id}/{heard.token}/callback", modal)

    assert response.status_code == 204
