from dataclasses import replace

from builders import NOON
from past_turns import answered, ended, failed, journal, ran, rescued, started

from turnkeeper.domain.events import SWEPT_SEQ, Entry, TurnStarted, TurnSwept
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import GIVEN_UP
from turnkeeper.domain.owner import Route
from turnkeeper.domain.reports import (
    KindCount,
    ModelRate,
    Past,
    TurnJournal,
    TurnSummary,
    error_kinds,
    rates,
    summary,
)


def past(entries: tuple[Entry, ...]) -> TurnJournal:
    return TurnJournal(turn_id="t1", server="server:guild", over_at=NOON, entries=entries)


def troubled(status: str, kind: FailureKind = FailureKind.RATE_LIMIT) -> TurnJournal:
    return past(
        journal((0.0, started()), (0.1, ran(0, 0)), (1.0, failed(0, 0, kind)), (2.0, ended(status)))
    )


def test_a_rescued_turn_in_a_line() -> None:
    assert summary(rescued()) == TurnSummary(
        status="completed",
        asked="model-0",
        answered_by="model-1",
        attempts=2,
        invocations=2,
        failures=("rate_limit",),
        input_tokens=12,
        output_tokens=34,
        length_s=3.3,
    )
    assert summary(rescued()).was_rescued


def test_a_calm_turn_needed_no_rescue() -> None:
    calm = summary(
        journal((0.0, started()), (0.1, ran(0, 0)), (1.0, answered(0, 0)), (2.0, ended()))
    )

    assert (calm.was_rescued, calm.was_lost, calm.failures) == (False, False, ())


def test_a_model_that_rested_was_not_asked_first() -> None:
    later = journal((0.0, started()), (0.1, ran(1, 0)), (1.0, failed(1, 0)), (2.0, ended("error")))

    assert summary(later).asked == "model-1"
    assert summary(later[:1]).asked == "model-0"


def test_a_turn_that_was_given_up_is_lost() -> None:
    swept = Entry(
        turn_id="t1", seq=SWEPT_SEQ, at_s=99.0, event=TurnSwept(by="other", silent_s=40.0)
    )

    line = summary((*journal((0.0, started()), (0.1, ran(0, 0)), (1.0, failed(0, 0))), swept))

    assert (line.status, line.length_s, line.was_lost) == (GIVEN_UP, 1.0, True)


def test_a_turn_that_was_refused_asked_nobody() -> None:
    empty = replace(started(), attempts=())
    assert isinstance(empty, TurnStarted)

    line = summary(journal((0.0, empty), (0.1, ended("skipped"))))

    assert (line.asked, line.status, line.was_lost) == (None, "skipped", False)


def test_rates_are_by_the_model_that_was_asked_first() -> None:
    seen = Past(
        calm=(("model-0", 7), ("model-1", 2)),
        troubled=(
            past(rescued()),
            troubled("error"),
            troubled("completed"),
            troubled("stopped_by_user"),
        ),
    )

    assert rates(seen) == (
        ModelRate(model="model-0", calm=7, rescued=2, lost=1, stopped=1),
        ModelRate(model="model-1", calm=2),
    )
    assert [(rate.rescue_rate, rate.turns) for rate in rates(seen)] == [(2 / 3, 11), (None, 2)]


def test_error_kinds_are_counted_by_the_model_that_failed() -> None:
    both = past(
        journal(
            (0.0, started(Route.SERVER, Route.SERVER)),
            (0.1, failed(0, 0)),
            (0.2, failed(0, 1)),
            (0.3, failed(1, 2, FailureKind.NETWORK)),
        )
    )

    assert error_kinds(Past(troubled=(both, troubled("error", FailureKind.AUTH)))) == (
        KindCount(model="model-0", kind="rate_limit", count=2),
        KindCount(model="model-0", kind="auth", count=1),
        KindCount(model="model-1", kind="network", count=1),
    )


def test_nothing_says_nothing() -> None:
    assert (rates(Past()), error_kinds(Past())) == ((), ())
