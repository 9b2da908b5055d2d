"""Peers are timed on many threads as turnkeeper is, in environments that know nothing of it."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
BUSY_S = 0.01
SHOWN = {"turns_per_s", "of_ideal", "added_p50_ms", "added_p99_ms", "peak_mb", "wall_p99_ms"}


@pytest.fixture
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.timed_wall", "50", "0.02"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield f"{process.stdout.readline().strip()}/v1"
        process.communicate("", timeout=10)


@pytest.fixture
def paced() -> ModuleType:
    spec = importlib.util.spec_from_file_location("paced", ROOT / "benchmarks" / "paced.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["floor", "ours"])
def test_a_row_of_many_threads_has_what_the_table_shows(name: str, url: str) -> None:
    job = ("case", "threads", url, ("streams",), 1, 4)
    script = ROOT / "benchmarks" / "peers" / f"{name}.py"

    done = subprocess.run(
        [sys.executable, str(script), json.dumps([job])],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
    )

    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)["case"]
    assert row.keys() >= SHOWN
    assert 0 < row["of_ideal"] <= 1.5
    assert row["added_p50_ms"] >= 0


def test_what_peers_run_needs_no_other_package() -> None:
    alone = [sys.executable, "-S", "-c", "import benchmarks.paced"]

    done = subprocess.run(
        alone, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}
    )

    assert done.returncode == 0, done.stderr


def test_turns_that_take_longer_than_ideal_ones_have_a_longer_window(
    paced: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paced, "IDEAL_S", BUSY_S / 10)
    monkeypatch.setattr(paced, "told", lambda url, path: {"p99_ms": 0.0})

    row = paced.measured(_busy, 4, "no wall", turns=10)

    assert 0 < row["turns_per_s"] <= 1.5 / BUSY_S
    assert row["of_ideal"] < 0.5


def test_a_turn_that_fails_is_not_passed_over(paced: ModuleType) -> None:
    def turn() -> None:
        time.sleep(0.01)
        raise ValueError("too many connections")

    running = paced.Paced(turn, 2, says=None, begin_s=0.02, turns=1)

    with pytest.raises(RuntimeError, match="too many connections"):
        running.wait()


def _busy() -> str:
    until_s = time.thread_time() + BUSY_S
    while time.thread_time() < until_s:
        pass
    return "said"
