"""Where things stand on a line of time, in percent of its length."""

from datetime import datetime
from math import ceil, floor, log10

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.pool_history import Level, Mark, PoolHistory, Window
from turnkeeper.domain.waterfall_rows import Row, Span, Waterfall

MOST_TICKS = 5
LEAST_SHARE = 0.004
"""What is shorter is drawn so long, to be seen."""
STEPS = (1, 2, 5, 10)


@frozen(kw_only=False)
class Place:
    """Where something stands: from where, and how wide."""

    x: str
    width: str


@frozen(kw_only=False)
class Tick:
    """A mark on the line, with what is written at it, and which end of that stands there."""

    x: str
    label: str
    anchor: str


@frozen
class DrawnRow:
    """A row of a waterfall, and where it stands.

    Attributes:
        row: What it says.
        place: Where.
        first_x: Where its first progress stands, or None.
        quiet: Where it was quiet.
    """

    row: Row
    place: Place
    first_x: str | None
    quiet: tuple[Place, ...]


@frozen
class DrawnFall:
    """A waterfall, and where its rows and ticks stand."""

    rows: tuple[DrawnRow, ...]
    ticks: tuple[Tick, ...]
    length_s: float


@frozen
class DrawnLevel:
    """For how long so many keys were free, and where and how high that stands."""

    level: Level
    place: Place
    y: str
    height: str


@frozen
class DrawnMark:
    """What befell a key, and where that stands."""

    mark: Mark
    place: Place


def drawn_fall(fall: Waterfall) -> DrawnFall:
    """A waterfall on its own line of time."""
    length_s = fall.length_s or 1.0

    def place(span: Span) -> Place:
        return _seen(span.from_s / length_s, span.to_s / length_s)

    rows = tuple(
        DrawnRow(
            row=row,
            place=place(row.span),
            first_x=None
            if row.first_progress_s is None
            else _percent(row.first_progress_s / length_s),
            quiet=tuple(place(span) for span in row.quiet),
        )
        for row in fall.rows
    )
    return DrawnFall(rows=rows, ticks=ticks(length_s), length_s=fall.length_s)


def ticks(length_s: float) -> tuple[Tick, ...]:
    """Round numbers of seconds along a line of this length."""
    rough = length_s / MOST_TICKS
    size = 10.0 ** floor(log10(rough))
    step = next(one for one in STEPS if one * size >= rough * 0.999) * size
    digits = max(0, ceil(-log10(step)))
    numbers = range(int(length_s / step + 1e-9) + 1)
    return tuple(_tick(number * step, length_s, digits) for number in numbers)


def _tick(at_s: float, length_s: float, digits: int) -> Tick:
    share = at_s / length_s
    anchor = "start" if share == 0 else "end" if share > 0.95 else "middle"
    return Tick(_percent(share), f"{at_s:.{digits}f} s", anchor)


def clock_ticks(window: Window) -> tuple[Tick, ...]:
    """Times of day along a window."""
    is_long = (window.until - window.since).total_seconds() > 2 * 86_400
    shape = "%d %b %H:%M" if is_long else "%H:%M"
    length = window.until - window.since
    anchors = ("start", "middle", "middle", "middle", "end")
    return tuple(
        Tick(_percent(n / 4), (window.since + length * n / 4).strftime(shape), anchor)
        for n, anchor in enumerate(anchors)
    )


def drawn_levels(history: PoolHistory, keys: int) -> tuple[DrawnLevel, ...]:
    """How many keys were free, as steps; all of `keys` reach to the top."""
    window = history.window
    return tuple(
        DrawnLevel(
            level=level,
            place=placed(level.since, level.until, window),
            y=_percent(1 - level.free / max(1, keys)),
            height=_percent(level.free / max(1, keys)),
        )
        for level in history.levels
    )


def drawn_marks(history: PoolHistory, key_id: int) -> tuple[DrawnMark, ...]:
    """What befell one key within the window."""
    window = history.window
    return tuple(
        DrawnMark(mark=mark, place=placed(mark.since, mark.until, window))
        for mark in history.marks
        if mark.key_id == key_id and mark.until >= window.since
    )


def placed(since: datetime, until: datetime, window: Window) -> Place:
    """Where a stretch of the time of day stands."""
    start, end = window.share(since), window.share(until)
    return _seen(start, end)


def _seen(start: float, end: float) -> Place:
    width = max(LEAST_SHARE, end - start)
    return Place(_percent(min(start, 1 - width)), _percent(width))


def _percent(share: float) -> str:
    return f"{share * 100:.2f}%"
