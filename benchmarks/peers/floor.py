"""The tuned floor, timed as the peers are."""

from collections.abc import Callable

from driver import main, messages

from benchmarks.timing import FirstDelta
from benchmarks.tuned_floor import TunedFloor


class _Told(FirstDelta):
    def __init__(self, first: Callable[[], None]) -> None:
        self._first = first

    def came(self) -> None:
        self._first()


def make(url: str, models: tuple[str, ...], threads: int) -> Callable[..., str]:
    ways = [TunedFloor(url, model, messages(), connections=max(64, threads)) for model in models]

    def turn(first: Callable[[], None]) -> str:
        for way in ways[:-1]:
            way.refused()
        return ways[-1].turn(_Told(first))

    return turn


main(make, "requests", "sseclient-py")
