"""What is run, and that the page which lists it lists all of it."""

import re
from pathlib import Path

from turnkeeper.interfaces.crashtest.ground import Ground
from turnkeeper.interfaces.crashtest.plan import Wanted, planned
from turnkeeper.interfaces.crashtest.ways import WAYS

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "crashtest.md"


def test_the_page_lists_every_fault_by_its_name() -> None:
    cells = planned(Ground(speed=1.0), Wanted())

    listed = re.findall(r"^\| ([A-Z]\d\d) \| (.+?) \|", PAGE.read_text(), re.M)
    assert listed == list(dict.fromkeys((cell.fault, cell.name) for cell in cells))


def test_faults_of_providers_are_met_in_every_dialect_and_others_in_the_first() -> None:
    cells = planned(Ground(speed=1.0), Wanted(faults=("s08", "C01", "D01")))

    assert [(cell.fault, cell.dialect) for cell in cells] == [
        *(("S08", way.name) for way in WAYS),
        ("C01", "openai"),
        ("D01", "openai"),
    ]


def test_a_dialect_may_be_named_in_any_case() -> None:
    cells = planned(Ground(speed=1.0), Wanted(faults=("D07", "S01"), dialects=("Google",)))

    assert [(cell.fault, cell.dialect) for cell in cells] == [("S01", "google"), ("D07", "google")]
