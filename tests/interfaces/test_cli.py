import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from click.testing import CliRunner, Result

from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.program import program

pytestmark = pytest.mark.postgres

CANARY = "sk-canary-0123456789abcdef"


class Run(Protocol):
    def __call__(self, *arguments: str, typed: str | bytes = "", **environ: str) -> Result: ...


@pytest.fixture
def turnkeeper(database_url: str, tmp_path: Path) -> Iterator[Run]:
    """Runs one command on a fresh database; no output ever holds the canary or a traceback."""
    outputs: list[str] = []

    def run(*arguments: str, typed: str | bytes = "", **environ: str) -> Result:
        before = ("--data-dir", str(tmp_path), "--database-url", database_url)
        result = CliRunner().invoke(program, [*before, *arguments], input=typed, env=environ)
        outputs.append(result.output + result.stderr)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    yield run
    everything = "\n".join(outputs)
    assert CANARY not in everything
    assert "Traceback" not in everything


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as wall:
        yield wall


def lines_of(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def at_the_wall(wall: Wall) -> dict[str, str]:
    """The environment of somebody whose OpenAI is the wall."""
    return {
        "TURNKEEPER_BASE_URLS": json.dumps({"openai": wall.base_url}),
        "OPENAI_API_KEY": CANARY,
    }


# ── keys ────────────────────────────────────────────────────────────────────────────────────


def test_a_key_is_piped_in_listed_by_its_end_and_removed(turnkeeper: Run) -> None:
    added = turnkeeper("key", "add", "openai", typed=f"{CANARY}\n")
    listed = turnkeeper("key", "list")
    (known,) = json.loads(turnkeeper("key", "list", "--json").stdout)
    removed = turnkeeper("key", "remove", str(known["id"]))

    assert (added.exit_code, listed.exit_code, removed.exit_code) == (0, 0, 0)
    assert "…cdef" in listed.stdout
    assert (known["owner"], known["provider"], known["is_main"]) == (
        "server:local",
        "openai",
        True,
    )
    assert json.loads(turnkeeper("key", "list", "--json").stdout) == []


def test_a_user_has_keys_of_its_own(turnkeeper: Run) -> None:
    turnkeeper("key", "add", "openai", "--user", "ann", typed=CANARY)

    (known,) = json.loads(turnkeeper("key", "list", "--user", "ann", "--json").stdout)

    assert known["owner"] == "user:ann"
    assert "no key is saved" in turnkeeper("key", "list", "--server", "local").stdout


def test_a_key_with_a_line_break_inside_is_refused_and_not_shown(turnkeeper: Run) -> None:
    result = turnkeeper("key", "add", "openai", typed=f"sk-one\n{CANARY}\n")

    assert result.exit_code == 1
    assert result.stderr.startswith("turnkeeper: the key for openai cannot be used: character 7")
    assert len(result.stderr.splitlines()) == 1


def test_a_key_as_an_argument_is_refused_and_not_repeated(turnkeeper: Run) -> None:
    result = turnkeeper("key", "add", "openai", CANARY)

    assert result.exit_code == 2
    assert "a key is no argument" in result.stderr


def test_an_empty_standard_input_holds_no_key(turnkeeper: Run) -> None:
    result = turnkeeper("key", "add", "openai")

    assert (result.exit_code, "holds no key" in result.stderr) == (2, True)


def test_bytes_that_are_no_text_are_no_key(turnkeeper: Run) -> None:
    result = turnkeeper("key", "add", "openai", typed=b"sk-\xff")

    assert (result.exit_code, "character 4" in result.stderr) == (1, True)


def test_an_unknown_provider_is_answered_with_the_known_ones(turnkeeper: Run) -> None:
    result = turnkeeper("key", "add", "nobody", typed=CANARY)

    assert result.exit_code == 1
    assert "'nobody' is not known; known are" in result.stderr


def test_an_error_is_json_where_json_was_asked_for(turnkeeper: Run) -> None:
    result = turnkeeper("key", "remove", "99", "--json")

    assert result.exit_code == 1
    assert json.loads(result.stderr) == {
        "error": "there is no key 99; see `turnkeeper key list`",
        "type": "SettingsError",
    }


# ── models ──────────────────────────────────────────────────────────────────────────────────


def test_models_are_registered_chosen_and_put_in_order(turnkeeper: Run) -> None:
    for name in ("openai:a", "openai:b", "groq:c"):
        assert turnkeeper("model", "add", name, "--window", "1000").exit_code == 0
    turnkeeper("model", "use", "openai:a")
    turnkeeper("fallback", "set", "openai:b", "groq:c", "openai:b")
    turnkeeper("randomizer", "on")

    models = json.loads(turnkeeper("model", "list", "--json").stdout)
    chain = json.loads(turnkeeper("fallback", "list", "--json").stdout)

    assert [model["id"] for model in models] == ["groq:c", "openai:a", "openai:b"]
    assert chain == {
        "server": "local",
        "primary": "openai:a",
        "fallbacks": ["openai:b", "groq:c"],
        "randomizer": True,
    }
    assert "fallback 1" in turnkeeper("fallback", "list").stdout
    assert "off" in turnkeeper("fallback", "clear").stdout


def test_an_unknown_model_is_answered_with_near_names(turnkeeper: Run) -> None:
    turnkeeper("model", "add", "openai:gpt-4o")

    result = turnkeeper("model", "use", "openai:gpt-40")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "near are: openai:gpt-4o" in result.stderr


def test_the_randomizer_without_a_fallback_is_refused(turnkeeper: Run) -> None:
    result = turnkeeper("randomizer", "on")

    assert result.exit_code == 1
    assert "turnkeeper fallback set" in result.stderr


# ── turns ───────────────────────────────────────────────────────────────────────────────────


def test_a_turn_runs_with_a_key_from_the_environment(turnkeeper: Run, wall: Wall) -> None:
    wall.script(Answer(text="Hello, you."), model="gpt", key=CANARY)

    result = turnkeeper("run", "Hello!", "--model", "openai:gpt", **at_the_wall(wall))

    assert result.exit_code == 0
    assert result.stdout.startswith("Hello, you.\ngpt answered · 2 tokens · turn ")


def test_a_turns_events_and_result_are_lines_of_json(turnkeeper: Run, wall: Wall) -> None:
    wall.script(Answer(text="Hello, you."), model="gpt")

    asked = ("run", "-", "--model", "openai:gpt", "--json")
    result = turnkeeper(*asked, typed="Hi", **at_the_wall(wall))

    *events, end = lines_of(result)
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert {event["turn_id"] for event in events} == {end["turn_id"]}
    assert end["kind"] == "result"
    assert end["result"]["persona_responses"][0]["text"] == "Hello, you."


def test_what_was_told_first_and_who_asks_reach_the_provider(turnkeeper: Run, wall: Wall) -> None:
    wall.script(Answer(text="Aye."), model="gpt")

    turnkeeper("run", "Hi", "--model", "openai:gpt", "--system", "Be brief.", **at_the_wall(wall))

    (seen,) = wall.seen
    assert [message["content"] for message in seen.body["messages"]] == ["Be brief.", "Hi"]


def test_a_turn_without_an_answer_says_so_once_and_ends_with_1(turnkeeper: Run, wall: Wall) -> None:
    wall.script(Refuse(status=401, body=f"wrong key {CANARY}"), model="gpt")

    result = turnkeeper("run", "Hi", "--model", "openai:gpt", **at_the_wall(wall))

    assert result.exit_code == 1
    assert result.stdout.count("No answer this time") == 1


def test_a_turn_with_no_model_says_how_to_get_one(turnkeeper: Run) -> None:
    result = turnkeeper("run", "Hi")

    assert result.exit_code == 1
    assert "server local has no model: give --model PROVIDER:NAME" in result.stderr


def test_a_turn_with_no_key_says_how_to_get_one(turnkeeper: Run) -> None:
    result = turnkeeper("run", "Hi", "--model", "openai:gpt", OPENAI_API_KEY="")

    assert result.exit_code == 1
    assert "turnkeeper key add" in result.stdout


def test_a_broken_key_in_the_environment_is_named_and_not_shown(turnkeeper: Run) -> None:
    result = turnkeeper("run", "Hi", "--model", "openai:gpt", OPENAI_API_KEY=f"{CANARY} {CANARY}")

    assert result.exit_code == 1
    assert "OPENAI_API_KEY cannot be used: character 27" in result.stderr


@pytest.mark.parametrize(
    ("model", "said"),
    [("nobody:m", "'nobody' is not known"), (":m", "written PROVIDER:NAME"), ("m", "no model 'm'")],
)
def test_a_model_that_cannot_be_asked_is_refused(turnkeeper: Run, model: str, said: str) -> None:
    result = turnkeeper("run", "Hi", "--model", model)

    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr


def test_an_empty_prompt_is_a_usage_error(turnkeeper: Run) -> None:
    assert turnkeeper("run", "  ").exit_code == 2


def test_an_earlier_turn_is_listed_and_explained(turnkeeper: Run, wall: Wall) -> None:
    wall.script(Answer(text="Hello, you."), model="gpt")
    ran = turnkeeper("run", "Hi", "--model", "openai:gpt", "--json", **at_the_wall(wall))
    turn_id = lines_of(ran)[-1]["turn_id"]

    (listed,) = json.loads(turnkeeper("turns", "--json").stdout)["turns"]
    explained = turnkeeper("explain")
    as_data = lines_of(turnkeeper("explain", turn_id, "--json"))

    assert (listed["turn_id"], listed["status"], listed["model"]) == (turn_id, "completed", "gpt")
    assert "planned on the server route of server local: gpt" in explained.stdout
    assert explained.stdout.splitlines()[-1].endswith("released what the sink held")
    assert [line["why"] for line in as_data][-1] == "released what the sink held"


def test_of_a_failure_its_rule_evidence_and_consequence_are_data(
    turnkeeper: Run, wall: Wall
) -> None:
    wall.script(Refuse(status=401), model="gpt")
    turnkeeper("run", "Hi", "--model", "openai:gpt", **at_the_wall(wall))

    lines = lines_of(turnkeeper("explain", "--decisions", "--json"))

    (failed,) = [line for line in lines if line["kind"] == "invocation_ended"]
    told = {name: failed[name] for name in ("rule", "evidence", "done", "next")}
    assert told == {
        "rule": "key-code",
        "evidence": "code=invalid_api_key",
        "done": "ended the turn, as nothing is left to try",
        "next": "key 0 once it is edited",
    }
    assert "cleaned_up" not in {line["kind"] for line in lines}


def test_an_unknown_turn_is_an_error(turnkeeper: Run) -> None:
    result = turnkeeper("explain", "nothing")

    assert (result.exit_code, "there is no turn 'nothing'" in result.stderr) == (1, True)


def test_an_exported_turn_is_replayed_and_decided_the_same(
    turnkeeper: Run, wall: Wall, tmp_path: Path
) -> None:
    wall.script((Refuse(status=500), Answer(text="Hello, you.")), model="gpt")
    ran = turnkeeper("run", "Hi", "--model", "openai:gpt", "--json", **at_the_wall(wall))
    turn_id, file = lines_of(ran)[-1]["turn_id"], str(tmp_path / "turn.jsonl")

    exported = turnkeeper("explain", "--export", file)
    as_data = turnkeeper("turns", "--export", file, "--json")
    again = turnkeeper("replay", file)

    assert exported.stdout == (
        f"the journal of turn {turn_id} is in {file}; `turnkeeper replay` reads it\n"
    )
    assert json.loads(as_data.stdout)["turns"] == 1
    assert (again.exit_code, f"turn {turn_id}: same decisions" in again.stdout) == (0, True)
    assert turnkeeper("explain", "--export", "-").stdout == Path(file).read_text()


def test_a_file_that_cannot_be_written_is_named(turnkeeper: Run, wall: Wall) -> None:
    wall.script(Answer(text="Hello, you."), model="gpt")
    turnkeeper("run", "Hi", "--model", "openai:gpt", **at_the_wall(wall))

    result = turnkeeper("explain", "--export", "/proc/none/turn.jsonl")

    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "/proc/none/turn.jsonl cannot be written: No such file" in result.stderr


# ── the installation ────────────────────────────────────────────────────────────────────────


def test_the_schema_is_up_to_date(turnkeeper: Run) -> None:
    assert turnkeeper("migrate").stdout == "the schema is up to date\n"
    assert json.loads(turnkeeper("migrate", "--json").stdout) == {"applied": []}


def test_the_doctor_finds_all_well(turnkeeper: Run) -> None:
    turnkeeper("key", "add", "openai", typed=CANARY)

    result = turnkeeper("doctor", "--json")

    assert {line["check"]: line["ok"] for line in lines_of(result)} == {
        "data folder": True,
        "variables": True,
        "database": True,
        "migrations": True,
        "connections": True,
        "master secret": True,
        "keys": True,
        "stuck messages": True,
    }
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("environ", "check", "said"),
    [
        ({"TURNKEEPER_MAX_TRUNS": "3"}, "variables", "meant: TURNKEEPER_MAX_TURNS?"),
        ({"TURNKEEPER_PROCESSES": "99"}, "connections", "lower TURNKEEPER_POOL_SIZE"),
        ({"TURNKEEPER_SECRET_V1": "short"}, "master secret", "TURNKEEPER_SECRET_V1 is short"),
        ({"TURNKEEPER_SECRET_V2": "x" * 40}, "keys", "1 of 1 do not open"),
    ],
)
def test_the_doctor_says_what_is_wrong_and_what_to_do(
    turnkeeper: Run, environ: dict[str, str], check: str, said: str
) -> None:
    turnkeeper("key", "add", "openai", typed=CANARY)

    result = turnkeeper("doctor", "--json", **environ)

    (found,) = [line for line in lines_of(result) if line["check"] == check]
    assert (result.exit_code, found["ok"]) == (1, False)
    assert said in found["said"]


def test_a_setting_that_makes_no_sense_is_said_in_one_line(turnkeeper: Run) -> None:
    result = turnkeeper("turns", TURNKEEPER_MAX_TURNS="many")

    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert "TURNKEEPER_MAX_TURNS is 'many'" in result.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"postgresql://u:{CANARY}@127.0.0.1:9/d", "cannot be reached"),
        (f"mysql://u:{CANARY}@host/d", "no URL of a Postgres database"),
    ],
)
def test_a_wrong_database_url_is_an_error_in_one_line(turnkeeper: Run, url: str, said: str) -> None:
    result = turnkeeper("--database-url", url, "turns")

    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
