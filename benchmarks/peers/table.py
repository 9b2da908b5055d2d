"""The table of the peers, as Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.results_file import Table

SHOWN = {
    "floor": "tuned floor",
    "ours": "**turnkeeper**",
    "tensorzero_embedded": "tensorzero, embedded",
    "openai_sdk": "openai SDK",
    "any_llm_loop": "any-llm",
    "langchain_fallbacks": "langchain `with_fallbacks`",
    "pydantic_ai_fallback": "pydantic-ai `FallbackModel`",
    "litellm_router": "litellm `Router`",
}
HEAD = (
    "",
    "1-token turn µs (CPU)",
    "first text µs",
    "429, then the next: µs more (CPU)",
    "2,000 tokens: CPU µs each",
    "20,000 tokens: tokens/s (CPU µs each)",
    "256 threads: turns/s",
    "p99 + ms",
    "peak MB",
)


def printed(table: Table, versions: Mapping[str, Any], absent: Sequence[str]) -> str:
    """A row for each; what it could not do is a dash."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---" + "|---:" * (len(HEAD) - 1) + "|"]
    lines += [
        f"| {' | '.join([_named(name, versions), *_cells(row)])} |" for name, row in table.items()
    ]
    lines += [f"| {SHOWN[name]} | did not install |{' |' * (len(HEAD) - 2)}" for name in absent]
    return "\n".join(lines)


def _named(name: str, versions: Mapping[str, Any]) -> str:
    known = "" if name == "ours" else ", ".join(versions.get(name, {}).values())
    return f"{SHOWN[name]} {known}".strip()


def _cells(row: Mapping[str, float]) -> list[str]:
    def cell(form: str, *names: str, by: float = 1.0) -> str:
        if any(name not in row for name in names):
            return "–"
        return form.format(*(row[name] * by for name in names))

    more = "–"
    if "rescued_wall_us" in row and "turn_wall_us" in row:
        wall, cpu = (row[f"rescued_{one}"] - row[f"turn_{one}"] for one in ("wall_us", "cpu_us"))
        more = f"{wall:,.0f} ({cpu:,.0f})"
    speed = "–"
    if "stream_20000_wall_us" in row:
        per_s = 20_000 / row["stream_20000_wall_us"] * 1e6
        speed = f"{per_s:,.0f} ({row['stream_20000_cpu_us'] / 20_000:,.1f})"
    return [
        cell("{:,.0f} ({:,.0f})", "turn_wall_us", "turn_cpu_us"),
        cell("{:,.0f}", "turn_first_us"),
        more,
        cell("{:,.1f}", "stream_2000_cpu_us", by=1 / 2_000),
        speed,
        cell("{:,.0f}", "threads_256_turns_per_s"),
        cell("{:,.0f}", "threads_256_added_p99_ms"),
        cell("{:,.0f}", "threads_256_peak_mb"),
    ]
