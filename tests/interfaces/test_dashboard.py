"""What the pages say."""

import re
from dataclasses import replace
from datetime import timedelta
from urllib.parse import unquote_to_bytes

import pytest
from builders import SERVER
from contracts.keys import MODEL
from contracts.reports import booked, broken, calm, swept
from contracts.stores import Stores
from dashboards import Answered, Asking, links, pages, sources
from kept_turns import keep
from past_turns import journal, ran, rescued, started
from stores_in_memory import stores_in_memory

from turnkeeper.domain.model import Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.pool_history import Window
from turnkeeper.domain.secret import Secret
from turnkeeper.interfaces.dashboard.app import DashboardApp
from turnkeeper.interfaces.dashboard.drawing import ticks
from turnkeeper.interfaces.dashboard.gate import Gate
from turnkeeper.interfaces.dashboard.pool_view import drawn_pools
from turnkeeper.interfaces.dashboard.render import length_of_time


@pytest.fixture
def stores() -> Stores:
    return stores_in_memory()


@pytest.fixture
def ask(stores: Stores) -> Asking:
    return Asking(DashboardApp(pages(stores), Gate(None)))


# ── what the pages say ──────────────────────────────────────────────────────────────────────


def test_without_turns_the_pages_say_how_to_get_some(ask: Asking) -> None:
    assert "turnkeeper demo" in ask().plain
    assert "turnkeeper key add" in ask("/pool").plain
    assert "No turn was over in that time." in ask("/rates").plain


def test_the_turns_are_listed_with_how_they_went(stores: Stores, ask: Asking) -> None:
    keep(stores, calm("calm"), rescued("saved"), broken("bad"), swept("dead"))
    keep(stores, journal((0.0, started()), (0.1, ran(0, 0)), turn_id="busy"))
    model = Model(id="wall:model-1", provider="wall", name="model-1")
    stores.editor.save_model(replace(model, price_in_per_mtok=1000.0, price_out_per_mtok=0.5))

    rows = re.findall(r"<tr>(.*?)</tr>", ask().text, re.S)[1:]
    said = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]

    noon, whose = "2026-11-30 12:0", f"ann {SERVER.id}"
    assert said == [
        f"busy , the whole turn {noon}1:05 running 1 ?/? $0 {whose}",
        f"dead , the whole turn {noon}0:03 given up 1 61.0 s ?/? $0 {whose}",
        f"bad , the whole turn {noon}0:02 error model-1 rate limit 1 2.00 s ?/? $0 {whose}",
        f"saved , the whole turn {noon}0:01 completed rescued model-1 rate limit 2 3.20 s 12/34"
        f" $0.012017 {whose}",
        f"calm , the whole turn {noon}0:00 completed model-1 1 2.00 s 12/34 unknown {whose}",
    ]


def test_the_list_is_filtered(stores: Stores, ask: Asking) -> None:
    keep(stores, calm("calm"), rescued("saved"), broken("bad"))

    def listed(query: str) -> list[str]:
        return [link.rpartition("/")[2] for link in links(ask("/", query)) if "/turns/" in link]

    assert listed("show=rescued") == ["saved"]
    assert listed("show=error") == ["bad"]
    assert listed("server=guild") == ["bad", "saved", "calm"]
    assert listed("server=server:other") == listed("server=what:not") == listed("server=:") == []
    assert listed("user=ann") == listed("user=user:ann") == ["bad", "saved", "calm"]
    assert listed("user=bob") == []
    assert listed("show=nonsense&before=nonsense") == ["bad", "saved", "calm"]
    assert "There is no such turn." in ask("/", "show=given_up").plain


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


def test_links_stay_where_the_pages_are_mounted(stores: Stores, ask: Asking) -> None:
    keep(stores, calm("calm"))

    found = links(ask(SCRIPT_NAME="/ops"))

    assert found == ["#main", "/ops/", "/ops/pool", "/ops/rates", "/ops/turns/calm"]


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

    assert "wall of server:guild 2 of 2 free a key can be lent" in said
    assert f"no. {first} …6789 main free never used" in said
    assert f"2026-11-30 12:00:00 no. {first} rate limit resting 2026-11-30 12:01:00 t1" in said
    assert "2026-11-30 12:00:00 2026-11-30 12:01:00 1" in said  # so long only one was free


def test_the_pool_says_of_its_keys_what_the_command_says(stores: Stores, ask: Asking) -> None:
    main, resting, limited = stores.keys.add("sk-main", "sk-one", "sk-two")
    (twin,) = stores.keys.add("sk-two", owner=Owner.user("ann"))
    stores.keys.saved.enable(SERVER, main, False)
    stores.keys.rest(main, 30)
    stores.keys.rest(resting, 60)
    stores.keys.limit(limited, MODEL, 90)

    said = ask("/pool").plain
    stores.pass_time(70)
    later = ask("/pool").plain

    back = "2026-11-30 12:0"
    assert "0 of 3 free dry; the next key is back at 12:00:30 UTC (in 30 s)" in said
    assert f"resting until {back}0:30 off, and still the last resort" in said
    assert f"resting until {back}1:00" in said
    assert f"resting {MODEL} was limited until {back}1:30 the same as key {twin} (user:ann" in said
    assert "2 of 3 free" in later
    assert "half open, to be probed" in later


def test_pools_that_need_somebody_come_first(stores: Stores, ask: Asking) -> None:
    for name in ("ann", "bob", "cid"):
        stores.keys.saved.add(Owner.user(name), "wall", Secret(f"sk-of-{name}-0123456789"))
    (spare,) = stores.keys.add("sk-spare-0123456789", owner=Owner.user("bob"))
    stores.keys.saved.enable(Owner.user("bob"), spare, False)

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

    found = drawn_pools(sources(stores).pools().pools, (), window, most=2)

    owners = [str(one.pool.owner) for one in found.pools]
    assert (owners, found.left_out) == (["user:u0", "user:u1"], 1)


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
