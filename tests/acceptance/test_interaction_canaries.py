"""No token of an interaction leaves: whoever has one can speak as the bot for a while."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import time
from typing import Any

import pytest
from canaries import MASTER_SECRETS, Overheard, leaks, leaks_in, overhearing, told_by
from discord_caller import calling
from discord_rest import BOT_TOKEN
from signed import Signer, a_press, served
from sqlalchemy import Engine

from turnkeeper.domain.press import DETAILS_BUTTON, Press, Reply, StopButton
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.discord.transport import Transport
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.interfaces.cli.interactions import app_of
from turnkeeper.interfaces.container import built, shut_down
from turnkeeper.interfaces.interactions.answer import answer_interaction
from turnkeeper.interfaces.interactions.app import InteractionsApp
from turnkeeper.interfaces.interactions.payload import NotAnswered
from turnkeeper.interfaces.interactions.server import InteractionsServer
from turnkeeper.interfaces.interactions.signature import SignatureCheck
from turnkeeper.interfaces.settings import Settings

DISCORD = Signer()
PLANTED = "kanarieODQ2NDYyNjM5MTM0NjA1MzEy"
TOKEN = f"aW50ZXJhY3Rpb246{PLANTED}"
"""In Discord's form, as far as one shows itself."""
CANARY = {"an interaction's token": PLANTED}
PATH = f"/interactions/846462639134605312/{TOKEN}/callback"
DEAD = "postgresql://ann:pw@127.0.0.1:1/bot"
TIMEOUT_S = 20.0


@pytest.fixture
def overheard() -> Iterator[Overheard]:
    with overhearing() as heard:
        yield heard


def a_payload(**more: Any) -> dict[str, Any]:
    return {**a_press(), "token": TOKEN, **more}


PAYLOADS = {
    "a press": a_payload(),
    "a press of stop": {
        **a_press(StopButton(turn_id="0a1b").button),
        "token": TOKEN,
    },
    "an unknown button": {**a_press("another"), "token": TOKEN},
    "a modal": {**a_press(kind=5), "token": TOKEN},
    "another kind": a_payload(type=2),
    "a type of another type": a_payload(type=TOKEN),
    "a token as the button": a_payload(data={"custom_id": TOKEN}),
    "a token as the user": a_payload(member={"user": {"id": TOKEN}}),
    "a token as the language": a_payload(locale=TOKEN),
    "a token as the message": a_payload(message={"id": TOKEN}),
    "no object": [TOKEN],
}


@contextmanager
def served_from(url: str, folder: Path) -> Iterator[int]:
    """The endpoint as the command serves it, on a socket."""
    settings = Settings(database_url=url, data_dir=folder, master_secrets=MASTER_SECRETS)
    container, runner = built(settings, {}), ThreadRunner()
    app = app_of(container, public_key=DISCORD.public_key, with_modal=True)
    server = InteractionsServer(app, host="127.0.0.1", port=0)
    work = runner.start(lambda stop: server.run(), "interactions")
    try:
        yield int(server.url.rpartition(":")[2])
    finally:
        server.close()
        work.result(TIMEOUT_S)
        runner.close()
        shut_down(container)


def sent(port: int, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)) as connection:
        connection.request("POST", PATH, body, headers)
        response = connection.getresponse()
        return response.status, f"{response.headers}{response.read().decode()}"


def all_sent(port: int) -> list[tuple[int, str]]:
    """What is answered to all payloads, and to some that are broken on their way."""
    bodies = [json.dumps(payload).encode() for payload in PAYLOADS.values()]
    now_s = int(time())
    answers = [sent(port, body, DISCORD.headers(body, at_s=now_s)) for body in bodies]
    cut = bodies[0][: bodies[0].index(b"}")]
    broken: tuple[tuple[bytes, dict[str, str]], ...] = (
        (cut, DISCORD.headers(cut, at_s=now_s)),
        (bodies[0], DISCORD.headers(bodies[0], at_s=now_s)),
        (bodies[0], Signer().headers(bodies[0], at_s=now_s)),
        (bodies[0], {**DISCORD.headers(bodies[0], at_s=now_s), "X-Signature-Timestamp": TOKEN}),
        (bodies[0], {}),
    )
    return answers + [sent(port, body, headers) for body, headers in broken]


# ── the endpoint ────────────────────────────────────────────────────────────────────────────


@pytest.mark.postgres
def test_no_token_leaves_the_endpoint(
    database: Engine, overheard: Overheard, tmp_path: Path
) -> None:
    url = database.url.render_as_string(hide_password=False)
    with served_from(url, tmp_path) as port:
        answers = all_sent(port)

    statuses = [status for status, _ in answers]
    assert statuses[:4] == [200] * 4
    assert statuses[-5:] == [400, 401, 401, 401, 401]
    assert leaks([*(said for _, said in answers), *overheard.lines], CANARY) == set()
    assert leaks_in(database, CANARY) == set()
    assert overheard.lines, "nothing was overheard"


def test_no_token_leaves_it_while_the_store_is_away(overheard: Overheard, tmp_path: Path) -> None:
    with served_from(DEAD, tmp_path) as port:
        answers = all_sent(port)

    assert [status for status, _ in answers[:4]] == [200] * 4
    assert any("cannot be reached" in line for line in overheard.lines)
    assert leaks([*(said for _, said in answers), *overheard.lines], CANARY) == set()


@pytest.mark.parametrize("form", ["{}", "{!r}"])
def test_an_answerer_that_fails_and_tells_it_all_is_not_repeated(
    overheard: Overheard, form: str
) -> None:
    payload = a_payload(data={"custom_id": TOKEN})

    def fails(press: Press) -> Reply:
        raise RuntimeError(form.format(payload if form == "{!r}" else json.dumps(payload)))

    check = SignatureCheck(DISCORD.public_key, clock=SystemClock())
    body = json.dumps(payload).encode()
    app = InteractionsApp(check=check, answer=fails)
    answered = served(app, body, DISCORD.headers(body, at_s=int(time())))

    assert answered.status == 500
    assert any("a press was not answered: RuntimeError" in line for line in overheard.lines)
    assert leaks([answered.body.decode(), *overheard.lines], CANARY) == set()


# ── a gateway, whose host hands over what it got and answers by itself ──────────────────────


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_no_exception_and_no_press_holds_it(payload: Any) -> None:
    told: list[str] = []

    def answer(press: Press) -> Reply:
        told.append(repr(press) if press.button != TOKEN else "")
        raise NotAnswered("seen")

    with pytest.raises(NotAnswered) as refused:
        answer_interaction(payload, answer)

    assert leaks([*told, *told_by(refused.value)], CANARY) == set()


def test_no_log_holds_it_where_the_host_calls_discord(overheard: Overheard) -> None:
    row = [{"type": 1, "components": [
        {"type": 2, "style": 2, "label": "Details", "custom_id": DETAILS_BUTTON},
    ]}]  # fmt: skip
    with DiscordDouble() as discord, calling(discord) as call:
        Transport(Secret(BOT_TOKEN), base_url=discord.url).close()
        message = call.post(discord.add_channel(), "another model answered", components=row)
        heard = discord.press(message["id"], DETAILS_BUTTON)
        callback = f"/interactions/{heard.interaction_id}/{heard.token}/callback"
        follow_up = f"/webhooks/{discord.application_id}/{heard.token}"
        whisper = {"type": 4, "data": {"content": "only you", "flags": 64}}
        answers = (
            call("POST", callback, whisper),
            call("POST", callback, whisper),
            call("POST", follow_up, {"content": "more"}),
            call("GET", f"{follow_up}/messages/@original"),
        )

    assert heard.token
    assert [one.ok for one in answers] == [True, False, True, True]
    assert any("/callback" in line for line in overheard.lines)
    assert leaks(overheard.lines, {"its token": heard.token}) == set()
