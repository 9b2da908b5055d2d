"""A rescued turn in a real browser: for eyes, for a keyboard, and by a screen reader's rules."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from browser import Browser, a_browser, browser_path
from sqlalchemy import Engine
from stores_in_postgres import one_database, pass_time

from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.price import Price
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.postgres.pipeline import Statement, run
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import CutAfter, Refuse, Stall
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.container import Container, built, shut_down
from turnkeeper.interfaces.dashboard.pages import turn_file
from turnkeeper.interfaces.dashboard.served import dashboard_server, sources_of
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(300)]

REQUIRED = "TURNKEEPER_REQUIRE_BROWSER"
MISSING = (
    "no browser was found to test the dashboard in: install chromium, or let TURNKEEPER_BROWSER"
    " name one"
)
SERVER = Owner.server("lighthouse")
FIRST, SECOND, SPARE = "sk-first-0123456789", "sk-second-9876543210", "sk-spare-5555555555"
TOKEN = "a-token-that-nobody-guesses"
SCHEMES = ("light", "dark")
TAB, ENTER = 9, 13
SERIOUS = {"serious", "critical"}
CUT = Answer(text="She counts to ten with one hand on the rail. " * 8, gap_s=0.02)
WHOLE = Answer(text="She lights the spare, and the ships see one beam after the other.", gap_s=0.05)


@dataclass(frozen=True, slots=True)
class Site:
    """Where the pages are, and a rescued turn on them."""

    url: str
    container: Container
    turn_id: str
    runner: ThreadRunner

    def pages(self) -> dict[str, str]:
        return {
            "turns": f"{self.url}/",
            "waterfall": f"{self.url}/turns/{self.turn_id}",
            "pool": f"{self.url}/pool?minutes=15",
            "rates": f"{self.url}/rates?minutes=60",
            "nothing": f"{self.url}/nothing",
        }


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = browser_path()
    if path is None and os.environ.get(REQUIRED) == "1":
        pytest.fail(MISSING)
    if path is None:
        pytest.skip(MISSING)
    with a_browser(path, tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pictures go: TURNKEEPER_SCREENSHOTS, or a folder of the tests."""
    named = os.environ.get("TURNKEEPER_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def site(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("data")
    with one_database(postgres_url) as engine, Wall() as wall:
        url = engine.url.render_as_string(hide_password=False)
        settings = Settings(
            database_url=url,
            data_dir=folder,
            base_urls={"openai": wall.base_url, "openrouter": wall.base_url},
            live_limits=False,
            hold_chars=0,
        )
        turn_id = a_rescued_turn(settings, wall)
        age(engine)
        container, runner = built(settings, {}), ThreadRunner()
        with served(container, runner, token=None) as address:
            yield Site(address, container, turn_id, runner)
        runner.close()
        shut_down(container)


@contextmanager
def served(container: Container, runner: ThreadRunner, *, token: str | None) -> Iterator[str]:
    server = dashboard_server(sources_of(container), token=token)
    work = runner.start(lambda stop: server.run(), "dashboard")
    yield server.url
    server.close()
    work.result(20.0)


def a_rescued_turn(settings: Settings, wall: Wall) -> str:
    """Its first key is limited, its second is cut off, and its fallback takes its time."""
    wall.script(Refuse(status=429, headers=(("Retry-After", "420"),)), key=FIRST)
    wall.script(CutAfter(tokens=40, then="reset", of=CUT), key=SECOND)
    wall.script(Stall(for_s=1.2, of=WHOLE), key=SPARE)
    with Turnkeeper.open(settings) as keeper:
        configure = keeper.configure
        large = configure.register_model("openai:beacon-large")
        small = configure.register_model("openrouter:lantern-small")
        for key in (FIRST, SECOND):
            configure.add_key(SERVER, "openai", key)
        configure.add_key(SERVER, "openrouter", SPARE)
        configure.use_model(SERVER.id, large.id)
        configure.set_fallbacks(SERVER.id, (small.id,))
        configure.set_price(small.id, Price(input=Decimal("0.15"), output=Decimal("0.60")))
        request = TurnRequest(
            conversation=Conversation.of("And then?"), server_id=SERVER.id, user_id="ada"
        )
        result = keeper.run(request, MemorySink(edit_interval_s=0.2))
    assert result.success_model is not None
    assert result.success_model.name == "lantern-small"
    return result.turn_id


def age(engine: Engine) -> None:
    """Let five minutes pass, in which the first key rests, and the keys be older than the turn."""
    pass_time(engine, 300)
    run(engine, Statement("UPDATE provider_keys SET created_at = now() - interval '13 minutes'"))


def serious(browser: Browser) -> list[str]:
    return [
        f"{one['id']} ({one['impact']}): {one['where']}"
        for one in browser.violations()
        if one["impact"] in SERIOUS
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["turns", "waterfall", "pool", "rates", "nothing"])
def test_a_page_is_for_everybody(browser: Browser, site: Site, name: str, scheme: str) -> None:
    address = site.pages()[name]
    browser.looks(scheme=scheme).go(address)

    assert serious(browser) == []
    assert browser.eval("document.scripts.length") == 0
    assert {url for url in browser.requests if not url.startswith(site.url)} == set()
    own = [said for said in browser.complaints if "404" not in said]  # the missing page, the icon
    assert own == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["turns", "waterfall", "pool", "rates"])
def test_a_picture_is_taken_of_a_page(
    browser: Browser, site: Site, screenshots: Path, name: str, scheme: str
) -> None:
    browser.looks(scheme=scheme).go(site.pages()[name])

    picture = browser.screenshot(screenshots / f"{name}-{scheme}.png")

    assert picture.read_bytes().startswith(b"\x89PNG")


def test_dark_is_dark_and_light_is_light(browser: Browser, site: Site) -> None:
    seen = {}
    for scheme in SCHEMES:
        browser.looks(scheme=scheme).go(site.url)
        seen[scheme] = browser.eval("getComputedStyle(document.body).backgroundColor")

    assert seen == {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 21, 27)"}


def test_the_waterfall_draws_what_its_table_says(browser: Browser, site: Site) -> None:
    browser.looks(scheme="light").go(site.pages()["waterfall"])

    labels = browser.eval(
        "[...document.querySelectorAll('.fall tbody tr')].map(row =>"
        " [row.className, row.cells[0].innerText, row.cells[1].innerText.split('\\n')[0].trim()])"
    )
    widths = browser.eval(
        "[...document.querySelectorAll('.fall tbody .bar')]"
        ".map(drawn => drawn.getBoundingClientRect().width > 1)"
    )
    silences = browser.eval("document.querySelectorAll('.fall .invocation.good rect[fill]').length")

    assert [row[:2] for row in labels] == [
        ["invocation bad", "beacon-large, key A (no. 1)"],
        ["invocation bad", "beacon-large, key B (no. 2)"],
        ["delivery undone", "message m1"],
        ["note bad", "beacon-large"],
        ["invocation good", "lantern-small, key C (no. 3)"],
        ["delivery good", "message m2"],
        ["note neutral", "notice"],
        ["end good", "end"],
    ]
    assert [labels[at][2] for at in (0, 2, 4)] == ["rate limit 429", "taken back", "answered"]
    assert len(widths) == len(labels) - 1  # the end is a line
    assert all(widths)
    assert silences == 1


def test_the_keyboard_is_enough(browser: Browser, site: Site) -> None:
    browser.looks(scheme="light").go(site.url)

    browser.press("Tab", TAB)
    skip = browser.eval("document.activeElement.className")
    focused = "getComputedStyle(document.activeElement)"
    ring = browser.eval(f"{focused}.outlineStyle + ' ' + {focused}.outlineWidth")
    for _ in range(20):
        browser.press("Tab", TAB)
        if browser.eval("document.activeElement.pathname ?? ''").startswith("/turns/"):
            break

    assert (skip, ring) == ("skip", "solid 3px")
    assert browser.eval("document.activeElement.pathname") == f"/turns/{site.turn_id}"


@pytest.mark.parametrize("name", ["turns", "waterfall", "pool", "rates"])
def test_a_telephone_shows_a_page_without_scrolling_it_sideways(
    browser: Browser, site: Site, name: str
) -> None:
    browser.looks(scheme="light", width=390, height=844).go(site.pages()[name])

    assert browser.eval("document.documentElement.scrollWidth") <= 390


def test_whoever_has_the_token_signs_in(browser: Browser, site: Site) -> None:
    with served(site.container, site.runner, token=TOKEN) as url:
        browser.looks(scheme="light").go(url)
        asked = browser.eval("document.querySelector('h1').innerText")
        wrong = serious(browser)
        browser.eval("document.querySelector('#token').focus()")
        browser.type(TOKEN)
        browser.submit("form")

        assert (asked, wrong) == ("Sign in", [])
        assert browser.eval("document.querySelector('h1').innerText") == "Turns"
        assert browser.eval("document.cookie") == ""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_file_of_a_turn_needs_nothing_but_itself(
    browser: Browser, site: Site, tmp_path: Path, scheme: str
) -> None:
    file = tmp_path / "turn.html"
    file.write_text(turn_file(site.container.journal().entries(site.turn_id)), encoding="utf-8")

    browser.looks(scheme=scheme).go(file.as_uri())

    assert serious(browser) == []
    assert set(browser.requests) == {file.as_uri()}
    assert browser.complaints == []
    assert browser.eval("getComputedStyle(document.querySelector('.scroll')).borderRadius") == "8px"
