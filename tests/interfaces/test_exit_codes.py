"""Commands end with the numbers that the page says."""

import re
from pathlib import Path

import click
from click.testing import CliRunner

from turnkeeper.interfaces.cli.program import Program, program

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "operate.md"


@click.group(cls=Program)
def interrupted() -> None:
    """As the program is, with one command that somebody interrupts."""


@interrupted.command()
def wait() -> None:
    raise KeyboardInterrupt


def ended(*arguments: str, folder: Path) -> int:
    environ = {"TURNKEEPER_STORE": "memory", "TURNKEEPER_DATA_DIR": str(folder)}
    return CliRunner().invoke(program, arguments, env=environ).exit_code


def test_each_number_on_the_page_is_what_happens(tmp_path: Path) -> None:
    seen = {
        ended("turns", folder=tmp_path),
        ended("explain", "nothing", folder=tmp_path),
        ended("user", "forget", "ann", folder=tmp_path),
        ended("turns", "--limit", "0", folder=tmp_path),
        CliRunner().invoke(interrupted, ["wait"]).exit_code,
    }

    rows = re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.M)
    assert sorted(seen) == sorted(map(int, rows)) == [0, 1, 2, 130]
