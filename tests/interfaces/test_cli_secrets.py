"""`turnkeeper secrets`: what it says and what it never says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine, text

from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.interfaces.cli.program import program

pytestmark = pytest.mark.postgres

OLD, NEW, OTHER = "old-canary-" * 4, "new-canary-" * 4, "other-canary-" * 4
KEY = "sk-canary-0123456789abcdef"
BOTH = {"TURNKEEPER_SECRET_V1": OLD, "TURNKEEPER_SECRET_V2": NEW}


class Run(Protocol):
    def __call__(self, *arguments: str, typed: str = "", **environ: str) -> Result: ...


@pytest.fixture
def turnkeeper(database_url: str, tmp_path: Path) -> Iterator[Run]:
    """Runs one command on a fresh database; no output ever holds a secret or a traceback."""
    outputs: list[str] = []

    def run(*arguments: str, typed: str = "", **environ: str) -> Result:
        before = ("--data-dir", str(tmp_path), "--database-url", database_url)
        result = CliRunner().invoke(program, [*before, *arguments], input=typed, env=environ)
        outputs.append(result.output + result.stderr)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    yield run
    everything = "\n".join(outputs)
    assert not any(secret in everything for secret in (OLD, NEW, OTHER, KEY))
    assert "Traceback" not in everything


@pytest.fixture
def old_key(turnkeeper: Run) -> int:
    """The id of a key that the old secret has sealed."""
    added = turnkeeper("key", "add", "openai", "--json", typed=KEY, TURNKEEPER_SECRET_V1=OLD)
    key_id: int = json.loads(added.stdout)["id"]
    return key_id


def told(result: Result) -> Any:
    return json.loads(result.stdout)


def a_version(number: int, secrets: int, *, current: bool = False, known: bool = True) -> Any:
    return {"version": number, "secrets": secrets, "is_current": current, "is_known": known}


def test_a_rotation_says_how_many_it_moved_and_what_may_go(turnkeeper: Run, old_key: int) -> None:
    result = turnkeeper("secrets", "rotate", "--json", **BOTH)

    assert (result.exit_code, told(result)) == (
        0,
        {
            "renewed": 1,
            "shut": [],
            "versions": [a_version(1, 0), a_version(2, 1, current=True)],
            "removable": [1],
        },
    )


def test_people_are_told_the_same_in_lines(turnkeeper: Run, old_key: int) -> None:
    result = turnkeeper("secrets", "rotate", **BOTH)

    assert result.stderr == "resealed 1 of 1\n"
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "1 sealed anew",
        "version secrets",
        "1 0 not needed: TURNKEEPER_SECRET_V1 may be removed",
        "2 1 seals",
    ]


def test_the_new_secret_alone_opens_all_after_it(turnkeeper: Run, old_key: int) -> None:
    turnkeeper("secrets", "rotate", **BOTH)

    result = turnkeeper("secrets", "audit", "--json", TURNKEEPER_SECRET_V2=NEW)

    assert (result.exit_code, told(result)["shut"]) == (0, [])


def test_a_missing_secret_is_named_by_its_version(turnkeeper: Run, old_key: int) -> None:
    result = turnkeeper("secrets", "rotate", TURNKEEPER_SECRET_V2=NEW)

    assert result.exit_code == 1
    assert (
        f"1 do not open with version 1, as TURNKEEPER_SECRET_V1 is not set: key {old_key}"
        " (server:local, openai)" in result.stdout
    )
    assert "missing: set TURNKEEPER_SECRET_V1" in result.stdout


def test_a_wrong_secret_is_named_by_its_version(turnkeeper: Run, old_key: int) -> None:
    result = turnkeeper("secrets", "audit", TURNKEEPER_SECRET_V1=OTHER)

    assert result.exit_code == 1
    assert "TURNKEEPER_SECRET_V1 is not what sealed them" in result.stdout
    assert f"key {old_key} (server:local, openai)" in result.stdout


def test_what_does_not_open_is_named_to_programs(turnkeeper: Run, old_key: int) -> None:
    result = turnkeeper("secrets", "audit", "--json", TURNKEEPER_SECRET_V1=OTHER)

    assert told(result)["shut"] == [
        {"kind": "key", "id": str(old_key), "owner": "server:local", "provider": "openai",
         "version": 1}
    ]  # fmt: skip


def test_an_audit_moves_nothing(turnkeeper: Run, old_key: int) -> None:
    result = turnkeeper("secrets", "audit", "--json", **BOTH)

    assert told(result)["versions"] == [a_version(1, 1), a_version(2, 0, current=True)]
    assert told(result)["removable"] == []


def test_equal_keys_are_named(turnkeeper: Run, old_key: int) -> None:
    added = turnkeeper("key", "add", "openai", "--json", typed=KEY, TURNKEEPER_SECRET_V2=NEW)
    second = told(added)["id"]

    result = turnkeeper("secrets", "audit", **BOTH)

    assert (
        f"the same key: key {old_key} (server:local, openai, version 1),"
        f" key {second} (server:local, openai, version 2): remove all but one" in result.stdout
    )


def test_a_process_that_goes_on_with_the_old_secret_is_pointed_out(
    turnkeeper: Run, old_key: int, database: Engine
) -> None:
    with connected(database) as connection:
        # Whatever is resealed, somebody seals with the old one again at once.
        connection.execute(text(REVIVE))
        connection.execute(text(REVIVES))

    result = turnkeeper("secrets", "rotate", **BOTH)

    assert result.exit_code == 1
    assert "version 1 still seals: another process has it as its current one" in result.stdout


REVIVE = """
CREATE FUNCTION revive() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RETURN OLD; END $$
"""
REVIVES = (
    "CREATE TRIGGER revive BEFORE UPDATE ON provider_keys FOR EACH ROW EXECUTE FUNCTION revive()"
)


def test_a_store_that_forgets_has_nothing_to_rotate(turnkeeper: Run) -> None:
    result = turnkeeper("secrets", "rotate", TURNKEEPER_STORE="memory")

    assert (result.exit_code, "stores no secrets" in result.stderr) == (1, True)
