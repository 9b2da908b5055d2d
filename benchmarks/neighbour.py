"""A process beside a benchmark's own, so that the two do not share the interpreter lock."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def neighbour(module: str, *arguments: object) -> Iterator[str]:
    """Runs a module, which prints its address and ends with its standard input; the address."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate("")
