"""Standard streams that are closed, or full: one line at most, and never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
MAIN = "from turnkeeper.interfaces.cli import main; main()"


def in_a_shell(command: str, streams: str) -> subprocess.CompletedProcess[str]:
    """Run a command with these redirections."""
    line = f'exec "$0" -c "$1" {command} {streams}'
    return subprocess.run(
        ["sh", "-c", line, sys.executable, MAIN], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", ["--version", "completion bash"])
def test_nobody_is_there_to_be_told(command: str) -> None:
    ended = in_a_shell(command, ">&- 2>&-")

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_closed_input_is_an_empty_one() -> None:
    ended = in_a_shell("replay -", "<&-")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("turnkeeper: the standard input is empty")


@pytest.mark.skipif(not FULL.exists(), reason="this machine has no /dev/full")
@pytest.mark.parametrize("command", ["--version", "completion bash", "replay --help"])
def test_what_finds_no_room_is_said_once_and_is_no_success(command: str) -> None:
    ended = in_a_shell(command, f">{FULL}")

    assert ended.returncode == 1
    assert ended.stderr == "turnkeeper: not all could be written: No space left on device\n"
