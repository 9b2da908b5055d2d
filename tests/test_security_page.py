"""SECURITY.md names tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMED = sorted(set(re.findall(r"`(tests/[\w/.]+)`", (ROOT / "SECURITY.md").read_text())))


@pytest.mark.parametrize("name", NAMED)
def test_what_shows_a_promise_is_there(name: str) -> None:
    assert "def test_" in (ROOT / name).read_text()


def test_every_promise_names_what_shows_it() -> None:
    page = (ROOT / "SECURITY.md").read_text().partition("what shows it")[2].partition("\n## ")[0]
    rows = [line for line in page.splitlines() if line.startswith("| ") and "---" not in line]
    promises = [row for row in rows if not row.startswith("| promise")]

    assert promises
    assert all("`tests/" in row for row in promises)
