"""Thousands of turns in several processes while everything fails by a seeded script:
``python -m tests.chaos.soak --turns 10000 --processes 4 --seed 1``.

Exits with 0 only if nothing was wrong; else it says what, and how to play it again.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1]


def main(arguments: list[str] | None = None) -> int:
    """Read the arguments and play; the exit code says whether something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak")
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--threads", type=int, default=8, help="of each process")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--servers", type=int, default=120)
    parser.add_argument("--first", type=int, default=0, help="number of the first turn")
    parser.add_argument("--blow-each", type=int, default=200, help="turns to a blow; 0 for none")
    asked = parser.parse_args(arguments)
    sys.path.insert(0, str(TESTS))  # where the other kits are
    from chaos.play import Play, play

    with tempfile.TemporaryDirectory(prefix="tk-soak-") as folder:
        wrong = play(Play(**vars(asked)), Path(folder))
    for one in wrong:
        sys.stdout.write(f"WRONG: {one}\n")
    if wrong:
        sys.stdout.write(f"{len(wrong)} findings; again: {Play(**vars(asked)).command}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
