"""What `explain` says of faults, as whole texts that are kept beside the acceptance tests."""

import os
import re
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path

TEXTS = Path(__file__).parent / "acceptance" / "explained"


def kept(name: str, said: str) -> str:
    """The kept text of that name; with `TURNKEEPER_WRITE_EXPLAINED=1` what is said, if anything."""
    file = TEXTS / f"{name}.txt"
    if said and os.environ.get("TURNKEEPER_WRITE_EXPLAINED") == "1":
        file.write_text(said)
    return file.read_text()


def the_same_each_time(lines: Iterable[str]) -> str:
    """The text without what differs from run to run: times, places, numbers and ids."""
    text = "\n".join(lines) + "\n"
    text = re.sub(r"\bkey (\d+)", _numbered("key "), text)
    text = re.sub(r"\bmessage (\d{15,})", _numbered("message m"), text)
    text = re.sub(r"guild-\d+", "guild", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "the wall", text)
    text = re.sub(r"/\S+/tk-[^/]+/postgres/\d+", "its folder", text)
    return re.sub(r"^ *\d+\.\d{3} s  ", "", text, flags=re.MULTILINE)


def _numbered(what: str) -> Callable[["re.Match[str]"], str]:
    """Gives each the number of its first appearance."""
    numbers = count(1)
    known: dict[str, int] = {}

    def number(found: "re.Match[str]") -> str:
        if found[1] not in known:
            known[found[1]] = next(numbers)
        return f"{what}{known[found[1]]}"

    return number
