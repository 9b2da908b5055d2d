import json
from pathlib import Path

import pytest
from builders import a_delivery
from click.testing import CliRunner, Result
from contracts.orphans import DEAD_S
from contracts.stores import DAY_S, Stores, an_intent
from sqlalchemy import Engine
from stores_in_postgres import stores_in_postgres

from turnkeeper.application.ports.ledger import Fates
from turnkeeper.interfaces.cli.program import program

pytestmark = pytest.mark.postgres


@pytest.fixture
def arguments(database: Engine, tmp_path: Path) -> list[str]:
    url = database.url.render_as_string(hide_password=False)
    return ["--data-dir", str(tmp_path), "--database-url", url]


def command(arguments: list[str], *more: str) -> Result:
    result = CliRunner().invoke(program, [*arguments, *more])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def leave_a_message(stores: Stores) -> None:
    """A turn that dies with a message in its channel."""
    stores.start(turn_key="trigger//0")
    stores.ledger.intend(an_intent("i1"))
    stores.ledger.settle("t1", Fates(posted=(("i1", a_delivery("m1")),)))
    stores.pass_time(DEAD_S + 1)


def test_a_sweep_says_what_it_found_once(database: Engine, arguments: list[str]) -> None:
    with stores_in_postgres(database) as stores:
        leave_a_message(stores)

    first, second = command(arguments, "sweep", "--now"), command(arguments, "sweep", "--now")

    assert first.stdout.splitlines() == [
        "lost: turn t1 in channel channel",
        "1 lost turns; messages: 0 taken back, 1 stuck, 0 never posted, 0 not sure;"
        " 0 webhooks deleted",
    ]
    assert second.stdout.startswith("0 lost turns;")
    assert (first.stderr, second.stderr) == ("swept 1\n", "")


def test_a_sweep_is_said_as_json(database: Engine, arguments: list[str]) -> None:
    with stores_in_postgres(database) as stores:
        leave_a_message(stores)

    result = command(arguments, "sweep", "--now", "--json")

    report = json.loads(result.stdout)
    assert result.stderr == ""
    (lost,) = report["lost"]
    assert (lost["turn_id"], lost["turn_key"], lost["stuck"]) == ("t1", "trigger//0", ["m1"])
    assert report["stuck"] == ["m1"]


def test_the_doctor_names_what_is_stuck(database: Engine, arguments: list[str]) -> None:
    with stores_in_postgres(database) as stores:
        leave_a_message(stores)
    command(arguments, "sweep", "--now")

    result = command(arguments, "doctor", "--json")

    checks = {line["check"]: line for line in map(json.loads, result.stdout.splitlines())}
    assert (result.exit_code, checks["stuck messages"]["ok"]) == (1, False)
    assert "1 cannot be deleted: m1 in channel channel: " in checks["stuck messages"]["said"]


def test_other_commands_sweep_nothing(database: Engine, arguments: list[str]) -> None:
    with stores_in_postgres(database) as stores:
        leave_a_message(stores)

    command(arguments, "turns")

    assert command(arguments, "sweep", "--now").stdout.startswith("lost: turn t1")


def test_what_is_old_is_pruned(database: Engine, arguments: list[str]) -> None:
    with stores_in_postgres(database) as stores:
        stores.start()
        stores.close()
        stores.pass_time(11 * DAY_S)

    kept = json.loads(command(arguments, "prune", "--days", "30", "--json").stdout)
    pruned = command(arguments, "prune", "--days", "10")

    assert set(kept.values()) == {0}
    assert pruned.stdout.startswith("forgotten: 1 turns, 0 journals")
    assert pruned.stderr == "forgotten 1\n"


def test_how_old_has_to_be_said(arguments: list[str]) -> None:
    assert command(arguments, "prune").exit_code == 2
    assert command(arguments, "prune", "--days", "0").exit_code == 2
