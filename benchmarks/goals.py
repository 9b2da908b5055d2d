"""What is to hold, and whether the results say that it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.results_file import Table

Results = Mapping[str, Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One of them.

    Attributes:
        what: In words.
        value: What the results say; raises KeyError where they say nothing.
        limit: At most this much.
        at_least: Whether it is to be at least so much instead.
    """

    what: str
    value: Callable[[Results], float]
    limit: float
    at_least: bool = False

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


def _cell(file: str, row: str, figure: str) -> Callable[[Results], float]:
    return lambda results: results[file][row][figure]


def _to(top: tuple[str, str, str], bottom: tuple[str, str, str]) -> Callable[[Results], float]:
    return lambda results: _cell(*top)(results) / _cell(*bottom)(results)


def _speed(who: str) -> Callable[[Results], float]:
    return lambda results: 20_000 / results["peers"][who]["stream_20000_wall_us"]


SHORT, LONG = "1 token, 9 messages", "1 token, 200 messages"
OF_256 = ("many_threads", "256, turnkeeper")
STACK = ("imports", "the stack of Turnkeeper", "cpu_ms")

GOALS = (
    Goal(
        what="happy turn, wall, times the floor",
        value=_cell("happy_turn", SHORT, "wall_ratio"),
        limit=1.3,
    ),
    Goal(
        what="happy turn, CPU, times the floor",
        value=_cell("happy_turn", SHORT, "cpu_ratio"),
        limit=1.3,
    ),
    Goal(
        what="with 200 messages, wall, times the floor",
        value=_cell("happy_turn", LONG, "wall_ratio"),
        limit=1.3,
    ),
    Goal(
        what="with 200 messages, CPU, times the floor",
        value=_cell("happy_turn", LONG, "cpu_ratio"),
        limit=1.3,
    ),
    Goal(
        what="durable turn, wall, times the same by hand",
        value=_cell("durable_turn", "turnkeeper", "wall_ratio"),
        limit=1.3,
    ),
    Goal(
        what="durable turn, CPU, times the same by hand",
        value=_cell("durable_turn", "turnkeeper", "cpu_ratio"),
        limit=1.3,
    ),
    Goal(
        what="durable turn in Discord, wall, times the same by hand",
        value=_cell("durable_turn", "turnkeeper, in Discord", "wall_ratio"),
        limit=1.3,
    ),
    Goal(
        what="durable turn in Discord, CPU, times the same by hand",
        value=_cell("durable_turn", "turnkeeper, in Discord", "cpu_ratio"),
        limit=1.3,
    ),
    Goal(
        what="a first model refuses (429), CPU more, in happy turns",
        value=_cell("fallback", "turnkeeper", "extra_cpu"),
        limit=1.5,
    ),
    Goal(
        what="CPU a token of 20,000, times the floor's",
        value=_cell("long_stream", "20,000 tokens", "cpu_ratio"),
        limit=2.0,
    ),
    Goal(
        what="the same, times one of 2,000",
        value=_cell("long_stream", "long to short", "ours"),
        limit=1.15,
    ),
    Goal(
        what="tokens a second of 20,000, times tensorzero's",
        value=lambda r: _speed("ours")(r) / _speed("tensorzero_embedded")(r),
        limit=1.0,
        at_least=True,
    ),
    Goal(
        what="new connections in 500 turns, once warm",
        value=lambda r: max(row["new_connections"] for row in r["connections"].values()),
        limit=0,
    ),
    Goal(
        what="a new HTTPS connection, times that of `requests`",
        value=_cell("wire", "a new HTTPS connection", "is"),
        limit=0.15,
    ),
    Goal(
        what="ms an event is held back, chunked (95 %)",
        value=_cell("wire", "ms an event is held back, chunked", "is"),
        limit=5,
    ),
    Goal(
        what="ms an event is held back, unchunked (95 %)",
        value=_cell("wire", "ms an event is held back, unchunked", "is"),
        limit=5,
    ),
    Goal(
        what="an event of 2 MiB, times one of 1 MiB",
        value=_cell("wire", "an event of 2 MiB to one of 1 MiB", "is"),
        limit=2.5,
    ),
    Goal(
        what="ms added to the first text (p50)",
        value=_cell("wire", "ms added to the first text", "is"),
        limit=1.0,
    ),
    Goal(
        what="256 threads, of the ideal turns a second",
        value=_cell(*OF_256, "of_ideal"),
        limit=0.95,
        at_least=True,
    ),
    Goal(
        what="256 threads, p99 added, times the floor's",
        value=_to((*OF_256, "added_p99_ms"), ("many_threads", "256, floor", "added_p99_ms")),
        limit=3.0,
    ),
    Goal(
        what="256 threads, KiB grown a thread", value=_cell(*OF_256, "grown_kib_a_thread"), limit=80
    ),
    Goal(what="256 threads, peak MB", value=_cell(*OF_256, "most_mb"), limit=120),
    Goal(
        what="two processes, turns a second, times one's",
        value=_to(
            ("processes", "2 processes", "turns_per_s"), ("processes", "1 process", "turns_per_s")
        ),
        limit=1.9,
        at_least=True,
    ),
    Goal(
        what="`import turnkeeper.interfaces`, CPU, times its stack",
        value=_to(
            ("imports", "turnkeeper.interfaces", "cpu_ms"),
            STACK,
        ),
        limit=1.2,
    ),
    Goal(
        what="its `Turnkeeper`, CPU, times its stack",
        value=_to(
            ("imports", "its Turnkeeper", "cpu_ms"),
            STACK,
        ),
        limit=1.2,
    ),
    Goal(
        what="foreign packages that the domain loads",
        value=_cell("imports", "turnkeeper.domain", "foreign"),
        limit=0,
    ),
    Goal(
        what="durable turn, 1,000,000 servers, times few",
        value=_cell("scale", "1,000,000 servers", "ratio"),
        limit=1.2,
    ),
    Goal(
        what="durable turn, 10,000 keys and much else, times few",
        value=_cell("scale", "and 10,000 keys in it", "ratio"),
        limit=1.2,
    ),
    Goal(
        what="durable turn, the largest journal, times none",
        value=lambda r: next(
            row["ratio"] for name, row in r["scale"].items() if name.endswith(" events")
        ),
        limit=1.2,
    ),
    Goal(
        what="CPU of a 1-token turn, times the openai SDK's",
        value=_to(("peers", "ours", "turn_cpu_us"), ("peers", "openai_sdk", "turn_cpu_us")),
        limit=1.0,
    ),
    Goal(
        what="CPU of a 1-token turn, times litellm.Router's",
        value=_to(("peers", "ours", "turn_cpu_us"), ("peers", "litellm_router", "turn_cpu_us")),
        limit=1 / 3,
    ),
)


def judged(results: Results) -> list[tuple[Goal, float | None]]:
    """What the results say for each; None where there are none."""
    said: list[tuple[Goal, float | None]] = []
    for goal in GOALS:
        try:
            said.append((goal, goal.value(results)))
        except (KeyError, StopIteration):
            said.append((goal, None))
    return said
