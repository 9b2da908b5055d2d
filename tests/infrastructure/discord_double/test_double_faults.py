"""What goes wrong on demand, and what it leaves in the channel."""

import threading

import pytest
import requests
from discord_caller import Caller, answer_of, contents

from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.fault import (
    EdgeBlock,
    Fault,
    LostResponse,
    RateLimited,
    Revoked,
    ServerError,
    SlowAnswer,
    ThreadArchived,
    When,
)
from turnkeeper.infrastructure.discord_double.faults import FAULTS
from turnkeeper.infrastructure.discord_double.places import ALL


def posted(call: Caller, channel: str, content: str = "x") -> requests.Response:
    return call("POST", f"/channels/{channel}/messages", {"content": content})


def outcome(call: Caller, path: str, method: str = "POST") -> tuple[int, int | None] | str:
    """The status and the code, or that there was no answer."""
    try:
        response = call(method, path, {"content": "x"} if method == "POST" else None)
    except requests.ConnectionError:
        return "no answer"
    is_json = response.headers.get("Content-Type") == "application/json"
    code = response.json().get("code") if is_json else None
    return response.status_code, code


# What a stream of three posts, two edits and a delete meets; by bot and by webhook.
TROUBLED: dict[str, tuple[tuple[int, int | None] | str, tuple[int, int | None] | str]] = {
    "a post is rate limited": ((429, None), (429, None)),
    "a post meets the global limit": ((429, None), (429, None)),
    "a post meets a shared limit": ((429, None), (429, None)),
    "a post meets the channel's write limit": ((429, 20028), (429, 20028)),
    "a post meets the hidden webhook limit": ((429, None), (429, None)),
    "a delete is rate limited": ((429, None), (429, None)),
    "a post fails and was not done": ((500, 0), (500, 0)),
    "a post fails and was done": ((500, 0), (500, 0)),
    "a post meets a bad gateway": ((502, None), (502, None)),
    "a post meets a bad gateway and was done": ((502, None), (502, None)),
    "all posts fail": ((503, 0), (503, 0)),
    "the answer to a post is lost": ("no answer", "no answer"),
    "a post is lost": ("no answer", "no answer"),
    "the edge blocks with a page": ((429, None), (429, None)),
    "the edge blocks with a line": ((429, None), (429, None)),
    "the edge blocks with JSON": ((429, 0), (429, 0)),
    "the edge forbids": ((403, None), (403, None)),
    "the webhook is deleted mid-stream": ((200, None), (404, 10015)),
    "the channel is deleted mid-stream": ((404, 10003), (404, 10003)),
    "the channel is hidden mid-stream": ((403, 50001), (200, None)),
    "sending is forbidden mid-stream": ((403, 50013), (200, None)),
    "managing messages is forbidden": ((200, None), (200, None)),
    "the thread is archived mid-stream": ((200, None), (200, None)),
    "the thread is locked mid-stream": ((400, 160005), (400, 160005)),
    "the token is revoked mid-stream": ((401, 50014), (200, None)),
    "deletes are refused": ((403, 50013), (403, 50013)),
    "a delete fails": ((500, 0), (500, 0)),
    "the answer to a delete is lost": ("no answer", "no answer"),
    "the answer to a post is slow": ((200, None), (200, None)),
}


def test_every_fault_is_tried() -> None:
    assert set(TROUBLED) == set(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("by_webhook", [False, True], ids=["bot", "webhook"])
def test_a_stream_into_a_thread_meets_the_fault(
    discord: DiscordDouble, call: Caller, channel: str, name: str, by_webhook: bool
) -> None:
    thread = discord.add_thread(channel)
    webhook = call.webhook(channel)
    path = f"{webhook}?wait=true&thread_id={thread}"
    path = path if by_webhook else f"/channels/{thread}/messages"
    ours = f"{webhook}/messages/{{}}?thread_id={thread}"
    ours = ours if by_webhook else f"/channels/{thread}/messages/{{}}"
    discord.break_with(FAULTS[name])

    met = [outcome(call, path) for _ in range(3)]
    left = discord.visible(thread)
    if left and all(one == (200, None) for one in met):
        gone = outcome(call, ours.format(left[0].id), "DELETE")
        met.append((200, None) if gone == (204, None) else gone)

    troubles = [one for one in met if one != (200, None)]
    expected = TROUBLED[name][by_webhook]
    if name == "the thread is archived mid-stream":
        # A post opens the thread again, so only a change of what stands there meets it.
        assert (troubles, discord.channel(thread).archived) == ([], False)
    elif expected == (200, None):
        assert troubles == []
    else:
        assert set(troubles) == {expected}


@pytest.mark.parametrize(
    ("fault", "left"),
    [
        pytest.param(ServerError(takes_effect=True), ["x"], id="500 after"),
        pytest.param(ServerError(), [], id="500 before"),
        pytest.param(LostResponse(), ["x"], id="reset after"),
        pytest.param(LostResponse(takes_effect=False), [], id="reset before"),
        pytest.param(RateLimited(), [], id="429"),
        pytest.param(EdgeBlock(), [], id="edge"),
    ],
)
def test_what_is_left_by_a_post_that_has_no_good_answer(
    discord: DiscordDouble, call: Caller, channel: str, fault: ServerError, left: list[str]
) -> None:
    discord.break_with(Fault(what=fault))

    outcome(call, f"/channels/{channel}/messages")

    assert contents(discord, channel) == left


def test_a_repeat_with_the_same_nonce_finds_what_was_done(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    discord.break_with(FAULTS["a post fails and was done"])
    body = {"content": "x", "nonce": "n1", "enforce_nonce": True}
    path = f"/channels/{channel}/messages"

    statuses = [call("POST", path, body).status_code for _ in range(2)]

    assert statuses == [500, 200]
    assert contents(discord, channel) == ["x"]


def test_a_fault_meets_the_calls_it_was_set_for(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    when = When(routes=("create_message",), nth=2, times=2)
    discord.break_with(Fault(what=ServerError(status=503), when=when))
    call("GET", f"/channels/{channel}")

    statuses = [posted(call, channel).status_code for _ in range(4)]

    assert statuses == [200, 503, 503, 200]


def test_a_fault_waits_for_so_many_posts(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    posted(call, channel)
    discord.break_with(Fault(what=ServerError(), when=When(method="DELETE", after_posts=1)))
    path = f"/channels/{channel}/messages/"

    before = call("DELETE", path + discord.visible(channel)[0].id)
    posted(call, channel)
    after = call("DELETE", path + discord.visible(channel)[0].id)

    assert (before.status_code, after.status_code) == (204, 500)


def test_a_fault_is_unmet_until_a_call_has_met_it(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    fault = Fault(what=ServerError(), when=When(nth=2))
    discord.break_with(fault)

    posted(call, channel)
    before = discord.unmet
    posted(call, channel)

    assert (before, discord.unmet) == ((fault,), ())


def test_a_mended_double_breaks_no_more(discord: DiscordDouble, call: Caller, channel: str) -> None:
    discord.break_with(FAULTS["all posts fail"])
    first = posted(call, channel)
    discord.mend()

    assert (first.status_code, posted(call, channel).status_code) == (503, 200)


def test_an_edge_block_has_nothing_of_discord_s(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    discord.break_with(FAULTS["the edge blocks with a page"])

    response = posted(call, channel)

    assert response.headers["Content-Type"] == "text/html"
    assert "Via" not in response.headers
    assert "Via" in call("GET", f"/channels/{channel}").headers
    assert not [name for name in response.headers if name.startswith("X-RateLimit")]


def test_a_shared_limit_counts_toward_no_ban(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    discord.break_with(FAULTS["a post meets a shared limit"])
    posted(call, channel)
    shared = discord.invalid_requests
    discord.break_with(FAULTS["a post is rate limited"])
    posted(call, channel)

    assert (shared, discord.invalid_requests) == (0, 1)


def test_others_are_answered_while_one_answer_is_slow(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    discord.break_with(Fault(what=SlowAnswer(after_s=60), when=When(method="POST")))
    path = f"{discord.url}/channels/{channel}/messages"
    headers = dict(call.session.headers)
    lost: list[requests.RequestException] = []

    def post() -> None:
        try:
            requests.post(path, json={"content": "slow"}, headers=headers, timeout=0.2)
        except requests.Timeout as error:
            lost.append(error)

    slow = threading.Thread(target=post)
    slow.start()
    slow.join()

    assert len(lost) == 1
    assert [message["content"] for message in call("GET", path[len(discord.url) :]).json()] == [
        "slow"
    ]


def test_archiving_meets_a_delete(discord: DiscordDouble, call: Caller, channel: str) -> None:
    thread = discord.add_thread(channel)
    message = call.post(thread, "x")
    discord.break_with(Fault(what=ThreadArchived()))

    response = call("DELETE", f"/channels/{thread}/messages/{message['id']}")

    assert answer_of(response) == (400, 50083)


def test_without_managing_messages_a_webhook_s_leftovers_stay(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    call("POST", call.webhook(channel), {"content": "left over"})
    discord.break_with(FAULTS["managing messages is forbidden"])
    message = discord.visible(channel)[0]

    response = call("DELETE", f"/channels/{channel}/messages/{message.id}")

    assert answer_of(response) == (403, 50013)
    assert contents(discord, channel) == ["left over"]


def test_an_event_waits_for_a_call_that_is_about_a_channel(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    discord.break_with(Fault(what=Revoked(permissions=ALL)))

    assert call("GET", "/users/@me").status_code == 200
    assert answer_of(posted(call, channel)) == (403, 50001)


def test_the_exchanges_tell_what_each_request_was_answered(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    discord.break_with(FAULTS["the answer to a post is lost"])
    outcome(call, f"/channels/{channel}/messages")
    call("GET", "/channels/1")

    told = [(one.route, one.status, one.code) for one in discord.exchanges]

    assert told == [("create_message", None, None), ("get_channel", 404, 10003)]


def test_no_call_is_the_zeroth() -> None:
    with pytest.raises(ValueError, match=r"When\.nth is 0"):
        When(nth=0)
