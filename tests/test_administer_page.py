"""The page on administering: all of its commands run, and it leaves no group out."""

import re
import shlex
from pathlib import Path

import click
import pytest
from commands import Commands

from turnkeeper.interfaces.cli.program import SETTINGS, program

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "administer.md"
KEY = "sk-first-0123456789"


def shown() -> list[tuple[bool, list[str]]]:
    """The commands of the page in their order, with whether a key is piped into each."""
    lines = re.findall(r"^\$ (.+)$", PAGE.read_text(), re.M)
    return [("printf" in line, shlex.split(line.partition("turnkeeper ")[2])) for line in lines]


@pytest.mark.postgres
def test_its_commands_run_as_written(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Commands(database_url, tmp_path)
    monkeypatch.chdir(tmp_path)

    for needs_key, arguments in shown():
        run.done(*arguments, typed=KEY if needs_key else "")

    here, other = run.data("server", "show"), run.data("server", "show", "--server", "other")
    assert {**other, "server": "local", "endpoints": []} == {
        **here,
        "fallbacks": [*here["fallbacks"][:-1], "endpoint:2"],
        "endpoints": [],
    }


def test_it_shows_every_group() -> None:
    assert {arguments[0] for _, arguments in shown()} == {command.name for command in SETTINGS}


def test_every_command_that_it_names_is_there() -> None:
    named = re.findall(r"`(?:turnkeeper )?([a-z]+) ([a-z]+)", PAGE.read_text())

    groups = {name: program.commands[name] for name, _ in named}
    assert named
    for name, command in named:
        group = groups[name]
        assert isinstance(group, click.Group)
        assert command in group.commands
