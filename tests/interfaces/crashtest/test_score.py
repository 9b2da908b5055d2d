"""What is made of what was seen, on turns that never ran."""

from dataclasses import replace
from typing import Any

import pytest

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.infrastructure.wall.fault import STORY, Fault, Outage
from turnkeeper.infrastructure.wall.faults import FAULTS
from turnkeeper.interfaces.crashtest.observed import Call, Caller, Channel, Observed, Provider
from turnkeeper.interfaces.crashtest.score import Grade, Score, score, score_outage
from turnkeeper.interfaces.crashtest.street import TEXTS

NEXT, STOP = ContentFilterPolicy.NEXT, ContentFilterPolicy.STOP
BY_ID = {fault.id: fault for fault in FAULTS if isinstance(fault, Fault)}
(OUTAGE,) = (fault for fault in FAULTS if isinstance(fault, Outage))


def asked(*calls: tuple[float, int], key: str = "a") -> Provider:
    made = tuple(Call(at_s=at_s, size_bytes=size, key=key) for at_s, size in calls)
    return Provider(primary=made)


ONCE = asked((0.0, 100))
TWICE = asked((0.0, 100), (2.0, 90))


def answered(by: Any, took_s: float = 1.0, provider: Provider = ONCE, **more: Any) -> Observed:
    caller = Caller(
        took_s=took_s,
        status=TurnStatus.COMPLETED,
        answered_by=by,
        text=TEXTS[by],
        used_tokens=(70, 7),
        **more,
    )
    return Observed(caller=caller, provider=provider, channel=Channel(said=(TEXTS[by],)))


def refused(*failures: FailureKind, errors: int = 1, calls: Provider = ONCE) -> Observed:
    caller = Caller(took_s=1.0, status=TurnStatus.ERROR, failures=failures)
    return Observed(caller=caller, provider=calls, channel=Channel(errors=errors))


@pytest.mark.parametrize(
    ("fault_id", "seen"),
    [
        ("S01", answered("primary", provider=TWICE)),
        ("S03", answered("primary", provider=TWICE)),
        ("S06", answered("fallback", took_s=99.0)),
        ("S07", answered("fallback", took_s=14.9)),
        ("S08", answered("fallback")),
        ("S12", answered("fallback", provider=TWICE)),
        ("S16", answered("fallback")),
    ],
)
def test_what_was_survived_is_passed(fault_id: str, seen: Observed) -> None:
    assert score(BY_ID[fault_id], seen, NEXT) == Score(grade=Grade.PASS)


@pytest.mark.parametrize(
    ("fault_id", "seen", "why"),
    [
        ("S01", answered("primary", provider=asked((0.0, 9), (1.7, 9))), "asked again after 1.7 s"),
        ("S03", answered("primary", provider=ONCE), "asked 1 times, not 2 to 2"),
        ("S03", answered("fallback", provider=TWICE), "answered by the fallback"),
        ("S06", answered("fallback", took_s=101.0), "late: it took 101.0 s, not 100 s"),
        ("S07", answered("fallback", took_s=15.1), "late: it took 15.1 s, not 15 s"),
        ("S07", answered("primary", took_s=20.0), "answered by the primary"),
        ("S12", answered("fallback", provider=asked((0, 9), (1, 9))), "not smaller"),
        ("S12", answered("fallback", provider=asked((0, 9), (1, 8), (2, 7))), "asked 3 times"),
        ("S13", refused(FailureKind.TIMEOUT), "the reason was not passed on"),
    ],
)
def test_an_answer_that_cost_too_much_is_partial(fault_id: str, seen: Observed, why: str) -> None:
    got = score(BY_ID[fault_id], seen, STOP)

    assert (got.grade, got.counts_as_passed) == (Grade.PARTIAL, False)
    assert why in got.why[0]


def test_a_wait_counts_for_the_key_that_asked_for_it() -> None:
    calls = (*asked((0.0, 9)).primary, *asked((0.1, 9), key="b").primary)

    seen = answered("primary", provider=Provider(primary=calls))

    assert score(BY_ID["S01"], seen, NEXT) == Score(grade=Grade.PASS)


def test_the_usage_is_the_fallbacks() -> None:
    seen = answered("fallback")
    wrong = replace(seen, caller=replace(seen.caller, used_tokens=(80, 7)))

    assert score(BY_ID["S16"], wrong, NEXT).grade is Grade.PARTIAL


def test_a_refusal_that_stands_is_passed_where_the_setting_is_stop() -> None:
    assert score(BY_ID["S13"], refused(FailureKind.CONTENT_FILTER), STOP).grade is Grade.PASS
    routed = score(BY_ID["S13"], answered("fallback"), STOP)
    assert (routed.grade, routed.by_choice) == (Grade.PARTIAL, False)


def test_by_default_it_is_partial_by_choice_and_counts_as_passed() -> None:
    routed = score(BY_ID["S13"], answered("fallback"), NEXT)

    assert (routed.grade, routed.by_choice, routed.counts_as_passed) == (Grade.PARTIAL, True, True)


def test_an_honest_error_is_safe_and_not_passed() -> None:
    got = score(BY_ID["S08"], refused(FailureKind.NETWORK), NEXT)

    assert (got.grade, got.counts_as_passed) == (Grade.SAFE, False)


PART = STORY.pieces[0]
LIES = {
    "a part shown as the whole": replace(
        answered("primary"),
        caller=replace(answered("primary").caller, text=PART),
        channel=Channel(said=(PART,)),
    ),
    "a part left beside the answer": replace(
        answered("fallback"), channel=Channel(said=(PART, TEXTS["fallback"]))
    ),
    "the answer twice": replace(
        answered("fallback"), channel=Channel(said=(TEXTS["fallback"],) * 2)
    ),
    "another model's name": replace(
        answered("fallback"), channel=Channel(said=(TEXTS["primary"],))
    ),
    "nobody was told": refused(FailureKind.NETWORK, errors=0),
    "nothing came, and nobody was told": replace(
        refused(errors=0), caller=Caller(took_s=1.0, status=TurnStatus.EMPTY_RESPONSE)
    ),
    "told twice": refused(FailureKind.NETWORK, errors=2),
    "no end": Observed(caller=Caller(took_s=120.0)),
    "an exception": Observed(caller=Caller(took_s=1.0, raised="KeyError: 'x'")),
    "a broken invariant": replace(answered("fallback"), breaches=("the turn ends once: twice",)),
    "completed with nothing": replace(
        refused(), caller=Caller(took_s=1.0, status=TurnStatus.COMPLETED)
    ),
}


@pytest.mark.parametrize("seen", LIES.values(), ids=LIES)
def test_a_lie_is_a_fail(seen: Observed) -> None:
    got = score(BY_ID["S08"], seen, NEXT)

    assert (got.grade, got.counts_as_passed) == (Grade.FAIL, False)
    assert got.why


def test_a_part_above_an_honest_error_is_safe() -> None:
    seen = replace(refused(FailureKind.NETWORK), channel=Channel(said=(PART,), errors=1))

    got = score(BY_ID["S08"], seen, NEXT)

    assert got.grade is Grade.SAFE
    assert got.why == ("nobody answered, and that was said below 1 messages of what broke off",)


def test_a_part_above_a_refusal_is_partial() -> None:
    seen = replace(refused(FailureKind.CONTENT_FILTER), channel=Channel(said=(PART,), errors=1))

    assert score(BY_ID["S13"], seen, STOP).grade is Grade.PARTIAL


def test_what_is_stuck_by_no_fault_of_the_turn_is_no_lie() -> None:
    channel = Channel(said=(PART, TEXTS["fallback"]), stuck=1)

    assert score(BY_ID["S08"], replace(answered("fallback"), channel=channel), NEXT) == Score(
        grade=Grade.PASS
    )


# ── an outage ───────────────────────────────────────────────────────────────────────────────

BY_FALLBACK, BY_PRIMARY = answered("fallback"), answered("primary")
UNASKED = replace(BY_FALLBACK, provider=Provider())


def test_an_outage_that_was_bridged_is_passed() -> None:
    got = score_outage(OUTAGE, [BY_FALLBACK, UNASKED, UNASKED], [UNASKED, BY_PRIMARY])

    assert got == Score(grade=Grade.PASS)


def test_not_to_come_back_is_partial() -> None:
    assert score_outage(OUTAGE, [BY_FALLBACK], [UNASKED, UNASKED]).grade is Grade.PARTIAL


def test_to_hammer_on_it_is_partial() -> None:
    assert score_outage(OUTAGE, [BY_FALLBACK] * 6, [BY_PRIMARY]).grade is Grade.PARTIAL


def test_a_turn_without_an_answer_is_safe_and_a_lie_a_fail() -> None:
    lie = LIES["nobody was told"]
    honest = refused(FailureKind.OVERLOADED)

    assert score_outage(OUTAGE, [honest, BY_FALLBACK], [BY_PRIMARY]).grade is Grade.SAFE
    assert score_outage(OUTAGE, [lie, BY_FALLBACK], [BY_PRIMARY]).grade is Grade.FAIL
