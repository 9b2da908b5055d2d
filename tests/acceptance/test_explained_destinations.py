"""What `explain` says of the crash test's faults of Discord and of the store, as whole texts.

The texts lie beside this module. After a change of words, look at what
`TURNKEEPER_WRITE_EXPLAINED=1 pytest tests/acceptance/test_explained_destinations.py` makes of them.

Two of them name no trouble, as there is none to see from a turn: Discord opens an archived thread
again for whoever posts in it (D11), and connections that were cut while they rested are replaced
(C04).
"""

from collections.abc import Iterator, Mapping
from itertools import groupby

import pytest
from explained_texts import kept, the_same_each_time

from turnkeeper.interfaces.crashtest import discord_faults, store_faults
from turnkeeper.interfaces.crashtest.crash_test import PROFILES
from turnkeeper.interfaces.crashtest.ground import Ground
from turnkeeper.interfaces.crashtest.plan import Wanted, planned
from turnkeeper.interfaces.crashtest.row import Cell
from turnkeeper.interfaces.explain import explained

OF_DISCORD = [fault.id for fault in discord_faults.FAULTS]
OF_STORE = [fault.id for fault in store_faults.FAULTS]
CUT_IN_USE = ("C05", "C10")
THE_CUT = "(57P01)"
"""What Postgres says of a connection that is cut, to whoever has it in use just then."""


@pytest.fixture(scope="module")
def cells() -> Iterator[Mapping[str, Cell]]:
    """The faults on one ground, by their ids."""
    with Ground(speed=PROFILES["fast"].speed) as ground:
        wanted = Wanted(faults=(*OF_DISCORD, *OF_STORE), dialects=("openai",))
        yield {cell.fault: cell for cell in planned(ground, wanted)}


def story_of(cell: Cell) -> str:
    """The decisions of the turn that meets the fault; what is said again in a row is left out."""
    _, seen = cell.run()
    assert seen is not None
    told = the_same_each_time(map(str, explained(seen.entries, decisions_only=True)))
    return "".join(line for line, _ in groupby(told.splitlines(keepends=True)))


@pytest.mark.parametrize("fault", OF_DISCORD)
def test_each_fault_of_discord_is_explained(fault: str, cells: Mapping[str, Cell]) -> None:
    said = story_of(cells[fault])

    assert said == kept(fault, said)


@pytest.mark.postgres
@pytest.mark.parametrize("fault", sorted({*OF_STORE} - {*CUT_IN_USE}))
def test_each_fault_of_the_store_is_explained(fault: str, cells: Mapping[str, Cell]) -> None:
    said = story_of(cells[fault])

    assert said == kept(fault, said)


@pytest.mark.postgres
@pytest.mark.parametrize("fault", CUT_IN_USE)
def test_a_cut_is_explained_where_a_write_meets_it(fault: str, cells: Mapping[str, Cell]) -> None:
    """Or else the pool does, which replaces the connection in time."""
    said = story_of(cells[fault])

    told = kept(fault, said if THE_CUT in said else "").splitlines()
    assert said.splitlines() in (told, [line for line in told if THE_CUT not in line])
