"""The wall in a process of its own, so that it does not share the interpreter lock with a client.

``python -m benchmarks.wall_process TOKENS`` prints its address and ends with its standard input.
"""

import sys
from contextlib import AbstractContextManager

from benchmarks.neighbour import neighbour
from turnkeeper.infrastructure.wall.answer import Answer, ToolCall
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall

CALLS = 10  # of a tool, one by one, by the model of that name


def walled(tokens: int = 1, gap_s: float = 0.0) -> AbstractContextManager[str]:
    """Its OpenAI-compatible address; its models are those of `main`."""
    return neighbour("benchmarks.wall_process", tokens, gap_s)


def _calling(seen: Seen) -> Answer:
    """Asks for one call of a tool after the other, and then answers."""
    done = sum(message["role"] == "tool" for message in seen.body["messages"])
    if done == CALLS:
        return Answer(tokens=("all ", "called"), burst=True)
    call = ToolCall(name="twice", arguments=('{"number": ', f"{done}}}"), id=f"call_{done}")
    return Answer(tool_calls=(call,), burst=True)


def main() -> None:
    tokens, gap_s = int(sys.argv[1]), float(sys.argv[2])
    words = tuple(f"word{n} " for n in range(tokens))
    with Wall() as wall:
        wall.script(Answer(tokens=words, burst=True), model="answers")
        wall.script(Answer(tokens=words, gap_s=gap_s), model="streams")
        wall.script(Refuse(status=429, headers=(("Retry-After", "0"),)), model="refuses")
        wall.script(_calling, model="calls")
        print(wall.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
