"""Arguments that nobody means: each is refused in one line, and never called a bug."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import Commands

from turnkeeper.interfaces.cli.program import program

HALF = "\udce9"
"""What Python makes of the byte E9 in an argument."""
OWNER_OPTIONS = ("--server", "--user")


@pytest.fixture
def run(database_url: str, tmp_path: Path) -> Commands:
    return Commands(database_url, tmp_path)


def with_owners(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """Each command with each of the options by which it takes an owner."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from with_owners(inner, *path, name)
        return
    for one in command.params:
        for option in set(one.opts) & set(OWNER_OPTIONS):
            yield *path, option


@pytest.mark.parametrize("command", [*with_owners(program)], ids=" ".join)
@pytest.mark.parametrize("nobody", ["", " 7"])
def test_an_owner_that_is_none_is_named_before_anything_is_done(
    command: tuple[str, ...], nobody: str
) -> None:
    result = CliRunner().invoke(program, [*command, nobody])

    assert (result.exit_code, result.stdout) == (2, "")
    assert f"an owner's id is a text without outer blanks, not {nobody!r}" in result.stderr


@pytest.mark.postgres
@pytest.mark.parametrize(
    "command", [("model", "show", HALF), ("server", "show", "--server", HALF), ("explain", HALF)]
)
def test_an_argument_that_is_no_text_is_said_to_be_none(
    run: Commands, command: tuple[str, ...]
) -> None:
    said = "an argument is no text: not all of its bytes are UTF-8"

    assert run.refused(*command) == said
    assert json.loads(run(*command, "--json").stderr) == {"error": said, "type": "UsageError"}


@pytest.mark.postgres
@pytest.mark.parametrize("server", ["a[/b]c", "a[red]b", "a\x1b[31mb"])
def test_the_head_of_a_table_is_shown_as_it_is(run: Commands, server: str) -> None:
    run.done("server", "set", "--server", server, "--member-keys-only")

    shown = run.done("server", "show", "--server", server).stdout

    assert server.replace("\x1b", "�") in shown


@pytest.mark.postgres
def test_what_cannot_be_kept_is_refused_by_its_name(run: Commands) -> None:
    huge = str(2**63)
    at = ("--url", "https://models.example/v1")

    assert "token '1' is -100 to 100, not nan" in run.refused("server", "set", "--logit-bias=1=nan")
    assert "not 101" in run.refused("server", "set", "--logit-bias=1=101")
    assert "its name, not ''" in run.refused("endpoint", "add", "", *at)
    for command in (
        ("prune", "--days"),
        ("model", "add", "openai:a", "--window"),
        ("model", "add", "openai:a", "--max-output"),
        ("endpoint", "add", "mine", *at, "--num-ctx"),
        ("endpoint", "add", "mine", *at, "--connection"),
    ):
        result = run(*command, huge)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"Invalid value for '{command[-1]}': {huge} is not in the range" in result.stderr
