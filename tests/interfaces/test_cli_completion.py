"""Shells complete the commands with the scripts that are printed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from turnkeeper.interfaces.cli.program import program

MAIN = "from turnkeeper.interfaces.cli import main; main()"


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """A folder in which turnkeeper is a command."""
    script = tmp_path / "turnkeeper"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{MAIN}" "$@"\n')
    script.chmod(0o755)
    return tmp_path


def run(command: list[str], commands: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    known = os.environ | {"PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        command, env=known | environ, capture_output=True, text=True, timeout=60, check=True
    )


def test_the_program_says_what_may_follow(commands: Path) -> None:
    asked = {
        "_TURNKEEPER_COMPLETE": "bash_complete",
        "COMP_WORDS": "turnkeeper secr",
        "COMP_CWORD": "1",
    }

    assert run(["turnkeeper"], commands, **asked).stdout == "plain,secrets\n"


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here to complete anything")
def test_bash_completes_with_the_printed_script(commands: Path) -> None:
    script = (
        "source <(turnkeeper completion bash); COMP_WORDS=(turnkeeper secrets ro); COMP_CWORD=2;"
        ' _turnkeeper_completion turnkeeper; echo "${COMPREPLY[@]}"; complete -p turnkeeper'
    )

    done = run(["bash", "--norc", "-c", script], commands)

    assert done.stdout.splitlines() == [
        "rotate",
        "complete -o nosort -F _turnkeeper_completion turnkeeper",
    ]


@pytest.mark.parametrize(
    ("shell", "begins"),
    [
        ("bash", "_turnkeeper_completion()"),
        ("zsh", "#compdef turnkeeper"),
        ("fish", "function _turnkeeper_completion"),
    ],
)
def test_each_shell_has_a_script(shell: str, begins: str) -> None:
    result = CliRunner().invoke(program, ["completion", shell])

    assert (result.exit_code, result.stdout.lstrip().startswith(begins)) == (0, True)
    assert f"_TURNKEEPER_COMPLETE={shell}_complete" in result.stdout


def test_another_shell_is_named_with_those_that_there_are() -> None:
    result = CliRunner().invoke(program, ["completion", "tcsh"])

    assert (result.exit_code, "'bash', 'zsh', 'fish'" in result.stderr) == (2, True)
