"""How far a long command is, at a terminal and elsewhere."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine, text
from terminals import seen_at_a_terminal

from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.cli.progress import Lines, progress

COUNTING = """
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.cli.progress import progress
with progress("counted") as told:
    told(1, 2)
    told(2, 2)
print("over")
"""


def count(as_json: bool) -> Result:
    @click.command()
    def counting() -> None:
        with progress("counted", as_json=as_json) as told:
            told(1, 2)
            told(2, 2)
        click.echo("{}")

    return CliRunner().invoke(counting)


def lines_of(*steps: tuple[int, int | None]) -> list[str]:
    written: list[str] = []
    told = Lines("counted", written.append)
    for done, total in steps:
        told(done, total)
    return written


def test_lines_go_where_errors_go() -> None:
    result = count(as_json=False)

    assert (result.stdout, result.stderr) == ("{}\n", "counted 1 of 2\ncounted 2 of 2\n")


def test_beside_json_there_is_no_line() -> None:
    result = count(as_json=True)

    assert (result.stdout, result.stderr) == ("{}\n", "")


def test_of_many_each_twentieth_is_said_and_the_last() -> None:
    written = lines_of(*((done, 1000) for done in range(1, 1001)))

    assert written[:2] == ["counted 1 of 1000", "counted 51 of 1000"]
    assert (len(written), written[-1]) == (21, "counted 1000 of 1000")


def test_of_an_unknown_number_each_doubling_is_said() -> None:
    written = lines_of(*((done, None) for done in range(1, 10)))

    assert written == ["counted 1", "counted 2", "counted 4", "counted 8"]


def test_none_of_none_is_said() -> None:
    assert lines_of((0, 0)) == ["counted 0 of 0"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_terminal_shows_a_bar() -> None:
    shown = seen_at_a_terminal([sys.executable, "-c", COUNTING])

    assert "━" in shown
    assert "2/2" in shown
    assert "counted 2 of 2" not in shown


def test_a_program_that_reads_the_output_reads_no_progress() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNTING], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == "over\n"


# ── a command ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def migrating(database: Engine, tmp_path: Path) -> list[str]:
    """The arguments that migrate a database without any schema."""
    with connected(database) as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    url = database.url.render_as_string(hide_password=False)
    return ["--data-dir", str(tmp_path), "--database-url", url, "migrate"]


@pytest.mark.postgres
def test_a_migration_says_each_step_beside_what_it_says(migrating: list[str]) -> None:
    result = CliRunner().invoke(program, migrating)

    revisions = result.stdout.removeprefix("applied: ").rstrip().split(", ")
    count = len(revisions)
    assert count >= 7
    assert result.stderr.splitlines() == [
        f"applied {done} of {count}" for done in range(1, count + 1)
    ]


@pytest.mark.postgres
def test_a_migration_that_a_program_reads_says_only_json(migrating: list[str]) -> None:
    result = CliRunner().invoke(program, [*migrating, "--json"])

    assert (list(json.loads(result.stdout)), result.stderr) == (["applied"], "")


@pytest.mark.postgres
def test_a_migration_at_a_terminal_shows_a_bar(migrating: list[str]) -> None:
    main = "from turnkeeper.interfaces.cli import main; main()"

    shown = seen_at_a_terminal([sys.executable, "-c", main, *migrating])

    assert "━" in shown
    assert "applied 1 of" not in shown
    assert "applied: 0001" in shown
