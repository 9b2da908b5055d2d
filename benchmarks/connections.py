"""``python -m benchmarks.connections``: how many connections 500 turns open, seen by the wall."""

import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.happy_turn import HappyTurn
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall

TURNS, WARM_UP = 500, 5
CASES: dict[str, tuple[str, ...]] = {
    "happy": ("answers",),
    "rescued after a 429": ("limited", "answers"),
    "rescued after a 500 of 40 kB": ("broken", "answers"),
}


def opened(models: tuple[str, ...], folder: Path) -> tuple[int, int]:
    """How many connections the turns opened once warm, and how many requests they made."""
    with Wall() as wall:
        wall.script(Answer(tokens=("a ", "b ", "c ")), model="answers")
        wall.script(Refuse(status=429, headers=(("Retry-After", "0"),)), model="limited")
        body = '{"error": {"message": "' + "a bug " * 6_000 + '"}}'
        wall.script(Refuse(status=500, body=body), model="broken")
        with closing(HappyTurn(wall.base_url, models, messages(9), data_dir=folder)) as ours:
            for _ in range(WARM_UP):
                ours.turn()
            connections, requests = wall.connections, len(wall.seen)
            for _ in range(TURNS):
                assert ours.turn() == "a b c"
            return wall.connections - connections, len(wall.seen) - requests


def main() -> None:
    """Count, print a table, keep the figures, and fail where one was opened."""
    table: Table = {}
    print(f"{f'{TURNS} turns, once warm':34}{'requests':>10}{'new connections':>18}")
    with tempfile.TemporaryDirectory() as folder:
        for name, models in CASES.items():
            new, requests = opened(models, Path(folder))
            table[name] = {"turns": TURNS, "requests": requests, "new_connections": new}
            print(f"{name:34}{requests:10}{new:18}")
    keep("connections", table, rounds=1)
    if any(row["new_connections"] for row in table.values()):
        raise SystemExit("a connection was opened where one was there")


if __name__ == "__main__":
    main()
