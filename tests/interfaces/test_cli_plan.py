"""`turnkeeper plan` and `turnkeeper pool`: how things stand, with nothing called or changed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine, inspect, text

from turnkeeper.domain.admission import CooldownRule, CooldownType, QuotaRule
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.events import KeyLeased, ServerRouteAsked, TurnStarted
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.settings import SavedProvider
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres

GUILD = Owner.server("guild")
ROW = SavedProvider(provider="openai", text_enabled=True)
KEYS = ("sk-canary-one-0123456789", "sk-canary-two-9876543210")


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as wall:
        yield wall


@pytest.fixture
def keeper(database: Engine, tmp_path: Path, wall: Wall) -> Iterator[Turnkeeper]:
    """A server with two models on the wall and two keys."""
    url = database.url.render_as_string(hide_password=False)
    settings = Settings(
        database_url=url,
        data_dir=tmp_path,
        base_urls={"openai": wall.base_url},
        sweep_every_s=0.0,
        live_limits=False,
    )
    with Turnkeeper.open(settings) as keeper:
        for name in ("openai:alpha", "openai:beta", "openai:gamma"):
            keeper.configure.register_model(name)
        for key in KEYS:
            keeper.configure.add_key(GUILD, "openai", key)
        keeper.configure.use_model("guild", "openai:alpha")
        keeper.configure.set_fallbacks("guild", ("openai:beta",))
        yield keeper


def ask(keeper: Turnkeeper, user_id: str = "ann", channel_id: str = "hall") -> str:
    request = TurnRequest(
        conversation=Conversation.of("hello"),
        server_id="guild",
        channel_id=channel_id,
        user_id=user_id,
    )
    return keeper.run(request, MemorySink()).status.value


def command(database: Engine, tmp_path: Path, *arguments: str, **environ: str) -> Result:
    url = database.url.render_as_string(hide_password=False)
    before = ("--data-dir", str(tmp_path), "--database-url", url)
    result = CliRunner().invoke(program, [*before, *arguments], env=environ)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert not any(key in result.output + result.stderr for key in KEYS)
    return result


@pytest.fixture
def run(database: Engine, tmp_path: Path) -> Any:
    return lambda *arguments, **environ: command(database, tmp_path, *arguments, **environ)


def rows(database: Engine) -> dict[str, list[str]]:
    """All that the database holds."""
    with connected(database) as connection:
        return {
            name: sorted(
                str(row) for row in connection.execute(text(f"SELECT t.*::text FROM {name} t"))
            )
            for name in inspect(connection).get_table_names()
        }


def planned(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


HERE = ("plan", "--server", "guild", "--user", "ann", "--channel", "hall")


# ── plan ────────────────────────────────────────────────────────────────────────────────────


def test_the_attempts_come_in_order_with_the_key_that_is_next(keeper: Turnkeeper, run: Any) -> None:
    server, personal = planned(run(*HERE, "--json"))["routes"]

    assert [
        (one["number"], one["label"], one["model"], one["provider"], one["slot"], one["is_lead"])
        for one in server["attempts"]
    ] == [
        (0, "primary", "openai:alpha", "openai", 1, True),
        (1, "fallback 1: beta", "openai:beta", "openai", 1, False),
    ]
    first = server["attempts"][0]
    assert [(key["state"], key["is_next"]) for key in first["keys"]] == [
        ("free", True),
        ("free", False),
    ]
    assert (first["obstacle"], server["refused"], server["randomizer"]) == (None, None, False)
    assert personal["withheld"] == "user ann uses no provider of their own for text"


def test_a_turn_does_what_was_planned(keeper: Turnkeeper, run: Any, wall: Wall) -> None:
    keeper.configure.add_key(Owner.user("ann"), "openai", "sk-canary-ann-0123456789")
    keeper.configure.set_personal_provider("ann", ROW, model="openai:gamma")
    wall.script(Refuse(status=400))
    first, second = planned(run(*HERE, "--json"))["routes"]

    assert ask(keeper) == "error"

    (turn_id,) = keeper.recent(1)
    told = [entry.event for entry in keeper.events(turn_id)]
    (started,) = [one for one in told if isinstance(one, TurnStarted)]
    (asked,) = [one for one in told if isinstance(one, ServerRouteAsked)]
    ran = [(one.number, one.label, one.model.id) for one in (*started.attempts, *asked.attempts)]
    assert [
        (one["number"], one["label"], one["model"])
        for one in (*first["attempts"], *second["attempts"])
    ] == ran
    leased = [one.key_id for one in told if isinstance(one, KeyLeased)]
    lent = [
        key["id"] for one in (first, second) for key in one["attempts"][0]["keys"] if key["is_next"]
    ]
    assert lent == leased[:2]


def test_nothing_is_called_charged_or_changed(
    keeper: Turnkeeper, run: Any, wall: Wall, database: Engine
) -> None:
    keeper.configure.set_cooldown("guild", CooldownRule(type=CooldownType.PER_USER, length_s=60))
    keeper.configure.set_quota("guild", QuotaRule(enabled=True, daily_per_user=3, server_wide=9))
    wall.script(Answer(text="a first answer"))
    assert ask(keeper) == "completed"
    before, seen = rows(database), len(wall.seen)

    for arguments in (HERE, (*HERE, "--json"), ("pool",), ("pool", "--json")):
        assert run(*arguments).exit_code == 0

    assert rows(database) == before
    assert len(wall.seen) == seen == 1
    assert sum(map(len, before.values())) > 10


def test_cooldown_and_quota_are_told_as_they_stand(
    keeper: Turnkeeper, run: Any, wall: Wall
) -> None:
    keeper.configure.set_cooldown("guild", CooldownRule(type=CooldownType.PER_USER, length_s=600))
    keeper.configure.set_quota("guild", QuotaRule(enabled=True, daily_per_user=3, server_wide=9))
    wall.script(Answer(text="a first answer"))
    assert ask(keeper) == "completed"

    told = planned(run(*HERE, "--json"))
    server = told["routes"][0]
    people = run(*HERE).stdout

    assert (told["quota"]["by_user"], told["quota"]["by_server"]) == (1, 1)
    assert (server["daily_per_user"], server["server_wide"]) == (3, 9)
    assert (server["refused"], server["refused_until"]) == ("cooldown", told["cooldown_until"])
    assert "refused: cooldown until " in people
    assert "quota 1 of 3 today, 1 of 9 in the period to " in people
    other = planned(run("plan", "--server", "guild", "--user", "bob", "--json"))
    assert (other["routes"][0]["refused"], other["quota"]["by_user"]) == (None, 0)


def test_resting_keys_and_models_are_told_with_their_end(
    keeper: Turnkeeper, run: Any, wall: Wall
) -> None:
    limited = Refuse(status=429, headers=(("retry-after", "600"),))
    wall.script([limited, limited, limited, limited])
    assert ask(keeper) == "error"

    alpha, beta = planned(run(*HERE, "--json"))["routes"][0]["attempts"]

    assert {key["state"] for key in alpha["keys"] + beta["keys"]} <= {"resting", "free"}
    assert "resting" in {key["state"] for key in alpha["keys"]}
    resting = [key for key in alpha["keys"] if key["state"] == "resting"]
    assert all(key["until"] is not None for key in resting)


def test_a_user_with_keys_of_their_own_goes_first_and_the_server_may_follow(
    keeper: Turnkeeper, run: Any
) -> None:
    ann = Owner.user("ann")
    keeper.configure.add_key(ann, "openai", "sk-canary-ann-0123456789")
    keeper.configure.set_personal_provider("ann", ROW, model="openai:gamma")

    personal, server = planned(run(*HERE, "--json"))["routes"]

    assert (personal["route"], personal["withheld"]) == ("personal", None)
    assert [one["model"] for one in personal["attempts"]] == ["openai:gamma"]
    assert (server["route"], server["withheld"]) == ("server", None)
    assert [one["number"] for one in server["attempts"]] == [1, 2]


def test_why_the_server_does_not_follow_is_told(keeper: Turnkeeper, run: Any) -> None:
    keeper.configure.add_key(Owner.user("ann"), "openai", "sk-canary-ann-0123456789")
    keeper.configure.set_personal_provider("ann", ROW, model="openai:gamma")
    keeper.configure.require_member_keys("guild", True)
    byok = planned(run(*HERE, "--json"))["routes"][1]
    keeper.configure.allow_server_fallback("ann", False)
    opted_out = planned(run(*HERE, "--json"))["routes"][1]

    assert byok["withheld"] == "the server wants members to use their own keys"
    assert opted_out["withheld"] == "the account turned the server fallback off"
    assert "server route: not taken: the account turned" in run(*HERE).stdout


def test_a_member_without_keys_gets_nothing_where_they_are_wanted(
    keeper: Turnkeeper, run: Any
) -> None:
    keeper.configure.require_member_keys("guild", True)

    server, personal = planned(run(*HERE, "--json"))["routes"]

    assert (server["attempts"], server["withheld"]) == (
        [],
        "the server wants members to use their own keys",
    )
    assert personal["withheld"] == "user ann uses no provider of their own for text"


def test_a_pool_without_keys_is_an_obstacle_unless_the_environment_has_one(
    keeper: Turnkeeper, run: Any
) -> None:
    for saved in keeper.configure.saved_keys(GUILD):
        keeper.configure.remove_key(GUILD, saved.key.id)

    without = planned(run(*HERE, "--json", OPENAI_API_KEY=""))["routes"][0]["attempts"][0]
    stands_in = run(*HERE, OPENAI_API_KEY=KEYS[0]).stdout

    assert without["obstacle"] == "server:guild has saved no key for openai"
    assert "with a key of the environment" in stands_in


def test_the_address_of_an_endpoint_is_told_without_a_key_in_it(
    keeper: Turnkeeper, run: Any
) -> None:
    address = f"https://models.example/{KEYS[0]}/v1"
    endpoint = Endpoint(id=0, connection_id=1, label="mine", base_url=address, trusted=True)
    saved = keeper.configure.save_endpoint(GUILD, endpoint)
    keeper.configure.use_model("guild", f"endpoint:{saved.id}")

    lead = planned(run(*HERE, "--json"))["routes"][0]["attempts"][0]

    assert lead["endpoint"] == "https://models.example/[redacted]/v1"
    assert lead["obstacle"] == "server:guild has saved no key for custom:1"
    assert "https://models.example/[redacted]/v1" in run(*HERE).stdout


def test_a_server_without_a_model_says_so(run: Any) -> None:
    (attempt,) = planned(run("plan", "--server", "empty", "--json"))["routes"][0]["attempts"]

    assert attempt["obstacle"].startswith("server empty has no model; set one with")


def test_the_randomizer_is_told(keeper: Turnkeeper, run: Any) -> None:
    keeper.configure.randomize("guild", True)

    assert planned(run(*HERE, "--json"))["routes"][0]["randomizer"]
    assert "a random one of these leads each turn" in run(*HERE).stdout


def test_the_channels_and_the_personas_model_lead(keeper: Turnkeeper, run: Any) -> None:
    keeper.configure.set_channel_model("guild", "hall", "openai:gamma")
    in_hall = planned(run(*HERE, "--json"))["routes"][0]["attempts"]
    keeper.configure.set_persona_model("guild", "eve", "openai:beta")
    as_eve = planned(run(*HERE, "--persona", "eve", "--json"))["routes"][0]["attempts"]

    assert (in_hall[0]["model"], as_eve[0]["model"]) == ("openai:gamma", "openai:beta")


def test_a_name_that_cannot_be_one_is_refused_in_a_line(run: Any) -> None:
    result = run("plan", "--user", " ")

    assert (result.exit_code, "outer blanks" in result.stderr) == (2, True)


# ── pool ────────────────────────────────────────────────────────────────────────────────────


def test_the_pool_tells_states_errors_and_what_to_tidy_up(
    keeper: Turnkeeper, run: Any, wall: Wall
) -> None:
    keeper.configure.add_key(Owner.user("ann"), "openai", KEYS[1])
    wall.script([Refuse(status=401)], key=KEYS[0])
    wall.script([Answer(text="the other answers")], key=KEYS[1])
    assert ask(keeper) == "completed"

    (pool,) = planned(run("pool", "--server", "guild", "--json"))["pools"]
    people = run("pool", "--server", "guild").stdout

    first, second = pool["keys"]
    assert (pool["owner"], pool["provider"], pool["is_dry"]) == ("server:guild", "openai", False)
    assert (first["state"], first["last_error_kind"]) == ("refused", "api_error")
    assert (first["is_refused_repeatedly"], second["is_never_used"]) == (True, False)
    assert second["same_as"] == ["key 3 (user:ann, openai)"]
    assert "server:guild, openai: a key can be lent" in people
    assert f"  key {first['id']}: refused by the provider: " in people
    assert "the same as key 3 (user:ann, openai)" in people


def test_a_pool_that_is_dry_for_a_model_says_when_it_is_back(
    keeper: Turnkeeper, run: Any, wall: Wall
) -> None:
    keeper.configure.clear_fallbacks("guild")
    broke = Refuse(status=429, headers=(("retry-after", "600"),))
    wall.script([broke, broke])
    assert ask(keeper) == "error"

    (pool,) = planned(run("pool", "--json"))["pools"]

    states = [key["state"] for key in pool["keys"]]
    assert states == ["resting", "resting"]
    assert pool["keys"][0]["rests_for_model"] == "alpha"
    assert (pool["is_dry"], list(pool["dry_for"])) == (False, ["alpha"])
    assert pool["dry_for"]["alpha"] == min(key["until"] for key in pool["keys"])
    assert "openai: dry for alpha; the next key is back at " in run("pool").stdout


def test_an_empty_pool_says_how_to_fill_it(run: Any) -> None:
    assert run("pool").stdout.startswith("no key is saved; add one with `turnkeeper key add")
    assert json.loads(run("pool", "--json").stdout)["pools"] == []


def test_one_owner_at_a_time(run: Any) -> None:
    result = run("pool", "--server", "a", "--user", "b")

    assert (result.exit_code, "not both" in result.stderr) == (2, True)
