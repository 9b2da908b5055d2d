"""Sweepers that are processes of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import Engine, text

from turnkeeper.infrastructure.postgres.engine import connected

Report = dict[str, list[object]]
NOTHING: Mapping[str, str] = MappingProxyType({})


def environment(more: Mapping[str, str] = NOTHING) -> dict[str, str]:
    """Where a process of its own finds the package and the tests' modules."""
    here = Path(__file__).parent
    paths = f"{here.parent / 'src'}{os.pathsep}{here}"
    return {**os.environ, **more, "PYTHONPATH": paths}


def let_it_be_dead(database: Engine) -> None:
    """As if a while had passed in which nobody was alive."""
    with connected(database) as connection:
        connection.execute(
            text("UPDATE turns SET alive_until = alive_until - interval '2 minutes'")
        )


def swept_by_two(
    program: str, *arguments: object, more: Mapping[str, str] = NOTHING
) -> list[Report]:
    """What two sweepers report that begin at once.

    Args:
        program: Says ``ready``, waits for a line, sweeps, and prints its report as JSON.
        more: Variables of its environment.
    """
    sweepers = [
        subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            env=environment(more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for sweeper in sweepers:
        assert sweeper.stdout is not None
        assert sweeper.stdout.readline() == "ready\n"
    for sweeper in sweepers:
        assert sweeper.stdin is not None
        sweeper.stdin.write("go\n")
        sweeper.stdin.flush()
    reports = [json.loads(sweeper.communicate(timeout=60)[0]) for sweeper in sweepers]
    assert [sweeper.returncode for sweeper in sweepers] == [0, 0]
    return reports
