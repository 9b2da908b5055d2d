"""The rules of the turn are tested so well that a fault planted in them is found.

Some faults are planted each time; with TURNKEEPER_SOAK=1, and by `python tests/mutants.py`, all.
"""

import os

import pytest
from mutants import MUTANTS, ROOT, found

CHOSEN = MUTANTS if os.environ.get("TURNKEEPER_SOAK") == "1" else MUTANTS[::3]


@pytest.fixture(scope="module")
def report() -> dict[str, str]:
    return found(CHOSEN)


@pytest.mark.parametrize("name", [mutant.name for mutant in CHOSEN])
def test_a_planted_fault_is_found(name: str, report: dict[str, str]) -> None:
    assert report[name], f"no test fails although {name}"


def test_each_fault_still_has_its_one_place() -> None:
    odd = [one.name for one in MUTANTS if (ROOT / one.file).read_text().count(one.before) != 1]

    assert odd == []
