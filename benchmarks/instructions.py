"""How many machine instructions a turn carries out, by cachegrind; no noise is in it.

``python -m benchmarks.instructions WHO TURNS`` carries out so many turns, for cachegrind to count.
"""

import os
import re
import shutil
import subprocess
import sys

from benchmarks.ways import CASES, SHORT, ways

FEW, MANY = 50, 250
_REFERENCES = re.compile(r"I\s+refs:\s+([\d,]+)")


def instructions(who: str) -> float | None:
    """Those of a happy turn of one token and 9 messages; None where there is no valgrind."""
    if shutil.which("valgrind") is None:
        return None
    return (_of(who, MANY) - _of(who, FEW)) / (MANY - FEW)


def _of(who: str, turns: int) -> int:
    """Those of a whole process that carries out so many turns."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command += [sys.executable, "-m", "benchmarks.instructions", who, str(turns)]
    fixed = os.environ | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=fixed)
    found = _REFERENCES.search(done.stderr)
    assert found is not None, done.stderr
    return int(found[1].replace(",", ""))


if __name__ == "__main__":
    with ways(*CASES[SHORT]) as both:
        for _ in range(int(sys.argv[2])):
            both[sys.argv[1]].turn()
