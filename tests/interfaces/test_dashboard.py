"""The pages, asked for as a WSGI server does."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlencode

import pytest
from builders import SERVER, a_model, an_attempt
from contracts.reports import booked, broken, calm, swept
from contracts.stores import Stores
from past_turns import CANARY, ended, failed, journal, ran, rescued, started
from stores_in_memory import stores_in_memory

from turnkeeper.application.ports.reports import Asked, Page
from turnkeeper.domain import events
from turnkeeper.domain.errors import SettingsError, StoreUnavailable
from turnkeeper.domain.events import Entry
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.pool_history import Window
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.reports import MemoryReports
from turnkeeper.interfaces.dashboard import render as rendering
from turnkeeper.interfaces.dashboard.app import DashboardApp
from turnkeeper.interfaces.dashboard.drawing import ticks
from turnkeeper.interfaces.dashboard.gate import Gate, check_host, is_loopback
from turnkeeper.interfaces.dashboard.pages import Pages, turn_file
from turnkeeper.interfaces.dashboard.pool_view import pool_views
from turnkeeper.interfaces.dashboard.render import length_of_time

TOKEN = "a-token-that-nobody-guesses"
EVIL = "<script>alert('&\"')</script>"


class StoreClock(SystemClock):
    """The time of day that a store has."""

    def __init__(self, stores: Stores) -> None:
        self.now = stores.now  # type: ignore[method-assign]


class Answered:
    """What came back."""

    def __init__(self, status: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = int(status[:3])
        self.headers = dict(headers)
        self.text = body.decode()

    @property
    def plain(self) -> str:
        """The text as people read it, without the tags."""
        body = self.text.partition("<main")[2]
        return " ".join(re.sub(r"<[^>]+>", " ", body).split())


class Asking:
    """Asks an app for pages."""

    def __init__(self, app: DashboardApp) -> None:
        self.app = app

    def __call__(
        self, path: str = "/", query: str = "", *, method: str = "GET", body: str = "", **more: str
    ) -> Answered:
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "HTTP_HOST": "127.0.0.1:8787",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": BytesIO(body.encode()),
            "wsgi.url_scheme": "http",
            **more,
        }
        said: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], /) -> None:
            said.append((status, headers))

        pieces = b"".join(self.app(environ, start_response))
        ((status, headers),) = said
        return Answered(status, headers, pieces)


@pytest.fixture
def stores() -> Stores:
    return stores_in_memory()


@pytest.fixture
def ask(stores: Stores) -> Asking:
    return Asking(DashboardApp(pages(stores), Gate(None)))


def pages(stores: Stores, *, most: int = 50) -> Pages:
    return Pages(stores.reports, stores.keys.saved, StoreClock(stores), most=most)


def keep(stores: Stores, *journals: tuple[Entry, ...]) -> None:
    for entries in journals:
        stores.start(entries[0].turn_id, channel_id=entries[0].turn_id)
        stores.journal.record(entries)
        stores.pass_time(1)


def links(answered: Answered) -> list[str]:
    return re.findall(r'href="([^"]+)"', answered.text)


# ── what the pages say ──────────────────────────────────────────────────────────────────────


def test_without_turns_the_pages_say_how_to_get_some(ask: Asking) -> None:
    assert "turnkeeper demo" in ask().plain
    assert "turnkeeper key add" in ask("/pool").plain
    assert "No turn was over in that time." in ask("/rates").plain


def test_the_turns_are_listed_with_how_they_went(stores: Stores, ask: Asking) -> None:
    keep(stores, calm("calm"), rescued("saved"), broken("bad"), swept("dead"))

    rows = re.findall(r"<tr>(.*?)</tr>", ask().text, re.S)[1:]
    said = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]

    noon = "2026-11-30 12:00:0"
    assert said == [
        f"dead , the whole turn {noon}3 swept 1 100 ms {SERVER}",
        f"bad , the whole turn {noon}2 error model-1 rate limit 1 2.00 s {SERVER}",
        f"saved , the whole turn {noon}1 completed rescued model-1 rate limit 2 3.30 s 12 34"
        f" {SERVER}",
        f"calm , the whole turn {noon}0 completed model-1 1 2.00 s 12 34 {SERVER}",
    ]


def test_the_list_is_filtered(stores: Stores, ask: Asking) -> None:
    keep(stores, calm("calm"), rescued("saved"), broken("bad"))

    def listed(query: str) -> list[str]:
        return [link.rpartition("/")[2] for link in links(ask("/", query)) if "/turns/" in link]

    assert listed("show=rescued") == ["saved"]
    assert listed("show=error") == ["bad"]
    assert listed("server=guild") == ["bad", "saved", "calm"]
    assert listed("server=server:other") == []
    assert listed("show=nonsense&before=nonsense") == ["bad", "saved", "calm"]
    assert "No such turn is over." in ask("/", "show=swept").plain


def test_older_turns_are_a_link_away(stores: Stores) -> None:
    keep(stores, *(calm(f"t{number}") for number in range(5)))
    ask = Asking(DashboardApp(pages(stores, most=2), Gate(None)))

    seen, query = [], "show=completed"
    for _ in range(3):
        found = links(ask("/", query))
        seen.append([link for link in found if "/turns/" in link])
        older = [link for link in found if "before=" in link]
        query = older[0].partition("?")[2].replace("&amp;", "&") if older else ""

    assert seen == [["/turns/t4", "/turns/t3"], ["/turns/t2", "/turns/t1"], ["/turns/t0"]]
    assert query == ""


def test_a_turn_is_drawn_and_explained(stores: Stores, ask: Asking) -> None:
    keep(stores, rescued("saved"))

    said = ask("/turns/saved").plain

    assert "completed rescued" in said
    assert "model-0, key A (no. 1) ✕ rate limit 429" not in said  # the sign is drawn, not written
    assert "model-0, key A (no. 1) rate limit 429 first progress after 200 ms" in said
    assert "message m1 taken back 0.60 s 2.00 s" in said
    assert "took message m1 back: its attempt failed and another goes on" in said


def test_a_turn_whose_id_has_odd_characters_is_found(stores: Stores, ask: Asking) -> None:
    odd = "bot/é ?&"
    keep(stores, calm(odd))
    (link,) = [link for link in links(ask()) if "/turns/" in link]
    found = ask(unquote_to_bytes(link).decode("latin-1"))

    assert link == "/turns/bot/%C3%A9%20%3F%26"
    assert (found.status, "bot/é ?&amp;" in found.text) == (200, True)


def test_the_pool_shows_its_keys_and_what_befell_them(stores: Stores, ask: Asking) -> None:
    first = stores.keys.saved.add(SERVER, "wall", Secret("sk-first-0123456789"))
    stores.keys.saved.add(SERVER, "wall", Secret("sk-second-9876543210"))
    keep(stores, journal((0.0, started()), (0.1, booked(first)), turn_id="t1"))
    stores.pass_time(120)

    said = ask("/pool", "minutes=15").plain

    assert "wall of server:guild 2 of 2 free" in said
    assert f"no. {first} …6789 main free" in said
    assert f"2026-11-30 12:00:00 no. {first} rate limit resting 2026-11-30 12:01:00 t1" in said
    assert "2026-11-30 12:00:00 2026-11-30 12:01:00 1" in said  # so long only one was free


def test_pools_that_need_somebody_come_first(stores: Stores, ask: Asking) -> None:
    for name in ("ann", "bob", "cid"):
        stores.keys.saved.add(Owner.user(name), "wall", Secret(f"sk-of-{name}-0123456789"))
    ids = {str(one.owner): one.key.id for one in stores.keys.saved.keys(None)}
    stores.keys.saved.enable(Owner.user("bob"), ids["user:bob"], False)

    def listed(answered: Answered) -> list[str]:
        return re.findall(r"wall of (user:\w+)", answered.plain)

    assert list(dict.fromkeys(listed(ask("/pool")))) == ["user:bob", "user:ann", "user:cid"]
    assert set(listed(ask("/pool", "owner=user:cid"))) == {"user:cid"}
    assert "user:nobody has no key." in ask("/pool", "owner=user:nobody").plain
    assert "what:not has no key." in ask("/pool", "owner=what:not").plain


def test_more_pools_than_a_page_holds_are_counted(stores: Stores) -> None:
    for number in range(3):
        stores.keys.saved.add(Owner.user(f"u{number}"), "wall", Secret(f"sk-{number}-0123456789"))
    window = Window(stores.now() - timedelta(hours=1), stores.now())

    found = pool_views(stores.keys.saved.keys(None), (), window, most=2)

    assert ([view.owner for view in found.views], found.left_out) == (["user:u0", "user:u1"], 1)


def test_the_rates_show_which_models_need_rescuing(stores: Stores, ask: Asking) -> None:
    keep(stores, calm("t1"), rescued("t2"), broken("t3"), broken("t4"))

    said = ask("/rates").plain

    assert "model-0 3 0 1 2 0 33 %" in said
    assert "model-1 1 1 0 0 0 none needed" in said
    assert "model-0 rate limit 3" in said


def test_old_trouble_is_not_of_the_last_hour(stores: Stores, ask: Asking) -> None:
    keep(stores, broken("t1"))
    stores.pass_time(7200)

    assert "Nothing failed in that time." in ask("/rates", "minutes=60").plain
    assert "rate limit" in ask("/rates", "minutes=1440").plain
    assert "rate limit" in ask("/rates", "minutes=999999").plain  # not offered, so a day


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
    query = urlencode({"show": EVIL, "server": f"{EVIL}{CANARY}", "before": EVIL})
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


class AwayReports(MemoryReports):
    """A store that is away, and says so with a key in it."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def page(self, asked: Asked) -> Page:
        raise self._error


@pytest.mark.parametrize(
    ("error", "status"), [(StoreUnavailable(f"away {CANARY}"), 503), (KeyError(CANARY), 500)]
)
def test_a_store_that_is_away_makes_a_page_too(
    stores: Stores, error: Exception, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    away = Pages(AwayReports(error), stores.keys.saved, StoreClock(stores))

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


# ── how numbers look ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 ms"),
        (0.2504, "250 ms"),
        (1.234, "1.23 s"),
        (75.04, "75.0 s"),
        (150, "2.5 min"),
        (5400, "1.5 h"),
        (259_200, "3 d"),
    ],
)
def test_a_length_of_time_is_said_in_its_own_unit(seconds: float, said: str) -> None:
    assert length_of_time(seconds) == said


@pytest.mark.parametrize(
    ("length_s", "labels"),
    [
        (2.6, ["0 s", "1 s", "2 s"]),
        (0.013, ["0.000 s", "0.005 s", "0.010 s"]),
        (100.0, ["0 s", "20 s", "40 s", "60 s", "80 s", "100 s"]),
        (1.0, ["0.0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s"]),
    ],
)
def test_ticks_are_round(length_s: float, labels: list[str]) -> None:
    assert [tick.label for tick in ticks(length_s)] == labels
