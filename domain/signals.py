"""Recognises what an error report means."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from turnkeeper.domain.error_facts import affordable_tokens, overrun_of, refused_parameter
from turnkeeper.domain.error_report import ErrorReport
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.redact import redact
from turnkeeper.domain.retry_hint import hinted_s, midnight_pacific_s

if TYPE_CHECKING:
    from turnkeeper.domain.signal import Signal

LONGEST_MESSAGE = 600
LONGEST_EVIDENCE = 160
LONGEST_CODE = 80

_OUTPUT_LIMIT = re.compile(r"^(token limit reached|max(imum)? (output )?tokens reached)")


def recognise(report: ErrorReport, *, now: datetime, secrets: Iterable[str] = ()) -> Failure:
    """Return the failure that the report describes, redacted.

    Args:
        now: Against which dates and days are measured; aware.
        secrets: The keys in use, which the report may repeat.
    """
    signal, evidence = _first(report)
    known = tuple(secrets)
    overrun = overrun_of(report) if signal.kind is FailureKind.CONTEXT_TOO_LONG else None
    return Failure(
        kind=signal.kind,
        message=_clean(_message_of(report), known, LONGEST_MESSAGE),
        provider=report.provider,
        status=report.status,
        code=_clean(report.code, known, LONGEST_CODE) if report.code else None,
        rule=signal.id,
        evidence=_clean(evidence, known, LONGEST_EVIDENCE),
        in_band=report.in_band,
        retry_after_s=_wait_s(signal, report, now),
        affordable_tokens=affordable_tokens(report) if signal.kind is FailureKind.QUOTA else None,
        limit_tokens=overrun.limit_tokens if overrun else None,
        requested_tokens=overrun.requested_tokens if overrun else None,
        parameter=_parameter(signal, report, known),
    )


def says_output_limit(report: ErrorReport) -> bool:
    """Whether it is no failure but the end of an answer that used up its output tokens."""
    return report.in_band and _OUTPUT_LIMIT.match(report.message.lower()) is not None


def _first(report: ErrorReport) -> tuple["Signal", str]:
    # Imported with the first failure: a turn that goes well needs none of it.
    from turnkeeper.domain.signal_rules import lookout

    return lookout(report.provider, report.effective_status).first_of(report)


def _message_of(report: ErrorReport) -> str:
    """What the provider said, and what the one behind it said, which is often all there is."""
    said = ": ".join(filter(None, (report.message, report.upstream)))
    if said:
        return said
    answered = "an error" if report.status is None else f"status {report.status}"
    return f"{report.provider or 'the provider'} answered with {answered} and no message"


def _clean(text: str, secrets: tuple[str, ...], limit: int) -> str:
    return redact(" ".join(text.split()), secrets, limit=limit)


def _wait_s(signal: "Signal", report: ErrorReport, now: datetime) -> float | None:
    if signal.until_midnight_pacific:
        return midnight_pacific_s(now)
    said = f"{report.message}\n{report.upstream}"
    return hinted_s(report.headers, said, dict(report.details), now=now)


def _parameter(signal: "Signal", report: ErrorReport, secrets: tuple[str, ...]) -> str | None:
    if signal.kind is not FailureKind.BAD_REQUEST:
        return None
    name = refused_parameter(report)
    return redact(name, secrets, limit=LONGEST_CODE) if name else None
