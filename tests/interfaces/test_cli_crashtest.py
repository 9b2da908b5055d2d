"""The crash test as it is run: its lines, its JSON, its end."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine, text

from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.metadata import metadata
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.crashtest.discord_faults import FAULTS as DISCORD_FAULTS
from turnkeeper.interfaces.crashtest.store_faults import FAULTS as STORE_FAULTS
from turnkeeper.interfaces.crashtest.ways import WAYS

PROFILE = "full" if os.environ.get("TURNKEEPER_SOAK") == "1" else "fast"
DIALECTS = [way.name for way in WAYS]
CANARY = "sk-canary-0123456789abcdef"
N_A = {("S11", "google"), ("S11", "anthropic")}


def crashtest(*arguments: str, **environ: str) -> Result:
    result = CliRunner().invoke(program, ["crashtest", *arguments], env=environ)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return result


def lines_of(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.timeout(600)
def test_all_faults_of_providers_are_passed_in_every_dialect_where_a_refusal_stands() -> None:
    asked = [f"--fault=S{number:02}" for number in range(1, 17)]

    result = crashtest("--profile", PROFILE, "--json", "--content-filter", "stop", *asked)

    *rows, summary = lines_of(result)
    assert [(row["fault"], row["dialect"]) for row in rows] == [
        (f"S{number:02}", dialect) for number in range(1, 17) for dialect in DIALECTS
    ]
    not_passed = [row for row in rows if row["verdict"] not in ("pass", "n/a")]
    assert not_passed == []
    assert {(row["fault"], row["dialect"]) for row in rows if row["verdict"] == "n/a"} == N_A
    assert all(row["channel"]["truncated"] == 0 for row in rows if row["channel"])
    assert (result.exit_code, summary["passed"], summary["profile"]) == (0, True, PROFILE)
    assert summary["summary"] == {"pass": 94, "partial": 0, "safe": 0, "fail": 0, "n/a": 2}


@pytest.mark.timeout(600)
def test_all_faults_of_discord_are_passed() -> None:
    asked = [f"--fault={fault.id}" for fault in DISCORD_FAULTS]

    result = crashtest("--profile", PROFILE, "--json", "--dialect", "openrouter", *asked)

    *rows, summary = lines_of(result)
    assert [(row["fault"], row["dialect"]) for row in rows] == [
        (fault.id, "openrouter") for fault in DISCORD_FAULTS
    ]
    assert [row for row in rows if row["verdict"] != "pass"] == []
    assert (result.exit_code, summary["passed"]) == (0, True)


@pytest.mark.postgres
@pytest.mark.timeout(600)
def test_all_faults_of_the_store_are_passed() -> None:
    asked = [f"--fault={fault.id}" for fault in STORE_FAULTS]

    result = crashtest("--profile", PROFILE, "--json", "--dialect", "anthropic", *asked)

    *rows, summary = lines_of(result)
    assert [row["fault"] for row in rows] == [fault.id for fault in STORE_FAULTS]
    assert [row for row in rows if row["verdict"] != "pass"] == []
    assert all(row["channel"]["truncated"] == 0 for row in rows)
    assert (result.exit_code, summary["passed"]) == (0, True)


def test_on_plain_defaults_a_refusal_is_routed_around_by_choice() -> None:
    result = crashtest("--json", "--fault", "S13", "--fault", "s08", "--dialect", "anthropic")

    cut, refused, summary = lines_of(result)
    assert result.exit_code == 0
    assert (cut["fault"], cut["verdict"], cut["by_choice"]) == ("S08", "pass", False)
    assert (refused["fault"], refused["verdict"], refused["by_choice"]) == ("S13", "partial", True)
    assert "content_filter=next" in refused["why"][0]
    assert (summary["passed"], summary["by_choice"]) == (True, 1)
    assert (
        Counter(row["verdict"] for row in (cut, refused))["partial"]
        == (summary["summary"]["partial"])
    )


def test_a_row_says_what_the_caller_the_provider_and_the_channel_saw() -> None:
    cut, _ = lines_of(crashtest("--json", "--fault", "S08", "--dialect", "openrouter"))

    took_s = cut["caller"].pop("took_s")
    (size,) = cut["provider"].pop("sizes_bytes")
    assert cut == {
        "fault": "S08",
        "dialect": "openrouter",
        "verdict": "pass",
        "by_choice": False,
        "name": "cut after 40 of 60 tokens",
        "why": [],
        "caller": {
            "status": "completed",
            "answered_by": "fallback",
            "failures": ["network"],
            "raised": None,
        },
        "provider": {"primary_calls": 1, "gaps_s": [], "fallback_calls": 1},
        "channel": {
            "answers": 1,
            "truncated": 0,
            "notices": 1,
            "errors": 0,
            "taken_back": 1,
            "stuck": 0,
        },
    }
    assert (took_s > 0, size > 0) == (True, True)


def test_people_get_a_line_for_each_and_a_sum() -> None:
    result = crashtest("--fault", "S02", "--fault", "S11", "--dialect", "google")

    first, second, summed = result.stdout.splitlines()
    assert first.startswith("pass: S02 429 for ever, without a hint, google: completed by fallback")
    assert first.endswith("primary 1x, fallback 1x; 1 answer, 1 notice")
    assert second.startswith("n/a: S11 a whole answer without [DONE], google: its answers end with")
    assert summed == "1 pass, 1 n/a"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fault", "S8"), "there is no fault 'S8'; there are: S01, S02,"),
        (("--fault", "S8"), "did you mean S08?"),
        (("--dialect", "opnai"), "there is no dialect 'opnai'; there are: openai, custom,"),
    ],
)
def test_what_there_is_not_is_named_with_what_there_is(
    arguments: tuple[str, ...], said: str
) -> None:
    result = crashtest(*arguments)

    assert result.exit_code == 1
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("option", ["--profile", "--content-filter"])
def test_a_choice_that_there_is_not_is_answered_with_the_choices(option: str) -> None:
    result = crashtest(option, "other")

    assert result.exit_code == 2
    assert "is not one of" in result.stderr


def test_the_environment_changes_nothing_of_the_built_in_settings(tmp_path: Path) -> None:
    result = crashtest(
        "--fault",
        "S03",
        "--dialect",
        "openai",
        TURNKEEPER_DATA_DIR=str(tmp_path / "data"),
        TURNKEEPER_MAX_INVOCATIONS="1",
        TURNKEEPER_DATABASE_URL="postgresql://nobody@127.0.0.1:9/none",
        DISCORD_TOKEN="not-a-token",
    )

    assert result.exit_code == 0, result.output
    assert not (tmp_path / "data").exists()


# ── somebody's own configuration ────────────────────────────────────────────────────────────


@pytest.mark.postgres
def test_a_server_is_tested_as_it_is_set_up_and_left_as_it_was(
    database: Engine, database_url: str, tmp_path: Path
) -> None:
    before = ("--data-dir", str(tmp_path), "--database-url", database_url)

    def turnkeeper(*arguments: str, typed: str = "") -> Result:
        return CliRunner().invoke(program, [*before, *arguments], input=typed)

    for model in ("mistral:one", "google:two"):
        turnkeeper("model", "add", model)
    turnkeeper("model", "use", "mistral:one")
    turnkeeper("key", "add", "mistral", typed=f"{CANARY}\n")
    saved = rows_in(database)

    alone = turnkeeper("crashtest", "--server", "local", "--fault", "S08", "--json")
    unchanged = rows_in(database)
    turnkeeper("fallback", "set", "google:two")
    chained = turnkeeper("crashtest", "--server", "local", "--fault", "S08", "--json")

    row, summary = lines_of(alone)
    assert (row["dialect"], row["verdict"], alone.exit_code) == ("mistral", "safe", 1)
    assert (summary["server"], summary["passed"]) == ("local", False)
    row, summary = lines_of(chained)
    assert (row["dialect"], row["verdict"], chained.exit_code) == ("mistral", "pass", 0)
    assert saved == unchanged
    assert CANARY not in alone.output + chained.output


@pytest.mark.postgres
def test_a_server_that_has_set_nothing_is_told_so(database_url: str, tmp_path: Path) -> None:
    before = ("--data-dir", str(tmp_path), "--database-url", database_url)

    result = CliRunner().invoke(program, [*before, "crashtest", "--server", "nobody"])

    assert result.exit_code == 1
    assert result.stderr.startswith("turnkeeper: server nobody has no model")


def rows_in(database: Engine) -> dict[str, list[str]]:
    with connected(database) as connection:
        return {
            name: [row[0] for row in connection.execute(text(f"SELECT t::text FROM {name} t"))]
            for name in metadata.tables
        }
