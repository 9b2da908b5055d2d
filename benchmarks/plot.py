"""Small SVG pictures, readable on light and on dark pages."""

import math
from collections.abc import Mapping
from html import escape

WIDTH, LEFT, RIGHT, ROW = 720, 210, 90, 26
TEXT, OURS, OTHERS, GOAL = "#808080", "#2e7d32", "#5c7fa3", "#c62828"
FONT = 'font-family="sans-serif" font-size="13"'


def bars(
    title: str,
    values: Mapping[str, float],
    *,
    ours: str,
    form: str = "{:,.0f}",
    goal: float | None = None,
    log: bool = False,
) -> str:
    """Lying bars, the longest as wide as there is room, ours in another colour.

    Args:
        goal: Where a line is drawn.
        log: Whether each tenfold is as wide; else the bars begin at 0.
    """
    most = max([*values.values(), goal or 0.0])
    least = min(values.values()) / 2 if log else 0.0

    def place(value: float) -> float:
        part = math.log(value / least) / math.log(most / least) if log else value / most
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    height = 40 + ROW * len(values)
    parts = [_text(0, 18, title, bold=True)]
    for number, (name, value) in enumerate(values.items()):
        y = 34 + ROW * number
        colour = OURS if name == ours else OTHERS
        parts.append(_text(LEFT - 8, y + 14, name, anchor="end"))
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{max(1.0, place(value) - LEFT):.1f}"'
            f' height="{ROW - 8}" fill="{colour}"/>'
        )
        parts.append(_text(place(value) + 6, y + 14, form.format(value)))
    if goal is not None:
        x = place(goal)
        parts.append(
            f'<line x1="{x:.1f}" y1="28" x2="{x:.1f}" y2="{height - 6}" stroke="{GOAL}"'
            ' stroke-dasharray="4 3"/>'
        )
    shown = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">\n'
        f"<title>{escape(title)}</title>\n{shown}\n</svg>\n"
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{TEXT}" {FONT}{weight}>'
        f"{escape(text)}</text>"
    )
