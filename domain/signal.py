"""A sign by which a failure is recognised."""

import re

from turnkeeper.domain.error_report import ErrorReport
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.pattern import lazily


class Shown:
    """What of a report signs are looked for in.

    Attributes:
        provider: Who says it.
        status: With which status.
        symbols: Its codes, types and other symbols: what each is, as it stands, in lower case.
        text: What it says for people, in lower case.
    """

    __slots__ = ("provider", "status", "symbols", "text")

    def __init__(self, report: ErrorReport) -> None:
        symbols = [("code", report.code), ("type", report.type)]
        symbols += [("reason", word) for word in report.words]
        self.provider = report.provider
        self.status = report.effective_status
        self.symbols = [(name, word, word.lower()) for name, word in symbols if word is not None]
        self.text = report.text


@frozen
class Signal:
    """One sign, and what it means.

    With both `words` and `says`, one of them is enough; with neither, the status is.

    Attributes:
        id: Its name, by which journals and tests call it.
        kind: What it means.
        providers: Who says so; empty is anybody.
        statuses: With which status; empty is any, or none.
        words: A code, a type or another symbol, whole and in lower case; None is no such sign.
        says: What the words for people contain, in lower case; None is no such sign.
        until_midnight_pacific: Whether it lasts until then, whatever the provider asks for.
    """

    id: str
    kind: FailureKind
    providers: frozenset[str] = frozenset()
    statuses: frozenset[int] = frozenset()
    words: re.Pattern[str] | None = None
    says: re.Pattern[str] | None = None
    until_midnight_pacific: bool = False

    def evidence(self, shown: Shown) -> str | None:
        """What of a report shows it, such as ``code=1113``; None if nothing does."""
        status = shown.status
        if self.providers and shown.provider not in self.providers:
            return None
        if self.statuses and status not in self.statuses:
            return None
        if self.words is None and self.says is None:
            return "no other signal" if status is None else f"status={status}"
        if self.words is not None:
            for name, word, lowered in shown.symbols:
                if self.words.fullmatch(lowered):
                    return f"{name}={word}"
        found = self.says.search(shown.text) if self.says is not None else None
        return f"says {found[0]!r}" if found else None


def any_of(*patterns: str) -> re.Pattern[str]:
    """One expression for several."""
    return lazily("|".join(patterns))
