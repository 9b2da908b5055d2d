"""The wall in a process of its own, so that it does not share the interpreter lock with a client.

``python -m benchmarks.wall_process TOKENS`` prints its address and ends with its standard input.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall


@contextmanager
def walled(tokens: int = 1, gap_s: float = 0.0) -> Iterator[str]:
    """Its OpenAI-compatible address; models are ``answers``, ``streams`` and ``refuses``."""
    command = [sys.executable, "-m", "benchmarks.wall_process", str(tokens), str(gap_s)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate("")


def main() -> None:
    tokens, gap_s = int(sys.argv[1]), float(sys.argv[2])
    words = tuple(f"word{n} " for n in range(tokens))
    with Wall() as wall:
        wall.script(Answer(tokens=words, burst=True), model="answers")
        wall.script(Answer(tokens=words, gap_s=gap_s), model="streams")
        wall.script(Refuse(status=429, headers=(("Retry-After", "0"),)), model="refuses")
        print(wall.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
