"""How often what may be called, and what is told of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
import requests
from discord_caller import Caller, answer_of, calling
from fakes import FrozenClock

from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import DEFAULT, NONE, Limits, Window

Opened = Callable[..., Caller]


@pytest.fixture
def opened(clock: FrozenClock) -> Iterator[Opened]:
    """Opens a double with limits on a clock that stands still, and calls it."""
    with ExitStack() as stack:

        def open_one(limits: Limits = DEFAULT, scale: float = 1.0) -> Caller:
            double = DiscordDouble(clock=clock, limits=limits, scale=scale)
            return stack.enter_context(calling(stack.enter_context(double)))

        yield open_one


def bucket(response: requests.Response) -> tuple[str, str, str]:
    headers = response.headers
    return (
        headers["X-RateLimit-Limit"],
        headers["X-RateLimit-Remaining"],
        headers["X-RateLimit-Reset-After"],
    )


def posted(call: Caller, channel: str) -> requests.Response:
    return call("POST", f"/channels/{channel}/messages", {"content": "x"})


def test_answers_tell_how_their_bucket_stands(opened: Opened, clock: FrozenClock) -> None:
    call = opened()
    channel = call.discord.add_channel()

    first = posted(call, channel)
    clock.advance(2)
    second = posted(call, channel)

    assert (bucket(first), bucket(second)) == (("5", "4", "5.000"), ("5", "3", "3.000"))
    assert first.headers["X-RateLimit-Reset"] == f"{clock.now().timestamp() + 3:.3f}"
    assert first.headers["X-RateLimit-Bucket"] == second.headers["X-RateLimit-Bucket"]


def test_one_call_too_many_waits_for_what_is_left_of_the_window(
    opened: Opened, clock: FrozenClock
) -> None:
    call = opened()
    channel = call.discord.add_channel()
    for _ in range(5):
        posted(call, channel)
    clock.advance(0.75)

    refused = posted(call, channel)
    clock.advance(refused.json()["retry_after"])

    assert refused.status_code == 429
    assert refused.json() == {
        "message": "You are being rate limited.",
        "retry_after": 4.25,
        "global": False,
    }
    assert (refused.headers["Retry-After"], refused.headers["X-RateLimit-Scope"]) == ("5", "user")
    assert posted(call, channel).status_code == 200


def test_a_refused_call_has_no_effect(opened: Opened) -> None:
    call = opened()
    channel = call.discord.add_channel()
    for _ in range(7):
        posted(call, channel)

    assert len(call.discord.visible(channel)) == 5


def test_each_channel_has_a_bucket_of_its_own(opened: Opened) -> None:
    call = opened()
    one, other = call.discord.add_channel(), call.discord.add_channel()
    for _ in range(6):
        posted(call, one)

    assert bucket(posted(call, other))[1] == "4"


def test_a_scale_shortens_the_windows(opened: Opened) -> None:
    call = opened(scale=0.05)

    assert bucket(posted(call, call.discord.add_channel())) == ("5", "4", "0.250")


@pytest.mark.parametrize(
    ("age_s", "expected"),
    [
        pytest.param(0.0, ("5", "4", "1.000"), id="fresh"),
        pytest.param(60.0, ("3", "2", "0.333"), id="a minute old"),
        pytest.param(15 * 86_400.0, ("30", "29", "4.000"), id="over two weeks old"),
    ],
)
def test_deletes_are_limited_by_the_age_of_the_message(
    opened: Opened, age_s: float, expected: tuple[str, str, str]
) -> None:
    call = opened()
    channel = call.discord.add_channel()
    message = call.discord.say(channel, "x", author=call.discord.bot, age_s=age_s)

    assert bucket(call("DELETE", f"/channels/{channel}/messages/{message}")) == expected


def test_deletes_of_nothing_share_the_bucket_of_the_fresh(opened: Opened) -> None:
    call = opened()
    channel = call.discord.add_channel()
    fresh = call.discord.say(channel, "x", author=call.discord.bot)
    call("DELETE", f"/channels/{channel}/messages/{fresh}")

    gone = call("DELETE", f"/channels/{channel}/messages/{fresh}")

    assert (gone.status_code, bucket(gone)[1]) == (404, "3")


def test_a_webhook_says_five_things_in_two_seconds(opened: Opened) -> None:
    call = opened()
    channel = call.discord.add_channel()
    one, other = call.webhook(channel), call.webhook(channel)

    answers = [call("POST", one, {"content": "x"}) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [204] * 5 + [429]
    assert bucket(answers[0]) == ("5", "4", "2.000")
    assert call("POST", other, {"content": "x"}).status_code == 204


def test_webhooks_meet_a_hidden_limit_of_their_channel(opened: Opened, clock: FrozenClock) -> None:
    call = opened()
    channel = call.discord.add_channel()
    one, other = call.webhook(channel), call.webhook(channel)
    for number in range(30):
        call("POST", (one, other)[number % 2], {"content": "" if number == 7 else "x"})
        clock.advance(0.5)

    refused = call("POST", one, {"content": "x"})

    assert (refused.status_code, refused.json()["retry_after"]) == (429, 45.0)
    assert int(refused.headers["X-RateLimit-Remaining"]) > 0


def test_all_calls_of_a_token_share_one_limit(opened: Opened) -> None:
    call = opened(replace(NONE, overall=Window(calls=50, per_s=1.0)))
    answers = [call("GET", "/users/@me") for _ in range(51)]

    refused = answers[-1]
    assert [answer.status_code for answer in answers[:-1]] == [200] * 50
    assert (refused.status_code, refused.json()["global"]) == (429, True)
    assert refused.headers["X-RateLimit-Global"] == "true"
    assert refused.headers["X-RateLimit-Scope"] == "global"
    assert "X-RateLimit-Bucket" not in refused.headers


def test_a_call_without_a_bucket_tells_of_none(opened: Opened) -> None:
    assert "X-RateLimit-Limit" not in opened()("GET", "/users/@me").headers


def test_too_many_refusals_ban_the_address(opened: Opened, clock: FrozenClock) -> None:
    call = opened(replace(NONE, invalid=Window(calls=3, per_s=600.0)))
    wrong = {"Authorization": "Bot wrong"}
    refused = [call("GET", "/users/@me", **wrong).status_code for _ in range(3)]

    banned = call("GET", "/users/@me")
    clock.advance(600)

    assert refused == [401] * 3
    assert (banned.status_code, banned.text) == (429, "error code: 1015")
    assert "Via" not in banned.headers
    assert call("GET", "/users/@me").status_code == 200


def test_what_is_merely_not_there_counts_toward_no_ban(opened: Opened) -> None:
    call = opened()

    assert answer_of(call("GET", "/channels/1")) == (404, 10003)
    assert call.discord.invalid_requests == 0
