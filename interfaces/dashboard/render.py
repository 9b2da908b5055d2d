"""Makes HTML of what pages show. Nothing gets into it unescaped, or unredacted."""

from base64 import b64encode
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from turnkeeper.domain.redact import redact
from turnkeeper.domain.waterfall_rows import tone_of
from turnkeeper.interfaces.amounts import count, in_dollars

PACKAGE = "turnkeeper.interfaces.dashboard"
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
FORMS = (
    (DAY_S, DAY_S, "d"),
    (HOUR_S, HOUR_S, "h"),
    (2 * MINUTE_S, MINUTE_S, "min"),
)
"""From so many seconds on, divided by, and the unit."""


def render(template: str, **values: Any) -> str:
    """A page, or a file, with its style in it."""
    return _environment().get_template(template).render(**values)


@cache
def style_source() -> str:
    """What a policy calls the style that stands in each page, so that no other is taken."""
    style = _environment().get_template("style.css").render()
    return f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    filters = (length_of_time, instant, words, tone, in_path, in_dollars, count)
    environment.filters |= {one.__name__: one for one in filters}
    return environment


def shown(value: Any) -> Any:
    """What a template shows of a value: text is redacted, and escaped after that."""
    if value is None:
        return ""
    # Markup is what a macro has made of values that came through here.
    return redact(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def length_of_time(seconds: float) -> str:
    """A length of time as people say it."""
    for least_s, unit_s, unit in FORMS:
        if seconds >= least_s:
            return f"{seconds / unit_s:.3g} {unit}"
    if seconds >= 1:
        return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s"
    return f"{seconds * 1000:.0f} ms"


def in_path(text: str) -> str:
    """A text as a part of an address; redacted before, since nobody knows a key so spelled."""
    return quote(redact(text))


def instant(at: datetime) -> str:
    """A time of day, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def tone(status: str) -> str:
    """How the end of a turn looks."""
    return tone_of(status).value


def words(name: str) -> str:
    """A name from the code, as people write it."""
    return name.replace("_", " ")
