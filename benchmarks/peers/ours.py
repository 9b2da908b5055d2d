"""turnkeeper's own turn on the memory store, everything on, timed as the peers are."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from driver import main, messages

from benchmarks.happy_turn import HappyTurn
from benchmarks.timing import FirstDelta


class _Told(FirstDelta):
    def __init__(self, first: Callable[[], None]) -> None:
        self._first: Callable[[], None] | None = first

    def came(self) -> None:
        if self._first is not None:
            self._first()
            self._first = None


def make(url: str, models: tuple[str, ...], threads: int) -> Callable[..., str]:
    ours = HappyTurn(
        url,
        models,
        messages(),
        data_dir=Path(tempfile.mkdtemp()),
        max_turns=max(64, threads),
        serialize_channels=False,
    )
    return lambda first: ours.turn(_Told(first))


main(make, "requests")
