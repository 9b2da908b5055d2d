"""A sign by which a failure is recognised, and what finds the first of several."""

import re
from collections.abc import Iterable
from functools import lru_cache

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

    def may_come(self, provider: str, status: int | None) -> bool:
        """Whether the provider may give it with that status."""
        return (not self.providers or provider in self.providers) and (
            not self.statuses or status in self.statuses
        )


class Lookout:
    """Finds the first signal of a report, of those that its provider may give with its status.

    Args:
        signals: In the order in which they are looked for. One of them needs no more than the
            provider and the status.
    """

    __slots__ = ("_last", "_last_evidence", "_of_words", "_saying", "_words")

    def __init__(self, signals: Iterable[Signal], provider: str, status: int | None) -> None:
        fit = [signal for signal in signals if signal.may_come(provider, status)]
        last = next(n for n, one in enumerate(fit) if one.words is None and one.says is None)
        before = list(enumerate(fit[:last]))
        self._last = last, fit[last]
        self._last_evidence = "no other signal" if status is None else f"status={status}"
        self._saying = [(n, one, one.says) for n, one in before if one.says is not None]
        self._of_words = {_group(one): (n, one) for n, one in before if one.words is not None}
        self._words = _any_words(tuple(one for _, one in self._of_words.values()))

    def first_of(self, report: ErrorReport) -> tuple[Signal, str]:
        """The signal, and what of the report shows it, such as ``code=1113``."""
        (end, signal), evidence = self._last, self._last_evidence
        for name, word in _symbols(report):
            found = self._words.fullmatch(word.lower())
            if found is not None:
                n, one = self._of_words[found.lastgroup or ""]
                if n < end:
                    end, signal, evidence = n, one, f"{name}={word}"
        text = report.text
        for n, one, says in self._saying:
            if n >= end:
                break
            if (heard := says.search(text)) is not None:
                return one, f"says {heard[0]!r}"
        return signal, evidence


def any_of(*patterns: str) -> re.Pattern[str]:
    """One expression for several."""
    return lazily("|".join(patterns))


def _symbols(report: ErrorReport) -> list[tuple[str, str]]:
    """Its codes, types and other symbols: what each is, and how it stands there."""
    symbols: list[tuple[str, str]] = []
    if report.code is not None:
        symbols.append(("code", report.code))
    if report.type is not None:
        symbols.append(("type", report.type))
    symbols += [("reason", word) for word in report.words]
    return symbols


@lru_cache(maxsize=64)
def _any_words(signals: tuple[Signal, ...]) -> re.Pattern[str]:
    """One expression for the words of several signals, which names the first that fits."""
    words = ((_group(one), one.words.pattern) for one in signals if one.words is not None)
    return lazily("|".join(f"(?P<{name}>{pattern})" for name, pattern in words))


def _group(signal: Signal) -> str:
    return signal.id.replace("-", "_")
