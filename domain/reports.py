"""What past turns say together: how each went, which models need rescuing, what fails."""

from collections import Counter
from datetime import datetime

from turnkeeper.domain import events
from turnkeeper.domain.events import Entry
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import GIVEN_UP, RUNNING, TurnStatus
from turnkeeper.domain.waterfall_rows import Tone, tone_of

UNKNOWN = "unknown"


@frozen
class TurnJournal:
    """What a turn's journal says, most often of one that is over.

    Attributes:
        turn_id: Which turn.
        server: Whose it was, such as ``server:12``; empty where that is not known.
        over_at: When its end was written; of one that runs, its latest entry.
        entries: Its journal, or the part of it that a report needs; in order.
    """

    turn_id: str
    server: str
    over_at: datetime
    entries: tuple[Entry, ...]


@frozen
class TurnSummary:
    """How a turn went, in a line.

    Attributes:
        status: How it ended; else `GIVEN_UP` or `RUNNING`.
        asked: The model that was asked first, or was to be; None where nothing was planned.
        answered_by: The model that did, or None.
        attempts: How many models ran.
        invocations: How often one ran.
        failures: The kinds of what failed, in order.
        input_tokens: Of all invocations, or None where none was reported.
        output_tokens: Of all invocations, or None where none was reported.
        length_s: How long it took, or was known to run.
    """

    status: str
    asked: str | None = None
    answered_by: str | None = None
    attempts: int = 0
    invocations: int = 0
    failures: tuple[str, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    length_s: float = 0.0

    @property
    def was_rescued(self) -> bool:
        """Whether it was answered after something had failed."""
        return self.status == TurnStatus.COMPLETED.value and bool(self.failures)

    @property
    def was_lost(self) -> bool:
        """Whether something failed, and nobody was answered."""
        return bool(self.failures) and tone_of(self.status) is Tone.BAD


@frozen
class Past:
    """The turns of some time.

    Attributes:
        calm: Pairs of a model and how many turns it answered without any failure.
        troubled: Turns in which something failed, newest first.
        is_cut: Whether there were more troubled turns than are listed.
    """

    calm: tuple[tuple[str, int], ...] = ()
    troubled: tuple[TurnJournal, ...] = ()
    is_cut: bool = False


@frozen
class ModelRate:
    """How turns went in which a model was asked first.

    Attributes:
        model: The model's name.
        calm: Answered by it without a failure.
        rescued: Answered after a failure: by another key, another model, or another try.
        lost: Not answered after a failure.
        stopped: Ended by somebody after a failure, before it was known.
    """

    model: str
    calm: int = 0
    rescued: int = 0
    lost: int = 0
    stopped: int = 0

    @property
    def rescue_rate(self) -> float | None:
        """The share of the rescued among those that needed it; None where none did."""
        needed = self.rescued + self.lost
        return self.rescued / needed if needed else None

    @property
    def turns(self) -> int:
        """All of them."""
        return self.calm + self.rescued + self.lost + self.stopped


@frozen
class KindCount:
    """How often a model failed in one way."""

    model: str
    kind: str
    count: int


def summary(entries: tuple[Entry, ...]) -> TurnSummary:
    """A turn's journal in a line."""
    found = [entry.event for entry in entries]
    ends = [one for one in found if isinstance(one, events.TurnEnded)]
    ran = [one for one in found if isinstance(one, events.InvocationStarted)]
    over = [one for one in found if isinstance(one, events.InvocationEnded)]
    return TurnSummary(
        status=_status(found),
        asked=_names(found).get(ran[0].attempt_no if ran else 0),
        answered_by=ends[-1].success_model if ends else None,
        attempts=len({one.attempt_no for one in ran}),
        invocations=len(ran),
        failures=tuple(one.failure.kind.value for one in over if one.failure is not None),
        input_tokens=_sum(tuple(one.input_tokens for one in over)),
        output_tokens=_sum(tuple(one.output_tokens for one in over)),
        length_s=max((one.at_s for one in entries if one.seq < events.SWEPT_SEQ), default=0.0),
    )


def rates(past: Past) -> tuple[ModelRate, ...]:
    """How turns went, by the model that was asked first; the one with most trouble first."""
    calm = Counter(dict(past.calm))
    rescued: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    troubled: Counter[str] = Counter()
    for turn in past.troubled:
        line = summary(turn.entries)
        model = line.asked or UNKNOWN
        troubled[model] += 1
        rescued[model] += line.was_rescued
        lost[model] += line.was_lost
    found = (
        ModelRate(
            model=model,
            calm=calm[model],
            rescued=rescued[model],
            lost=lost[model],
            stopped=troubled[model] - rescued[model] - lost[model],
        )
        for model in {*calm, *troubled}
    )
    return tuple(sorted(found, key=lambda rate: (-troubled[rate.model], -rate.calm, rate.model)))


def error_kinds(past: Past) -> tuple[KindCount, ...]:
    """How often which model failed in which way; what is most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for turn in past.troubled:
        counts.update(_failed(turn.entries))
    found = (KindCount(model=model, kind=kind, count=n) for (model, kind), n in counts.items())
    return tuple(sorted(found, key=lambda one: (-one.count, one.model, one.kind)))


def _failed(entries: tuple[Entry, ...]) -> list[tuple[str, str]]:
    """Pairs of a model and what it failed with."""
    found = [entry.event for entry in entries]
    names = _names(found)
    return [
        (names.get(one.attempt_no, UNKNOWN), one.failure.kind.value)
        for one in found
        if isinstance(one, events.InvocationEnded) and one.failure is not None
    ]


def _names(found: list[events.Event]) -> dict[int, str]:
    """The model of each attempt that was planned, by its number."""
    return {
        attempt.number: attempt.model.name
        for one in found
        if isinstance(one, events.TurnStarted | events.ServerRouteAsked)
        for attempt in one.attempts
    }


def _status(found: list[events.Event]) -> str:
    ends = [one.status for one in found if isinstance(one, events.TurnEnded)]
    was_swept = any(isinstance(one, events.TurnSwept) for one in found)
    return ends[-1] if ends else GIVEN_UP if was_swept else RUNNING


def _sum(counts: tuple[int | None, ...]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
