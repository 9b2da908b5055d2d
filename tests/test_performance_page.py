"""The page of what turns cost says what the results say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_tables_and_plots_are_what_the_results_give() -> None:
    checking = [sys.executable, "-m", "benchmarks.page", "--check"]

    done = subprocess.run(checking, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
