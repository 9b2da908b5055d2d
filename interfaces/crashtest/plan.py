"""Which faults a crash test runs in which dialects."""

from collections.abc import Sequence
from difflib import get_close_matches

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import frozen
from turnkeeper.interfaces.crashtest import discord_faults, provider_faults, store_faults
from turnkeeper.interfaces.crashtest.ground import Ground
from turnkeeper.interfaces.crashtest.row import Cell

KINDS = (provider_faults, store_faults, discord_faults)


@frozen
class Wanted:
    """What somebody asked for; where nothing is named, all of it.

    Attributes:
        faults: By their ids.
        dialects: By their names.
    """

    faults: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()


def planned(ground: Ground, wanted: Wanted) -> tuple[Cell, ...]:
    """The cells of a crash test, in the order of its report.

    Raises:
        SettingsError: There is no such fault, or no such dialect.
    """
    dialects = _chosen("dialect", tuple(ground.ways), wanted.dialects)
    cells = tuple(cell for kind in KINDS for cell in kind.cells(ground, dialects))
    known = tuple(dict.fromkeys(cell.fault for cell in cells))
    faults = _chosen("fault", known, wanted.faults)
    return tuple(cell for cell in cells if cell.fault in faults)


def _chosen(kind: str, known: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """What was asked for, in the order of what is known; all of it where nothing was."""
    by_name = {name.lower(): name for name in known}
    for name in asked:
        if name.lower() not in by_name:
            near = get_close_matches(name.lower(), by_name, n=1, cutoff=0.6)
            meant = f"; did you mean {by_name[near[0]]}?" if near else ""
            listed = ", ".join(known)
            raise SettingsError(f"there is no {kind} {name!r}; there are: {listed}{meant}")
    wanted = {name.lower() for name in asked}
    return tuple(name for name in known if not wanted or name.lower() in wanted)
