"""What the pages let through, and to whom."""

import re
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from builders import SERVER, a_model, an_attempt
from contracts.reports import calm
from contracts.stores import Stores
from dashboards import Asking, pages, sources
from kept_turns import keep
from past_turns import CANARY, ended, failed, journal, ran, rescued, started
from stores_in_memory import stores_in_memory

from turnkeeper.application.list_turns import ListTurns
from turnkeeper.application.ports.turn_history import PastTurn, TurnCursor, TurnHistory, TurnQuery
from turnkeeper.domain import events
from turnkeeper.domain.errors import SettingsError, StoreUnavailable
from turnkeeper.domain.events import Entry
from turnkeeper.domain.secret import Secret
from turnkeeper.interfaces.dashboard import render as rendering
from turnkeeper.interfaces.dashboard.app import DashboardApp
from turnkeeper.interfaces.dashboard.gate import Gate, check_host, is_loopback
from turnkeeper.interfaces.dashboard.pages import Pages, turn_file

TOKEN = "a-token-that-nobody-guesses"
EVIL = "<script>alert('&\"')</script>"


@pytest.fixture
def stores() -> Stores:
    return stores_in_memory()


@pytest.fixture
def ask(stores: Stores) -> Asking:
    return Asking(DashboardApp(pages(stores), Gate(None)))


# ── nothing gets through ────────────────────────────────────────────────────────────────────


def poisoned() -> tuple[Entry, ...]:
    """A turn in which each text that others may choose is a script and a key."""
    text = f"{EVIL} {CANARY}"
    attempts = tuple(replace(an_attempt(n, model=a_model(text))) for n in range(2))
    return journal(
        (0.0, replace(started(), attempts=attempts)),
        (0.1, ran(0, 0)),
        (0.2, events.MessagePosted(invocation_no=0, message_id=text, origin=text, chars=1)),
        (0.3, events.ToolRan(invocation_no=0, name=text, nth=0, state="done")),
        (0.4, events.Waited(attempt_no=0, for_s=0.1, why=text)),
        (0.5, events.NoKeyLeft(attempt_no=0, next_in_s=None, cause=text)),
        (0.6, events.AttemptUnpreparable(attempt_no=1, cause=text)),
        (0.7, failed(0, 0)),
        (0.8, events.MessageStuck(message_id=text, cause=text)),
        (0.9, events.EffectFailed(effect=text, cause=text)),
        (1.0, replace(ended(), success_model=text)),
        turn_id=f"turn {EVIL} {CANARY}",
    )


def test_no_script_and_no_key_comes_through(stores: Stores, ask: Asking) -> None:
    entries = poisoned()
    stores.keys.saved.add(SERVER, EVIL, Secret("sk-first-0123456789"))
    keep(stores, entries)
    query = urlencode(
        {"show": EVIL, "server": f"{EVIL}{CANARY}", "user": f"{EVIL}{CANARY}", "before": EVIL}
    )
    everything = [
        ask(),
        ask("/", query),
        ask(f"/turns/{entries[0].turn_id}"),
        ask(f"/turns/{EVIL}{CANARY}"),
        ask("/pool", query),
        ask("/pool", urlencode({"owner": f"{EVIL}{CANARY}"})),
        ask("/rates", query),
        ask(f"/{EVIL}"),
    ]

    assert [one.status for one in everything] == [200, 200, 200, 404, 200, 200, 200, 404]
    for text in (*(one.text for one in everything), turn_file(entries)):
        assert CANARY not in text
        assert "<script" not in text
        assert "&lt;script" in text or "There is no page" in text


def test_templates_use_nothing_that_goes_around_the_redaction() -> None:
    folder = Path(rendering.__file__).parent / "templates"
    for template in folder.glob("*.html"):
        text = template.read_text()
        assert (
            re.findall(r"\|\s*(?:safe|e|escape|forceescape|join|xmlattr|tojson|urlencode)\b", text)
            == []
        )
        assert re.findall(r"autoescape|\son\w+=|\sstyle=|javascript:|https?://", text) == []


def test_each_page_forbids_what_it_does_not_need(ask: Asking) -> None:
    headers = ask().headers

    assert headers["Content-Security-Policy"] == (
        f"default-src 'none'; style-src {rendering.style_source()}; form-action 'self';"
        " frame-ancestors 'none'; base-uri 'none'"
    )
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"


def test_the_file_of_a_turn_stands_by_itself() -> None:
    text = unescape(turn_file(rescued()))

    assert f"style-src {rendering.style_source()}; base-uri 'none'" in text
    assert re.findall(r'(?:src|href)="(?!#)', text) == []
    assert "took message m1 back" in text


# ── what is refused ─────────────────────────────────────────────────────────────────────────


def test_what_is_not_there_is_not_found(ask: Asking) -> None:
    assert (ask("/turns/nobody").status, ask("/nothing").status) == (404, 404)
    assert "there is no turn &#39;nobody&#39;" in ask("/turns/nobody").text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(ask: Asking, method: str) -> None:
    answered = ask("/", method=method)

    assert (answered.status, answered.headers["Allow"]) == (405, "GET, HEAD")


def test_a_head_has_no_body(ask: Asking) -> None:
    answered = ask("/", method="HEAD")

    assert (answered.status, answered.text) == (200, "")
    assert int(answered.headers["Content-Length"]) > 0


def test_too_many_fields_are_not_read(ask: Asking) -> None:
    assert ask("/", "&".join(f"a{n}=1" for n in range(99))).status == 400


class AwayHistory(TurnHistory):
    """A store that is away, and says so with a key in it."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def page(
        self, query: TurnQuery, *, before: TurnCursor | None, limit: int
    ) -> tuple[PastTurn, ...]:
        raise self._error


@pytest.mark.parametrize(
    ("error", "status"), [(StoreUnavailable(f"away {CANARY}"), 503), (KeyError(CANARY), 500)]
)
def test_a_store_that_is_away_makes_a_page_too(
    stores: Stores, error: Exception, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    turns = ListTurns(history=AwayHistory(error), editor=stores.editor)
    away = Pages(replace(sources(stores), turns=turns))

    answered = Asking(DashboardApp(away, Gate(None)))()

    assert answered.status == status
    assert CANARY not in answered.text + caplog.text
    assert "Traceback" not in answered.text + caplog.text


# ── who may see them ────────────────────────────────────────────────────────────────────────


@pytest.fixture
def guarded(stores: Stores) -> Asking:
    keep(stores, calm("secret-turn"))
    return Asking(DashboardApp(pages(stores), Gate(TOKEN)))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"HTTP_AUTHORIZATION": "Bearer wrong"},
        {"HTTP_AUTHORIZATION": f"Basic {TOKEN}"},
        {"HTTP_AUTHORIZATION": "Bearer é\udcff"},
        {"HTTP_COOKIE": f"turnkeeper_dashboard={TOKEN}"},
        {"HTTP_COOKIE": "turnkeeper_dashboard="},
        {"HTTP_COOKIE": '";;=\x00'},
    ],
)
def test_who_does_not_know_the_token_is_asked_for_it(
    guarded: Asking, given: Mapping[str, str]
) -> None:
    answered = guarded("/", **given)

    assert answered.status == 401
    assert answered.headers["WWW-Authenticate"] == 'Bearer realm="turnkeeper"'
    assert "secret-turn" not in answered.text
    assert 'type="password"' in answered.text


def test_a_program_sends_the_token_with_each_request(guarded: Asking) -> None:
    answered = guarded("/", HTTP_AUTHORIZATION=f"Bearer {TOKEN}", HTTP_HOST="ops.example")

    assert (answered.status, "secret-turn" in answered.text) == (200, True)


def test_a_browser_is_let_in_once_and_keeps_a_pass(guarded: Asking) -> None:
    form = urlencode({"token": TOKEN})
    signed_in = guarded("/sign-in", method="POST", body=form, SCRIPT_NAME="/ops")
    cookie = signed_in.headers["Set-Cookie"]

    assert (signed_in.status, signed_in.headers["Location"]) == (303, "/ops/")
    assert cookie.endswith("; Path=/ops; HttpOnly; SameSite=Strict")
    assert TOKEN not in cookie
    assert guarded("/", HTTP_COOKIE=f"other=1; {cookie.partition(';')[0]}").status == 200


def test_over_tls_the_pass_stays_there(guarded: Asking) -> None:
    form = urlencode({"token": TOKEN})
    more = {"wsgi.url_scheme": "https"}

    assert (
        guarded("/sign-in", method="POST", body=form, **more)
        .headers["Set-Cookie"]
        .endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")
    )


def test_a_wrong_token_is_said_to_be_wrong(guarded: Asking) -> None:
    answered = guarded("/sign-in", method="POST", body="token=guess")

    assert (answered.status, "Set-Cookie" in answered.headers) == (403, False)
    assert "That is not the token." in answered.text


def test_a_pass_is_worth_nothing_under_another_token(guarded: Asking, stores: Stores) -> None:
    cookie = Gate("another-token-of-old").cookie(secure=False, path="")

    assert guarded("/", HTTP_COOKIE=cookie.partition(";")[0]).status == 401


@pytest.mark.parametrize(
    ("path", "query"), [("/turns/a\0b", ""), ("/", "server=%00"), ("/pool", "x=a%00")]
)
def test_what_no_store_could_hold_is_not_looked_for(ask: Asking, path: str, query: str) -> None:
    answered = ask(path, query)

    assert answered.status == 400
    assert "There is a NUL in what was asked for." in answered.text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8787", 200),
        ("localhost:8787", 200),
        ("localhost", 200),
        ("[::1]:8787", 200),
        ("evil.example:8787", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
    ],
)
def test_without_a_token_no_other_name_leads_here(ask: Asking, host: str, status: int) -> None:
    assert ask("/", HTTP_HOST=host).status == status


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "ops.example", ""])
def test_others_are_not_served_without_a_token(host: str) -> None:
    with pytest.raises(SettingsError, match="TURNKEEPER_DASHBOARD_TOKEN"):
        check_host(host, None)
    check_host(host, TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LocalHost"])
def test_this_machine_is_served_without_one(host: str) -> None:
    check_host(host, None)
    assert is_loopback(host)
