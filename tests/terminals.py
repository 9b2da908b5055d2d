"""A terminal to run a command at."""

import os
import pty
import subprocess
from collections.abc import Mapping

SIZE = {"COLUMNS": "100", "LINES": "30", "TERM": "xterm-256color"}


def seen_at_a_terminal(command: list[str], environ: Mapping[str, str] | None = None) -> str:
    """All that a command writes to its terminal, of both its streams, to its end."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **SIZE, **(environ or {})},
        )
    finally:
        os.close(theirs)
    written = _all_of(ours)
    os.close(ours)
    assert process.wait(timeout=60) == 0, written
    return written


def _all_of(terminal: int) -> str:
    pieces: list[bytes] = []
    try:
        while piece := os.read(terminal, 65_536):
            pieces.append(piece)
    except OSError:  # what a terminal says when nobody writes to it any more
        pass
    return b"".join(pieces).decode("utf-8", "replace")
