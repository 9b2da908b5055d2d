"""The signals by which failures are recognised: one row a signal, the first that fits counts.

Money comes before context, content and the model, these before the key, and bare statuses last,
since providers often send an honest word with a misleading status.

Source: the error documentation of the providers, and their answers as recorded.
"""

import re
from dataclasses import dataclass

from turnkeeper.domain.error_report import ErrorReport
from turnkeeper.domain.failure import FailureKind

_K = FailureKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One signal.

    Attributes:
        id: Its name, by which journals and tests call it.
        kind: What it means.
        providers: Who says so; empty is anybody.
        statuses: With which status, inclusive ranges; empty is any or none.
        words: A code, a type or another symbol, whole and in lower case; None is no such sign.
        says: What the words for people contain, in lower case; None is no such sign.
        until_midnight_pacific: Whether it lasts until then, whatever the provider asks for.

    With both `words` and `says`, one of them is enough; with neither, the status is.
    """

    id: str
    kind: FailureKind
    providers: frozenset[str] = frozenset()
    statuses: tuple[tuple[int, int], ...] = ()
    words: re.Pattern[str] | None = None
    says: re.Pattern[str] | None = None
    until_midnight_pacific: bool = False

    def evidence(self, report: ErrorReport) -> str | None:
        """What of the report shows the signal, such as ``code=1113``; None if nothing does."""
        if self.providers and report.provider not in self.providers:
            return None
        status = report.effective_status
        if self.statuses and not any(low <= (status or 0) <= high for low, high in self.statuses):
            return None
        if self.words is None and self.says is None:
            return f"status={status}" if status is not None else "no signal"
        return self._word_in(report) or self._phrase_in(report)

    def _word_in(self, report: ErrorReport) -> str | None:
        if self.words is None:
            return None
        named = [("code", report.code), ("type", report.type), *(("word", w) for w in report.words)]
        for name, word in named:
            if word is not None and self.words.fullmatch(word.lower()):
                return f"{name}={word}"
        return None

    def _phrase_in(self, report: ErrorReport) -> str | None:
        found = self.says.search(report.text) if self.says is not None else None
        return f"says {found[0]!r}" if found else None


def _any(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts))


def _row(
    id: str,  # noqa: A002 - the column's name
    kind: FailureKind,
    *,
    status: tuple[int, int] | int | None = None,
    words: str | None = None,
    says: tuple[str, ...] = (),
    provider: str | None = None,
    until_midnight_pacific: bool = False,
) -> Rule: ...
