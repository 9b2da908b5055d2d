"""`turnkeeper turns` and `turnkeeper model price`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from contracts.stores import Stores, a_result
from contracts.turn_history import a_rescue
from past_turns import rescued
from sqlalchemy import Engine
from stores_in_postgres import stores_in_postgres

from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.interfaces.cli.program import program

pytestmark = pytest.mark.postgres


@pytest.fixture
def run(database: Engine, tmp_path: Path) -> Any:
    url = database.url.render_as_string(hide_password=False)
    before = ("--data-dir", str(tmp_path), "--database-url", url)

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(program, [*before, *arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return run


@pytest.fixture
def stores(database: Engine) -> Iterator[Stores]:
    """Three turns: one that failed, one that was rescued, one that runs."""
    with stores_in_postgres(database) as stores:
        stores.start("t1", channel_id="one", user_id="bob")
        stores.close("t1", channel_id="one", result=a_result("t1", TurnStatus.ERROR))
        stores.pass_time(60)
        stores.start("t2", channel_id="two")
        entries = rescued("t2")
        stores.close("t2", channel_id="two", result=a_rescue("t2"), entries=entries)
        stores.pass_time(60)
        stores.start("t3", channel_id="three")
        yield stores


def listed(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def ids(result: Result) -> list[str]:
    return [turn["turn_id"] for turn in listed(result)["turns"]]


def test_turns_are_one_document_newest_first(run: Any, stores: Stores) -> None:
    told = listed(run("turns", "--json"))
    _, second, first = told["turns"]

    assert told["next"] is None
    assert [turn["status"] for turn in told["turns"]] == ["running", "completed", "error"]
    began, ended = second.pop("began_at"), second.pop("ended_at")
    assert began < ended
    assert second == {
        "turn_id": "t2",
        "server": "guild",
        "channel": "two",
        "user": "ann",
        "status": "completed",
        "rescued": True,
        "took_s": 3.2,
        "model": "model-1",
        "attempts": 2,
        "invocations": 2,
        "input_tokens": 12,
        "output_tokens": 34,
        "cost_usd": "unknown",
    }
    assert (first["user"], first["input_tokens"], first["cost_usd"]) == ("bob", None, "0")


def test_pages_follow_each_other(run: Any, stores: Stores) -> None:
    first = listed(run("turns", "--json", "--limit", "2"))
    second = listed(run("turns", "--json", "--limit", "2", "--before", first["next"]))
    people = run("turns", "--limit", "2").stdout

    assert [turn["turn_id"] for turn in first["turns"]] == ["t3", "t2"]
    assert ([turn["turn_id"] for turn in second["turns"]], second["next"]) == (["t1"], None)
    assert people.splitlines()[-1] == f"more: --before {first['next']}"


def test_each_filter_leaves_the_others_out(run: Any, stores: Stores) -> None:
    assert ids(run("turns", "--json", "--user", "bob")) == ["t1"]
    assert ids(run("turns", "--json", "--status", "running")) == ["t3"]
    assert ids(run("turns", "--json", "--rescued")) == ["t2"]
    assert ids(run("turns", "--json", "--server", "guild", "--status", "error")) == ["t1"]
    assert ids(run("turns", "--json", "--server", "elsewhere")) == []
    assert run("turns", "--server", "elsewhere").stdout == "there is no such turn\n"


def test_people_read_a_table(run: Any, stores: Stores) -> None:
    (row,) = [line for line in run("turns").stdout.splitlines() if line.startswith("t2 ")]

    assert "completed, rescued" in row
    assert row.split()[-6:] == ["2", "2", "3.2", "s", "12/34", "unknown"]


@pytest.mark.parametrize("place", ["nonsense", "12", "-t1", "1e3-t1", "9" * 30 + "-t1", "1-\n"])
def test_what_is_no_place_in_the_list_is_refused(run: Any, place: str) -> None:
    result = run("turns", "--before", place)

    assert (result.exit_code, "is no place in the list" in result.stderr) == (2, True)


@pytest.mark.parametrize("options", [("--limit", "0"), ("--limit", "201"), ("--status", "fine")])
def test_what_makes_no_sense_is_refused(run: Any, options: tuple[str, str]) -> None:
    assert run("turns", *options).exit_code == 2


# ── prices ──────────────────────────────────────────────────────────────────────────────────


def priced(run: Any, *arguments: str) -> Any:
    return listed(run("model", "price", *arguments, "--json"))["usd_per_million_tokens"]


def test_a_price_is_set_shown_counted_and_removed(run: Any, stores: Stores) -> None:
    run("model", "add", "openai:gpt")
    known = {"model": "openai:gpt", "input": "2.5", "output": "0.075"}

    assert priced(run, "set", "gpt", "--input", "2.50", "--output", "0.075") == [known]
    run("model", "add", "openai:gpt", "--images")
    assert priced(run, "show", "openai:gpt") == priced(run, "show") == [known]
    assert priced(run, "remove", "gpt") == [
        {"model": "openai:gpt", "input": "unknown", "output": "unknown"}
    ]


def test_a_turn_costs_what_its_models_cost(run: Any, database: Engine, stores: Stores) -> None:
    from turnkeeper.domain.model import Model
    from turnkeeper.infrastructure.postgres.settings_editor import PostgresSettingsEditor

    editor = PostgresSettingsEditor(database)
    editor.save_model(Model(id="wall:model-1", provider="wall", name="model-1"))
    run("model", "price", "set", "wall:model-1", "--input", "1000", "--output", "0.5")

    (turn,) = listed(run("turns", "--json", "--rescued"))["turns"]

    assert turn["cost_usd"] == "0.012017"
    assert "$0.012017" in run("turns", "--rescued").stdout


@pytest.mark.parametrize(
    ("amount", "exit_code", "said"),
    [
        ("much", 2, "'much' is no decimal number; write it as 2.50"),
        ("-1", 1, "the price of input tokens is 0 to 1000000 US dollars a million, not -1"),
        ("NaN", 1, "not NaN"),
        ("1e9", 1, "not 1E+9"),
    ],
)
def test_a_price_is_a_sensible_number(run: Any, amount: str, exit_code: int, said: str) -> None:
    run("model", "add", "openai:gpt")

    result = run("model", "price", "set", "gpt", f"--input={amount}", "--output=1")

    assert result.exit_code == exit_code
    assert said in result.stderr


def test_the_price_of_an_unknown_model_is_refused_with_the_way_out(run: Any) -> None:
    result = run("model", "price", "set", "openai:none", "--input", "1", "--output", "1")

    assert result.exit_code == 1
    assert "register it with `turnkeeper model add openai:none`" in result.stderr
