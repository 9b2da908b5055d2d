"""turnkeeper's turn, and the floor's, beside each other on one wall."""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.happy_turn import HappyTurn
from benchmarks.run import messages
from benchmarks.tuned_floor import TunedFloor
from benchmarks.wall_process import walled


@contextmanager
def ways(tokens: int, history: int, models: tuple[str, ...]) -> Iterator[dict[str, HappyTurn]]:
    """turnkeeper's turn, and the floor's."""
    with (
        tempfile.TemporaryDirectory() as folder,
        walled(tokens) as url,
        closing(TunedFloor(url, "answers", messages(history))) as floor,
        closing(HappyTurn(url, models, messages(history), data_dir=Path(folder))) as ours,
    ):
        yield {"floor": floor, "turnkeeper": ours}  # type: ignore[dict-item]


SHORT = "1 token, 9 messages"
CASES: dict[str, tuple[int, int, tuple[str, ...]]] = {
    SHORT: (1, 9, ("answers",)),
    "1 token, 200 messages": (1, 200, ("answers",)),
    "rescued after a 429": (1, 9, ("refuses", "answers")),
    "2,000 tokens, 9 messages": (2000, 9, ("answers",)),
}
