"""Numbers and names that an error states, and that help the next request along.

Source: the errors of the providers, as documented and recorded.
"""

import re

from turnkeeper.domain.error_report import ErrorReport
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.pattern import lazily


@frozen
class Overrun:
    """How long a prompt was allowed to be and how long it was; None is not said."""

    limit_tokens: int | None = None
    requested_tokens: int | None = None


_N = r"(\d{1,3}(?:,\d{3})+|\d{1,12})"
_AFFORDABLE = lazily(rf"can only afford {_N}")

# First the limit, then what was asked for, unless the names say otherwise.
_LIMIT = _N.replace("(", "(?P<limit>", 1)
_ASKED = _N.replace("(", "(?P<asked>", 1)
_OVERRUNS = tuple(
    lazily(pattern)
    for pattern in (
        rf"length is {_LIMIT}(?: tokens)?.{{0,40}}(?:requested|contains|resulted in|has)"
        rf"(?: about)? {_ASKED}",
        rf"too long: {_ASKED} tokens > {_LIMIT}",
        rf"context limit: {_ASKED} \+ \d+ > {_LIMIT}",
        rf"request \({_ASKED} tokens\).{{0,60}}\({_LIMIT} tokens\)",
        rf"token count \({_ASKED}\).{{0,60}}allowed \({_LIMIT}\)",
        rf"contains {_ASKED} tokens.{{0,60}}with {_LIMIT} maximum",
        rf"limit:? {_LIMIT}, (?:used \d+, )?requested:? {_ASKED}",
        rf"must be <= {_LIMIT}\. given: {_ASKED}",
        rf"(?:context|prompt|sequence) (?:length|size|window) (?:is|of)(?: only)? {_LIMIT}",
    )
)

_NAME = r"[`'\"]?(?P<name>[A-Za-z][A-Za-z_]{1,40})\b"
_QUOTED = r"[`'\"](?P<name>[A-Za-z][A-Za-z_]{1,40})[`'\"]"
_REFUSALS = tuple(
    lazily(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:unsupported|unrecognized|unknown|unexpected|invalid) (?:request )?"
        rf"(?:parameter|argument|field|property|name|value)(?: supplied)?:? {_QUOTED}",
        rf"unrecognized request arguments? supplied: {_NAME}",
        rf"property {_QUOTED} is (?:unsupported|not supported)",
        rf"invalid {_QUOTED}",
        rf"(?:support|supported on this model:?) (?:the )?(?:parameters?|arguments?):? {_NAME}",
        rf"(?:parameter|argument) not supported on this model: {_NAME}",
        rf"{_QUOTED} (?:is|are) (?:not supported|unsupported|not allowed|deprecated)",
        rf"{_QUOTED} and [`'\"][a-z_]+[`'\"] cannot both",
        rf"^{_NAME}: ",
    )
)
_HUMP = lazily(r"(?<=[a-z])(?=[A-Z])")


def affordable_tokens(report: ErrorReport) -> int | None:
    """The output that the balance still pays for."""
    found = _AFFORDABLE.search(report.text)
    return _number(found[1]) if found else None


def overrun_of(report: ErrorReport) -> Overrun:
    """By how much a prompt was too long."""
    details = dict(report.details)
    if "n_ctx" in details and "n_prompt_tokens" in details:
        return Overrun(
            limit_tokens=_number(details["n_ctx"]),
            requested_tokens=_number(details["n_prompt_tokens"]),
        )
    for pattern in _OVERRUNS:
        if found := pattern.search(report.text):
            asked = found["asked"] if "asked" in pattern.groupindex else None
            return Overrun(limit_tokens=_number(found["limit"]), requested_tokens=_number(asked))
    return Overrun()


def refused_parameter(report: ErrorReport) -> str | None:
    """The request parameter that was refused, in snake case."""
    if report.parameter is not None:
        return _snake(report.parameter)
    for pattern in _REFUSALS:
        if found := pattern.search(report.message):
            return _snake(found["name"])
    return None


def _number(text: str | None) -> int | None:
    digits = (text or "").replace(",", "")
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _snake(name: str) -> str:
    return _HUMP.sub("_", name).lower()
