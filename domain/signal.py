"""A sign by which a failure is recognised."""

import re

from turnkeeper.domain.error_report import ErrorReport
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.pattern import lazily


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

    def evidence(self, report: ErrorReport) -> str | None:
        """What of the report shows it, such as ``code=1113``; None if nothing does."""
        status = report.effective_status
        if self.providers and report.provider not in self.providers:
            return None
        if self.statuses and status not in self.statuses:
            return None
        if self.words is None and self.says is None:
            return "no other signal" if status is None else f"status={status}"
        return self._word_in(report) or self._phrase_in(report)

    def _word_in(self, report: ErrorReport) -> str | None:
        if self.words is None:
            return None
        symbols = (("code", report.code), ("type", report.type))
        for name, word in (*symbols, *(("reason", word) for word in report.words)):
            if word is not None and self.words.fullmatch(word.lower()):
                return f"{name}={word}"
        return None

    def _phrase_in(self, report: ErrorReport) -> str | None:
        found = self.says.search(report.text) if self.says is not None else None
        return f"says {found[0]!r}" if found else None


def any_of(*patterns: str) -> re.Pattern[str]:
    """One expression for several."""
    return lazily("|".join(patterns))
