"""``python -m benchmarks.tool_loop``: a turn with ten calls of a tool, one by one."""

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
from sseclient import SSEClient

from benchmarks.happy_turn import HappyTurn
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timing import side_by_side
from benchmarks.tuned_floor import TunedFloor
from benchmarks.wall_process import CALLS, walled
from turnkeeper.infrastructure.tools.registry import ToolRegistry

ROUNDS, TURNS, WARM_UP = 7, 15, 10
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "twice",
            "description": "Double a number.",
            "parameters": {
                "type": "object",
                "properties": {"number": {"type": "integer"}},
                "required": ["number"],
            },
        },
    }
]

tools = ToolRegistry()


@tools.tool
def twice(number: int) -> int:
    """Double a number."""
    return 2 * number


class ToolFloor(TunedFloor):
    """The tuned floor in a loop of its own, until there are no more calls."""

    def loop(self) -> str:
        before = self._messages
        while True:
            text, call = self._asked()
            if call is None:
                self._messages = before
                return text
            result = orjson.dumps(twice(**orjson.loads(call["arguments"]))).decode()
            function = {"name": call["name"], "arguments": call["arguments"]}
            asked = {"id": call["id"], "type": "function", "function": function}
            self._messages = [
                *self._messages,
                {"role": "assistant", "content": None, "tool_calls": [asked]},
                {"role": "tool", "tool_call_id": call["id"], "content": result},
            ]

    def _body(self) -> dict[str, Any]:
        return super()._body() | {"tools": TOOLS}

    def _asked(self) -> tuple[str, dict[str, str] | None]:
        text, call = [], None
        for event in SSEClient(self._sent().iter_content(None)).events():
            if event.data == "[DONE]":
                continue
            choices = orjson.loads(event.data)["choices"]
            delta = choices[0]["delta"] if choices else {}
            text.append(delta.get("content") or "")
            for piece in delta.get("tool_calls") or ():
                if call is None:
                    name = piece["function"]["name"]
                    call = {"id": piece["id"], "name": name, "arguments": ""}
                call["arguments"] += piece["function"].get("arguments") or ""
        return "".join(text), call


def measured(folder: Path) -> Table:
    """Both ways in turn."""
    said = messages(9)
    with (
        walled() as url,
        closing(ToolFloor(url, "calls", said)) as floor,
        closing(HappyTurn(url, ("calls",), said, data_dir=folder, tools=tools)) as ours,
    ):
        assert floor.loop().strip() == ours.turn() == "all called"
        ways = {"floor": floor.loop, "turnkeeper": ours.turn}
        for _ in range(WARM_UP):
            for way in ways.values():
                way()
        seen = side_by_side(ways, rounds=ROUNDS, turns=TURNS)
    floor_, ours_ = seen["floor"], seen["turnkeeper"]
    row = {
        "floor_us": floor_.wall_s * 1e6,
        "ours_us": ours_.wall_s * 1e6,
        "wall_ratio": ours_.wall_s / floor_.wall_s,
        "cpu_ratio": ours_.cpu_s / floor_.cpu_s,
    }
    return {f"{CALLS} calls of a tool": row}


def main() -> None:
    """Measure, print a table, keep the figures."""
    with tempfile.TemporaryDirectory() as folder:
        table = measured(Path(folder))
    print(f"{'':24}{'floor µs':>10}{'ours µs':>10}{'wall ×':>8}{'CPU ×':>8}")
    for name, row in table.items():
        floor, ours, wall, cpu = row.values()
        print(f"{name:24}{floor:10.0f}{ours:10.0f}{wall:8.2f}{cpu:8.2f}")
    keep("tool_loop", table, rounds=ROUNDS)


if __name__ == "__main__":
    main()
