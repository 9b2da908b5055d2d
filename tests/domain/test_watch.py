from dataclasses import replace

import pytest

from turnkeeper.domain.outcome import TimeoutPhase
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.watch import Limit, Progress, next_limit

FIRST, SILENCE, PACE, ATTEMPT, TURN = (
    TimeoutPhase.FIRST_PROGRESS,
    TimeoutPhase.SILENCE,
    TimeoutPhase.PACE,
    TimeoutPhase.ATTEMPT,
    TimeoutPhase.TURN,
)
LIMITS = TimeLimits(
    first_progress_s=12, last_first_progress_s=300, silence_s=120, attempt_s=600, pace_window_s=30
)
TEXT_ONLY = replace(LIMITS, reasoning_is_progress=False)


def limit(
    progress: Progress,
    limits: TimeLimits = LIMITS,
    *,
    may_be_slow: bool = False,
    deadline_s: float = 900,
) -> tuple[float, TimeoutPhase]:
    found = next_limit(
        progress,
        limits,
        started_at_s=0,
        turn_deadline_s=deadline_s,
        may_be_slow=may_be_slow,
    )
    return found.at_s, found.phase


def a_call(opened_at_s: float = 10) -> Progress:
    progress = Progress()
    progress.opened(opened_at_s)
    return progress


def test_a_call_that_said_nothing_has_the_first_progress_limit() -> None:
    assert limit(a_call()) == (22, FIRST)


def test_where_nothing_else_may_answer_it_has_the_longer_one() -> None:
    assert limit(a_call(), may_be_slow=True) == (310, FIRST)


def test_a_call_that_said_something_has_the_silence_limit() -> None:
    progress = a_call()
    progress.made(15)

    assert limit(progress) == (135, SILENCE)


def test_between_calls_only_the_totals_count() -> None:
    progress = a_call()
    progress.made(15)
    progress.closed()

    assert limit(progress) == (600, ATTEMPT)


def test_the_next_call_begins_anew() -> None:
    progress = a_call()
    progress.made(15)
    progress.closed()
    progress.opened(200)

    assert limit(progress) == (212, FIRST)


def test_the_turns_own_deadline_comes_first_where_it_is_nearer() -> None:
    assert limit(a_call(), deadline_s=20) == (20, TURN)


class TestWhereReasoningIsNoProgress:
    def test_a_call_that_only_thinks_has_the_first_progress_limit(self) -> None:
        progress = a_call()
        progress.made(20)

        assert limit(progress, TEXT_ONLY) == (22, FIRST)

    def test_a_call_that_thinks_again_after_text_has_the_silence_limit_from_its_text(self) -> None:
        progress = a_call()
        progress.spoke_at_s = 15
        progress.made(100)

        assert limit(progress, TEXT_ONLY) == (135, SILENCE)

    def test_what_was_said_in_the_call_before_does_not_count(self) -> None:
        progress = a_call()
        progress.spoke_at_s = 15
        progress.opened(50)

        assert limit(progress, TEXT_ONLY) == (62, FIRST)


class TestPace:
    def test_a_stint_must_be_full_within_the_window(self) -> None:
        progress = a_call()
        progress.made(50)
        progress.stint_began_at_s = 40

        assert limit(progress) == (70, PACE)

    def test_it_is_not_asked_for_between_calls(self) -> None:
        progress = a_call()
        progress.stint_began_at_s = 40
        progress.closed()

        assert limit(progress) == (600, ATTEMPT)


class TestWhileAMessageIsPosted:
    def test_only_the_totals_count(self) -> None:
        progress = a_call()
        progress.made(15)
        progress.stint_began_at_s = 15
        progress.held(16)

        assert limit(progress) == (600, ATTEMPT)

    @pytest.mark.parametrize("limits", [LIMITS, TEXT_ONLY], ids=["reasoning counts", "text only"])
    def test_the_clocks_go_on_afterwards_where_they_stood(self, limits: TimeLimits) -> None:
        progress = a_call()
        progress.made(15)
        progress.spoke_at_s = 15
        progress.held(16)
        progress.resumed(216)

        assert limit(progress, limits) == (335, SILENCE)

    def test_so_does_that_of_the_first_progress(self) -> None:
        progress = a_call()
        progress.held(11)
        progress.resumed(111)

        assert limit(progress) == (122, FIRST)

    def test_so_does_that_of_the_pace(self) -> None:
        progress = a_call()
        progress.made(15)
        progress.stint_began_at_s = 15
        progress.held(16)
        progress.resumed(116)

        assert limit(progress) == (145, PACE)

    def test_a_tool_that_posts_late_does_not_hold_the_next_call(self) -> None:
        progress = a_call()
        progress.closed()
        progress.held(11)
        progress.opened(20)

        assert limit(progress) == (32, FIRST)
        progress.resumed(25)
        assert limit(progress) == (32, FIRST)

    def test_going_on_twice_is_going_on_once(self) -> None:
        progress = a_call()
        progress.held(11)
        progress.resumed(21)
        progress.resumed(31)

        assert limit(progress) == (32, FIRST)


@pytest.mark.parametrize("name", ["silence_s", "pace_window_s", "first_progress_s", "turn_s"])
def test_a_limit_of_no_time_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is more than 0 seconds, not 0"):
        TimeLimits(**{name: 0})  # type: ignore[arg-type]


def test_a_floor_below_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="min_chars_per_s"):
        TimeLimits(min_chars_per_s=-1)


def test_no_settle_time_and_no_floor_are_limits_too() -> None:
    limits = TimeLimits(settle_s=0, min_chars_per_s=0, reasoning_is_progress=False)

    assert next_limit(
        Progress(), limits, started_at_s=0, turn_deadline_s=900, may_be_slow=False
    ) == Limit(at_s=600, phase=ATTEMPT)
