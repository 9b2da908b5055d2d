"""The client over real sockets; its waits pass on a clock that stands still otherwise."""

import json
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from discord_rest import (
    BOT_TOKEN,
    BROKEN,
    HOOK_TOKEN,
    Discord,
    client_of,
    discord,
    error,
    limited,
    message,
    ok,
    recorded_reply,
)
from fakes import FrozenClock
from raw_server import WAIT_S, Peer, reply, serving

from turnkeeper.application.ports.runner import Cancelled
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import DestinationGone, SinkError
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.discord import calls, payloads
from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.errors import (
    BadBotToken,
    DiscordError,
    Halted,
    Lost,
    Unclear,
    Unreachable,
    WaitTooLong,
)
from turnkeeper.infrastructure.discord.patience import Patience
from turnkeeper.infrastructure.discord.transport import USER_AGENT
from turnkeeper.infrastructure.discord.webhook import Webhook
from turnkeeper.infrastructure.threads import ThreadStop

HOOK = Webhook(id="70000000000000000", channel_id="7", token=Secret(HOOK_TOKEN))
POST = calls.create_message("7", payloads.once(payloads.text("hello"), "n1"))
HOOK_POST = calls.execute_webhook(HOOK, payloads.text("hello"), thread_id=None)
GET = calls.read_message("7", "1")
DELETE = calls.delete_webhook_message(HOOK, "1", thread_id="9")
EDIT = calls.edit_message("7", "1", payloads.text("hello"))

POSTING = "POST /channels/7/messages"
EXECUTING = f"POST /webhooks/{HOOK.id}/{HOOK_TOKEN}"
READING = "GET /channels/7/messages/1"
BAD_GATEWAY = reply(b"<html>", status="502 Bad Gateway")


@pytest.fixture
def double() -> Iterator[Discord]:
    with discord() as double:
        yield double


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def client(double: Discord, clock: FrozenClock) -> Iterator[DiscordClient]:
    client = client_of(double, clock=clock)
    yield client
    client.close()


# ── what is sent ────────────────────────────────────────────────────────────────────────────


def test_a_call_of_the_bot_carries_its_token_and_says_who_calls(
    double: Discord, client: DiscordClient
) -> None:
    double.on(POSTING, message("5"))

    assert client.make(POST) == {"id": "5", "channel_id": "1"}

    (asked,) = double.asked
    assert asked.body == POST.body
    assert asked.headers["Authorization"] == f"Bot {BOT_TOKEN}"
    assert asked.headers["User-Agent"] == USER_AGENT
    assert asked.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("call", [HOOK_POST, DELETE])
def test_the_bots_token_never_goes_to_a_webhooks_route(
    double: Discord, client: DiscordClient, call: Call
) -> None:
    double.on(EXECUTING, message("5"))
    double.on(f"DELETE /webhooks/{HOOK.id}/{HOOK_TOKEN}/messages/1", ok())

    client.make(call)

    assert BOT_TOKEN not in json.dumps(double.asked[0].headers)


def test_a_webhook_is_asked_to_wait_and_told_the_thread(
    double: Discord, client: DiscordClient
) -> None:
    double.on(EXECUTING, message("5"))

    client.make(calls.execute_webhook(HOOK, payloads.text("hello"), thread_id="9"))

    assert double.asked[0].query == {"wait": "true", "thread_id": "9"}


def test_a_redirect_is_not_followed(double: Discord, client: DiscordClient) -> None:
    double.on(READING, reply(status="302 Found", headers=f"Location: {double.url}/elsewhere"))

    with pytest.raises(DiscordError) as caught:
        client.make(GET)

    assert (caught.value.status, double.routes) == (302, [READING])


# ── limits ──────────────────────────────────────────────────────────────────────────────────


def test_a_limited_call_waits_as_long_as_the_body_says(
    double: Discord, client: DiscordClient, clock: FrozenClock
) -> None:
    double.on(EXECUTING, limited(0.75, headers="Retry-After: 1"), message("5"))

    client.make(HOOK_POST)

    assert (clock.waits, len(double.asked)) == ([0.75], 2)


def test_a_limit_of_the_recordings_is_waited_for_though_calls_remain(
    double: Discord, client: DiscordClient, clock: FrozenClock, recordings: Path
) -> None:
    double.on(EXECUTING, recorded_reply(recordings, "rc-54-di-429-webhook-40s"), message("5"))

    client.make(HOOK_POST)

    assert clock.waits == [pytest.approx(41.206)]


def test_a_spent_bucket_is_waited_for_before_the_next_call(
    double: Discord, client: DiscordClient, clock: FrozenClock
) -> None:
    spent = "X-RateLimit-Bucket: b\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset-After: 2.5"
    double.on(POSTING, ok({"id": "5"}, headers=spent))

    client.make(POST)
    client.make(POST)

    assert clock.waits == [2.5]


def test_a_spent_bucket_of_another_channel_is_not_waited_for(
    double: Discord, client: DiscordClient, clock: FrozenClock
) -> None:
    spent = "X-RateLimit-Bucket: b\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset-After: 2.5"
    double.on(POSTING, ok({"id": "5"}, headers=spent))
    double.on("POST /channels/8/messages", message("6"))

    client.make(POST)
    client.make(calls.create_message("8", payloads.text("hello")))

    assert clock.waits == []


def test_two_routes_of_one_bucket_share_what_is_left(
    double: Discord, client: DiscordClient, clock: FrozenClock
) -> None:
    some = "X-RateLimit-Bucket: b\nX-RateLimit-Remaining: 3\nX-RateLimit-Reset-After: 2.5"
    spent = "X-RateLimit-Bucket: b\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset-After: 2.5"
    double.on(READING, ok({"id": "1"}, headers=some))
    double.on(POSTING, ok({"id": "5"}, headers=spent))
    client.make(GET)

    client.make(POST)
    client.make(GET)

    assert clock.waits == [2.5]


def test_a_global_limit_holds_up_every_call(
    double: Discord, client: DiscordClient, clock: FrozenClock, recordings: Path
) -> None:
    double.on(POSTING, recorded_reply(recordings, "di-24-429-global"))
    double.on(READING, message("1"))

    with pytest.raises(WaitTooLong, match="all calls"):
        client.make(POST, deadline=client.within(5))
    with pytest.raises(WaitTooLong, match="all calls"):
        client.make(GET, deadline=client.within(5))

    assert (clock.waits, double.routes) == ([], [POSTING])


def test_no_more_than_fifty_calls_are_made_in_a_second(
    double: Discord, client: DiscordClient, clock: FrozenClock
) -> None:
    for channel in range(51):
        double.on(f"POST /channels/{channel}/messages", message("5"))
    for channel in range(51):
        client.make(calls.create_message(str(channel), payloads.text("hello")))

    assert clock.waits == [1.0]


def test_deletions_of_fresh_and_of_old_messages_have_limits_of_their_own(
    double: Discord, client: DiscordClient, clock: FrozenClock
) -> None:
    spent = "X-RateLimit-Remaining: 0\nX-RateLimit-Reset-After: 9"
    old, older = "1000000000000000000", "100000000000000000"
    now = clock.now()
    double.on(f"DELETE /channels/7/messages/{old}", ok(headers=spent))
    fresh = str((int((now.timestamp() - 1_420_070_400) * 1000)) << 22)
    double.on(f"DELETE /channels/7/messages/{fresh}", ok(headers=spent))
    double.on(f"DELETE /channels/7/messages/{older}", ok(headers=spent))

    client.make(calls.delete_message("7", old, now=now))
    client.make(calls.delete_message("7", fresh, now=now))
    assert clock.waits == []
    client.make(calls.delete_message("7", older, now=now))
    assert clock.waits == [9.0]


def test_a_wait_that_does_not_fit_fails_at_once_and_is_named(
    double: Discord, client: DiscordClient, clock: FrozenClock
) -> None:
    double.on(EXECUTING, limited(41.206))

    with pytest.raises(WaitTooLong, match=r"limit of POST /webhooks.* takes 41\.2 s") as caught:
        client.make(HOOK_POST, deadline=Deadline(clock.monotonic() + 10))

    assert HOOK_TOKEN not in str(caught.value)
    assert clock.waits == []


def test_a_limit_that_never_ends_is_given_up(double: Discord, client: DiscordClient) -> None:
    double.on(POSTING, limited(0.1))

    with pytest.raises(DiscordError) as caught:
        client.make(POST)

    assert (caught.value.status, len(double.asked)) == (429, 6)


@pytest.mark.parametrize("name", ["rc-48-di-429-cloudflare-text", "rc-49-di-429-cloudflare-json"])
def test_a_block_at_the_edge_stops_everything_for_a_minute(
    double: Discord, client: DiscordClient, clock: FrozenClock, recordings: Path, name: str
) -> None:
    double.on(POSTING, recorded_reply(recordings, name))
    double.on(READING, message("1"))

    with pytest.raises(Halted):
        client.make(POST)
    with pytest.raises(WaitTooLong, match="edge"):
        client.make(GET, deadline=client.within(59))
    client.make(GET, deadline=client.within(61))

    assert (clock.waits, double.routes) == ([60.0], [POSTING, READING])


def test_too_many_refusals_stop_the_calls_before_discord_does(double: Discord) -> None:
    clock = FrozenClock()
    client = client_of(double, clock=clock, most_refusals=3)
    double.on(READING, error(403, 50013))
    for _ in range(3):
        with pytest.raises(DiscordError):
            client.make(GET)

    with pytest.raises(Halted, match="ten minutes"):
        client.make(GET)
    assert len(double.asked) == 3

    clock.advance(600)
    with pytest.raises(DiscordError):
        client.make(GET)
    client.close()


def test_a_shared_limit_is_no_refusal(double: Discord, recordings: Path) -> None:
    client = client_of(double, most_refusals=1)
    double.on(POSTING, recorded_reply(recordings, "rc-47-di-429-20028"), message("5"))

    assert client.make(POST)["id"] == "5"
    client.close()


# ── failures ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("trouble", [BROKEN, BAD_GATEWAY, reply(b"{", status="200 OK")])
@pytest.mark.parametrize("call", [POST, GET, EDIT], ids=lambda call: call.verb)
def test_a_repeatable_call_is_made_again_after_an_unclear_end(
    double: Discord, client: DiscordClient, clock: FrozenClock, call: Call, trouble: bytes
) -> None:
    route = f"{call.verb} {call.path}"
    double.on(route, trouble, message("5"))

    assert client.make(call)["id"] == "5"

    assert (double.routes, clock.waits) == ([route, route], [1.0])
    assert double.asked[0].body == double.asked[1].body


@pytest.mark.parametrize("trouble", [BROKEN, BAD_GATEWAY])
def test_a_webhooks_post_is_never_made_again_after_an_unclear_end(
    double: Discord, client: DiscordClient, trouble: bytes
) -> None:
    double.on(EXECUTING, trouble, message("5"))

    with pytest.raises(Unclear):
        client.make(HOOK_POST)

    assert double.routes == [EXECUTING]


def test_a_post_without_a_nonce_is_never_made_again(double: Discord, client: DiscordClient) -> None:
    double.on(POSTING, BAD_GATEWAY, message("5"))

    with pytest.raises(Unclear):
        client.make(calls.create_message("7", payloads.text("hello")))

    assert double.routes == [POSTING]


def test_what_fails_each_time_is_given_up_after_three_more_tries(
    double: Discord, client: DiscordClient, clock: FrozenClock
) -> None:
    double.on(POSTING, BAD_GATEWAY)

    with pytest.raises(Unclear):
        client.make(POST)

    assert (len(double.asked), clock.waits) == (4, [1.0, 2.0, 4.0])


def test_even_a_webhooks_post_is_made_again_where_it_was_never_sent(clock: FrozenClock) -> None:
    client = client_of(Discord(url="http://127.0.0.1:1/api/v10"), clock=clock)

    with pytest.raises(Lost) as caught:
        client.make(HOOK_POST)

    assert type(caught.value) is Lost
    assert clock.waits == [1.0, 2.0, 4.0]
    client.close()


def test_a_reply_that_does_not_come_is_an_unclear_end(clock: FrozenClock) -> None:
    def silent(peer: Peer) -> None:
        peer.receive()
        peer.wait_for_close()

    with serving(silent) as server:
        double = Discord(url=f"http://{server.host}")
        client = client_of(double, clock=clock, read_timeout_s=0.05)
        with pytest.raises(Unclear):
            client.make(HOOK_POST)
        client.close()


def test_typing_is_tried_once(double: Discord, client: DiscordClient, clock: FrozenClock) -> None:
    double.on("POST /channels/7/typing", limited(3))

    with pytest.raises(DiscordError):
        client.make(calls.show_typing("7"))

    assert (len(double.asked), clock.waits) == (1, [])


# ── refusals ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("rc-41-di-404-10003", "10003"),
        ("rc-44-di-403-50013", "50013"),
        ("rc-45-di-403-50001", "50001"),
    ],
)
def test_a_post_where_nobody_can_be_reached_says_so(
    double: Discord, client: DiscordClient, recordings: Path, name: str, code: str
) -> None:
    double.on(POSTING, recorded_reply(recordings, name))

    with pytest.raises(DestinationGone) as caught:
        client.make(POST)

    assert caught.value.code == code
    assert isinstance(caught.value, Unreachable)


def test_a_missing_permission_to_delete_says_nothing_of_the_channel(
    double: Discord, client: DiscordClient, recordings: Path
) -> None:
    double.on("DELETE /channels/7/messages/1", recorded_reply(recordings, "rc-44-di-403-50013"))

    with pytest.raises(DiscordError) as caught:
        client.make(calls.delete_message("7", "1", now=SystemClock().now()))

    assert caught.value.code == "50013"
    assert not isinstance(caught.value, DestinationGone)


def test_a_refusal_tells_which_fields_are_wrong(
    double: Discord, client: DiscordClient, recordings: Path
) -> None:
    double.on(POSTING, recorded_reply(recordings, "rc-50-di-400-50035-content"))

    with pytest.raises(DiscordError, match="content: BASE_TYPE_MAX_LENGTH") as caught:
        client.make(POST)

    assert caught.value.fields == (("content", "BASE_TYPE_MAX_LENGTH"),)


def test_a_wrong_token_is_said_and_not_tried_again(double: Discord, client: DiscordClient) -> None:
    double.on(READING, error(401, 0, "401: Unauthorized"))

    for _ in range(2):
        with pytest.raises(BadBotToken):
            client.make(GET)

    assert len(double.asked) == 1


def test_a_wrong_token_is_known_to_all_who_use_the_client(
    double: Discord, client: DiscordClient
) -> None:
    double.on(READING, error(401, 0, "401: Unauthorized"))

    for one in (client.telling(lambda _what, _done: None), client):
        with pytest.raises(BadBotToken):
            one.make(GET)

    assert len(double.asked) == 1


def test_what_it_gets_over_is_told_with_what_was_done(
    double: Discord, client: DiscordClient
) -> None:
    double.on(POSTING, limited(0.5), BAD_GATEWAY, message("5"))
    told: list[tuple[str, str]] = []

    client.telling(lambda what, done: told.append((what, done))).make(POST)

    refused, failed = told
    assert refused[0].endswith("(429/0)")
    assert refused[1] == "waits as long as it says, then asks again"
    assert failed == (
        "Discord gave POST /channels/{channel}/messages a 502 of no use",
        "waited 1 s, then asked again",
    )


def test_a_webhooks_wrong_token_is_not_the_bots(
    double: Discord, client: DiscordClient, recordings: Path
) -> None:
    double.on(EXECUTING, recorded_reply(recordings, "rc-43-di-401-50027"))

    with pytest.raises(DiscordError) as caught:
        client.make(HOOK_POST)

    assert (type(caught.value), caught.value.code) == (DiscordError, "50027")


# ── order and stops ─────────────────────────────────────────────────────────────────────────


def test_calls_of_one_bucket_are_made_one_by_one_in_the_order_in_which_they_came() -> None:
    begun, go_on = Event(), Event()
    bodies: list[Any] = []

    def slow(peer: Peer) -> None:
        while received := peer.receive():
            bodies.append(json.loads(received.body)["content"])
            begun.set()
            assert go_on.wait(WAIT_S)
            peer.send(message("5"))

    with serving(slow) as server:
        client = client_of(Discord(url=f"http://{server.host}"), clock=SystemClock())
        limits = client._limits
        threads = []
        for number in range(5):
            call = calls.create_message("7", payloads.text(str(number)))
            threads.append(Thread(target=client.make, args=(call,)))
            threads[-1].start()
            while sum(len(lane.tickets) for lane in limits._lanes.values()) <= number:
                Event().wait(0.001)
        assert begun.wait(WAIT_S)
        at_first = list(bodies)
        go_on.set()
        for thread in threads:
            thread.join(WAIT_S)
        client.close()

    assert (at_first, bodies) == (["0"], ["0", "1", "2", "3", "4"])


def test_a_stop_ends_a_wait(double: Discord) -> None:
    client, stop = client_of(double, clock=SystemClock()), ThreadStop()
    double.on(POSTING, limited(3600))
    stopper = Thread(target=_stop_once_asked, args=(double, stop))
    stopper.start()

    with pytest.raises(Cancelled):
        client.make(POST, stop=stop)

    stopper.join(WAIT_S)
    client.close()


def _stop_once_asked(double: Discord, stop: ThreadStop) -> None:
    while not double.asked:
        Event().wait(0.001)
    stop.set()


def test_a_stop_ends_a_call_that_hangs() -> None:
    stop = ThreadStop()

    def silent(peer: Peer) -> None:
        peer.receive()
        stop.set()
        peer.wait_for_close()

    with serving(silent) as server:
        client = client_of(Discord(url=f"http://{server.host}"), clock=SystemClock())
        with pytest.raises(Cancelled):
            client.make(POST, stop=stop)
        client.close()


def test_whoever_is_stopped_in_the_queue_leaves_it(double: Discord) -> None:
    client, stop = client_of(double, clock=SystemClock()), ThreadStop()
    double.on(POSTING, message("5"))
    stop.set()

    with client._limits.turn(POST, _patience(client)), pytest.raises(Cancelled):
        client.make(POST, stop=stop)

    assert client.make(POST)["id"] == "5"
    client.close()


def _patience(client: DiscordClient) -> Patience:
    return Patience(SystemClock(), deadline=client.within(WAIT_S), stop=None)


# ── secrets ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "trouble",
    [
        BROKEN,
        BAD_GATEWAY,
        error(403, 50013, f"not with Bot {BOT_TOKEN} at /webhooks/{HOOK.id}/{HOOK_TOKEN}"),
        error(404, 10015, f"no https://discord.com/api/webhooks/{HOOK.id}/{HOOK_TOKEN}"),
        reply(b"error code: 1015", status="429 Too Many Requests"),
        limited(9999),
    ],
)
@pytest.mark.parametrize("call", [POST, HOOK_POST], ids=["bot", "webhook"])
def test_no_error_and_no_log_holds_a_token(
    double: Discord,
    client: DiscordClient,
    caplog: pytest.LogCaptureFixture,
    call: Call,
    trouble: bytes,
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="urllib3")  # which a turnkeeper quiets for its process
    double.on(POSTING, trouble)
    double.on(EXECUTING, trouble)

    with pytest.raises(SinkError) as caught:
        client.make(call, deadline=client.within(60))

    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    told += repr(caught.value.__dict__) + repr(call) + repr(HOOK)
    assert "canary" not in told
    assert trouble == BROKEN or "urllib3" in caplog.text
