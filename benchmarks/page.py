"""``python -m benchmarks.page [--check]``: the tables and plots of `docs/performance.md`.

They are made from `results/*.json` and from nothing else, between two marks on the page.
``--check`` writes nothing, and fails where the page or a plot is not what the results give.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.check import BASELINE, NAMES
from benchmarks.goals import Results, judged
from benchmarks.peers.table import SHOWN, printed
from benchmarks.plot import bars
from benchmarks.results_file import RESULTS, Table

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "performance.md"
PLOTS = DOCS / "plots"
BEGIN = "<!-- Made by `python -m benchmarks.page` from benchmarks/results: change nothing here. -->"
END = "<!-- End of what is made. -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How a file of results is shown.

    Attributes:
        title: Above it.
        columns: Figure, head and form of each.
        note: Below it.
        plot: The picture above it.
    """

    title: str
    columns: tuple[tuple[str, str, str], ...]
    note: str = ""
    plot: str = ""


RATIOS = (
    ("floor_us", "floor µs", "{:,.0f}"),
    ("ours_us", "ours µs", "{:,.0f}"),
    ("wall_ratio", "wall ×", "{:.2f}"),
    ("cpu_ratio", "CPU ×", "{:.2f}"),
)
FILES: Mapping[str, Shown] = {
    "happy_turn": Shown(title="A happy turn beside the floor", columns=RATIOS),
    "fallback": Shown(
        title="A first model that refuses (429), on top of a happy turn",
        columns=(
            ("happy_us", "happy µs", "{:,.0f}"),
            ("extra_us", "extra µs", "{:,.0f}"),
            ("extra_wall", "wall ×", "{:.2f}"),
            ("extra_cpu", "CPU ×", "{:.2f}"),
        ),
    ),
    "tool_loop": Shown(title="A turn whose model calls a tool", columns=RATIOS),
    "long_stream": Shown(
        title="CPU a token",
        columns=(
            ("floor_us", "floor µs", "{:.2f}"),
            ("ours_us", "ours µs", "{:.2f}"),
            ("cpu_ratio", "×", "{:.2f}"),
            ("floor", "floor, long to short", "{:.2f}"),
            ("ours", "ours, long to short", "{:.2f}"),
        ),
    ),
    "history": Shown(
        title="Long histories, of which the model's window takes the end",
        columns=(
            ("wall_ms", "wall ms", "{:,.1f}"),
            ("cpu_ms", "CPU ms", "{:,.1f}"),
            ("cpu_us_an_item", "CPU µs an item", "{:.2f}"),
        ),
    ),
    "many_threads": Shown(
        title="Turns of 50 tokens, 20 ms apart, on so many threads",
        columns=(
            ("turns_per_s", "turns/s", "{:,.1f}"),
            ("of_ideal", "of ideal", "{:.2f}"),
            ("added_p50_ms", "p50 + ms", "{:,.1f}"),
            ("added_p99_ms", "p99 + ms", "{:,.1f}"),
            ("cpu_ms_a_turn", "CPU ms a turn", "{:.2f}"),
            ("grown_kib_a_thread", "KiB a thread", "{:,.0f}"),
            ("kept_kib_a_turn", "KiB a past turn", "{:,.1f}"),
            ("most_mb", "MB at most", "{:,.0f}"),
            ("wall_p99_ms", "wall late, p99 ms", "{:,.1f}"),
        ),
        note="Threads begin over the length of a turn; what ends in the five lengths after that"
        " counts, and ideal is that nothing is late. The memory of a thread is what grows while"
        " turns run, once the memory store holds as many past turns as follow; what a past turn"
        " keeps stands beside it. The wall's own lateness is in all rows.",
    ),
    "processes": Shown(
        title="The same on several processes with one database, 64 threads each",
        columns=(
            ("turns_per_s", "turns/s", "{:,.1f}"),
            ("of_ideal", "of ideal", "{:.2f}"),
            ("added_p50_ms", "p50 + ms", "{:,.1f}"),
            ("added_p99_ms", "p99 + ms", "{:,.1f}"),
            ("cpu_ms_a_turn", "CPU ms a turn", "{:.2f}"),
            ("cores", "cores busy", "{:.2f}"),
            ("wall_p99_ms", "wall late, p99 ms", "{:,.1f}"),
        ),
        note="The wall and the database run on the same cores, and are not in the CPU.",
    ),
    "connections": Shown(
        title="New connections, counted by the server, once warm",
        columns=(
            ("turns", "turns", "{:,.0f}"),
            ("requests", "requests", "{:,.0f}"),
            ("new_connections", "new", "{:,.0f}"),
        ),
    ),
    "wire": Shown(
        title="On the wire",
        columns=(
            ("floor", "`requests` or floor", "{:,.2f}"),
            ("ours", "ours", "{:,.2f}"),
            ("is", "judged", "{:,.2f}"),
            ("goal", "goal", "{:,.2f}"),
        ),
        note="Connections and the first text are in ms. Judged is the ratio, of what is held back"
        " the 95th percentile, of the first text the difference.",
    ),
    "imports": Shown(
        title="Imports, with bytecode",
        columns=(
            ("ms", "ms", "{:,.0f}"),
            ("cpu_ms", "CPU ms", "{:,.0f}"),
            ("peak_mb", "peak MB", "{:,.1f}"),
            ("modules", "modules", "{:,.0f}"),
            ("foreign", "foreign packages", "{:,.0f}"),
        ),
    ),
    "durable_turn": Shown(
        title="A whole turn on the embedded Postgres, and the same rows by hand",
        columns=(
            ("wall_us", "wall µs", "{:,.0f}"),
            ("cpu_us", "CPU µs", "{:,.0f}"),
            ("wall_ratio", "wall ×", "{:.2f}"),
            ("cpu_ratio", "CPU ×", "{:.2f}"),
        ),
    ),
    "scale": Shown(
        title="A turn where little is kept, and where much is",
        columns=(
            ("small_us", "little, µs", "{:,.0f}"),
            ("large_us", "much, µs", "{:,.0f}"),
            ("ratio", "×", "{:.2f}"),
            ("least", "least", "{:.2f}"),
            ("most", "most", "{:.2f}"),
        ),
        plot="scale",
        note="Two databases of one server, turn by turn; each row adds to those before it."
        " The plans are in `benchmarks/results/plans/turn.txt`.",
    ),
    "watch": Shown(
        title="How late a limit of 1 s fires",
        columns=(("median_ms", "median ms", "{:,.1f}"), ("most_ms", "most ms", "{:,.1f}")),
    ),
    "stop": Shown(
        title="A stop, until",
        columns=(
            ("line_median_ms", "line closed, ms", "{:,.1f}"),
            ("line_most_ms", "at most", "{:,.1f}"),
            ("turn_median_ms", "turn ended, ms", "{:,.1f}"),
        ),
    ),
    "discord_bot": Shown(
        title="How late a bot's event loop is beside its turns",
        columns=(("median_ms", "median ms", "{:,.1f}"), ("most_ms", "most ms", "{:,.1f}")),
    ),
}


def block(kept: Mapping[str, Any]) -> str:
    """All between the marks, the marks with it.

    Args:
        kept: What the files of results hold, by their names.
    """
    parts = [BEGIN, *_goals({name: one["table"] for name, one in kept.items()})]
    if "peers" in kept:
        parts += _peers(kept["peers"])
    for name, shown in FILES.items():
        if name in kept:
            picture = f"![{shown.plot}](plots/{shown.plot}.svg)" if shown.plot else ""
            table = _table(kept[name]["table"], shown)
            some = (f"### {shown.title}", picture, table, _made(kept[name]), shown.note)
            parts += [part for part in some if part]
        if name == "happy_turn":
            parts += _calls()
    return "\n\n".join([*parts, END])


def plots(kept: Mapping[str, Any]) -> dict[str, str]:
    """The pictures, by the names of their files."""
    drawn: dict[str, str] = {}
    if "peers" in kept:
        table: Table = kept["peers"]["table"]
        ours = SHOWN["ours"].strip("*")
        for name, title, figure, log in (
            ("peers-turn", "CPU µs of a 1-token turn (by tenfold)", "turn_cpu_us", True),
            (
                "peers-token",
                "CPU µs a token of 20,000 (each tenfold as wide)",
                "stream_20000_cpu_us",
                True,
            ),
            ("peers-threads", "turns a second of 256 threads", "threads_256_turns_per_s", False),
        ):
            divided = 20_000 if "token of" in title else 1
            values = {
                SHOWN[who].replace("*", "").replace("`", ""): row[figure] / divided
                for who, row in table.items()
                if figure in row
            }
            form = "{:,.1f}" if divided > 1 else "{:,.0f}"
            drawn[name] = bars(title, values, ours=ours, log=log, form=form)
    if "scale" in kept:
        ratios = {name: row["ratio"] for name, row in kept["scale"]["table"].items()}
        title = "a turn where much is kept, times one where little is (line: 1.2)"
        drawn["scale"] = bars(title, ratios, ours="", form="{:.2f}", goal=1.2)
    return drawn


def _goals(results: Results) -> Iterator[str]:
    yield "### What is to hold"
    rows = ["| | is | goal | |", "|---|---:|---:|---|"]
    for goal, value in judged(results):
        sign = "≥" if goal.at_least else "≤"
        limit = f"{sign} {goal.limit:.3g}"
        if value is None:
            rows.append(f"| {goal.what} | – | {limit} | not measured |")
        else:
            shown = f"{value:,.2f}" if value % 1 else f"{value:,.0f}"
            rows.append(f"| {goal.what} | {shown} | {limit} | {_word(goal.holds(value))} |")
    yield "\n".join(rows)


def _word(holds: bool) -> str:
    return "holds" if holds else "**missed**"


def _peers(kept: Mapping[str, Any]) -> Iterator[str]:
    yield "### Beside its peers"
    yield printed(kept["table"], kept["versions"], kept["absent"])
    yield _made(kept)
    yield f"The last four columns: {kept['heavy_rounds']} round(s)."
    for name in ("peers-turn", "peers-token", "peers-threads"):
        yield f"![{name}](plots/{name}.svg)"


def _calls() -> Iterator[str]:
    """The baseline of `make bench-check`."""
    yield "### What a turn carries out (`make bench-check`)"
    rows = ["| | floor | ours |", "|---|---:|---:|"]
    known = json.loads(BASELINE.read_text())
    for what, words in NAMES.items():
        for name, row in known[what].items():
            rows.append(f"| {words}, {name} | {row['floor']:,} | {row['turnkeeper']:,} |")
    yield "\n".join(rows)


def _table(table: Table, shown: Shown) -> str:
    columns = [one for one in shown.columns if any(one[0] in row for row in table.values())]
    lines = ["| | " + " | ".join(head for _, head, _ in columns) + " |"]
    lines.append("|---" + "|---:" * len(columns) + "|")
    for name, row in table.items():
        cells = [form.format(row[one]) if one in row else "–" for one, _, form in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _made(kept: Mapping[str, Any]) -> str:
    machine = kept["machine"]
    load = f", load {machine['load']:g}" if "load" in machine else ""
    rounds = f"{kept['rounds']} round{'s' if kept['rounds'] > 1 else ''}"
    python, cores = machine["python"], machine["cores"]
    return f"*{rounds}; {kept['at'][:10]}; Python {python}, {cores} cores{load}.*"


def read() -> dict[str, Any]:
    """All files of results."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}


def made() -> dict[Path, str]:
    """The page and the plots as they are to be, by their paths."""
    kept = read()
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"{PAGE} has no place for the tables: put in the lines {BEGIN} and {END}")
    files = {PLOTS / f"{name}.svg": drawn for name, drawn in plots(kept).items()}
    return {PAGE: before + block(kept) + after, **files}


def main() -> None:
    """Write the page and the plots, or say which are not as they are to be."""
    files = made()
    if "--check" in sys.argv:
        wrong = [
            path.name
            for path, text in files.items()
            if not path.exists() or path.read_text() != text
        ]
        if wrong:
            raise SystemExit(
                f"{', '.join(wrong)}: not what the results give; run `python -m benchmarks.page`"
            )
        return
    PLOTS.mkdir(exist_ok=True)
    for path, text in files.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
