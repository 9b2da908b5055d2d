"""`turnkeeper user forget`."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from contracts.stores import Stores
from contracts.user_traces import ALL, UserTracesContract
from sqlalchemy import Engine
from stores_in_postgres import stores_in_postgres

from turnkeeper.application.ports.user_traces import Traces
from turnkeeper.interfaces.cli.program import program

pytestmark = pytest.mark.postgres

COUNTED = (
    "2 turns with 4 journal entries (2 of tools) and 2 messages in the ledger, 1 notices,"
    " 4 cooldown and quota counts, 2 keys, 3 settings"
)


@pytest.fixture
def run(database: Engine, tmp_path: Path) -> Any:
    url = database.url.render_as_string(hide_password=False)
    before = ("--data-dir", str(tmp_path), "--database-url", url)

    def run(*arguments: str, typed: str = "") -> Result:
        result = CliRunner().invoke(program, [*before, "user", "forget", *arguments], input=typed)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return run


@pytest.fixture
def stores(database: Engine) -> Iterator[Stores]:
    """Two users of whom something of each kind is kept."""
    with stores_in_postgres(database) as stores:
        for name in ("ann", "bob"):
            UserTracesContract().settle_in(stores, name)
        yield stores


def test_it_is_asked_first_with_what_there_is(run: Any, stores: Stores) -> None:
    refused = run("ann", typed="n\n")
    kept = stores.traces.count("ann")
    agreed = run("ann", typed="y\n")

    assert (refused.exit_code, kept) == (1, ALL)
    assert refused.stderr.startswith(f"Delete {COUNTED} of user ann? [y/N]: ")
    assert (agreed.exit_code, agreed.stdout) == (0, f"user ann: deleted {COUNTED}\n")
    assert (stores.traces.count("ann"), stores.traces.count("bob")) == (Traces(), ALL)


def test_programs_say_yes_and_read_the_counts(run: Any, stores: Stores) -> None:
    result = run("ann", "--yes", "--json")

    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {"user": "ann", **asdict(ALL)}


def test_without_an_answer_nothing_is_deleted(run: Any, stores: Stores) -> None:
    result = run("ann", "--json")

    assert (result.exit_code, result.stdout) == (1, "")
    assert stores.traces.count("ann") == ALL


def test_a_turn_that_runs_stays_and_is_said(run: Any, stores: Stores) -> None:
    stores.start("t1", channel_id="here")

    result = run("ann", "--yes")

    assert result.exit_code == 1
    assert "1 turns are not over" in result.stdout
    assert stores.traces.count("ann") == replace(Traces(), unfinished=1)


def test_a_name_that_cannot_be_one_is_refused(run: Any) -> None:
    assert run("ann ", "--yes").exit_code == 2
