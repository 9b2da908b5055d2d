from math import inf, nan

import pytest

from turnkeeper.domain.deadline import NEVER, Deadline


def test_what_is_left_is_the_difference_to_now() -> None:
    assert Deadline(12.5).remaining_s(10.0) == 2.5


def test_nothing_is_left_once_it_has_passed() -> None:
    assert Deadline(12.5).remaining_s(99.0) == 0.0


@pytest.mark.parametrize(("now_s", "passed"), [(9.9, False), (10.0, True), (10.1, True)])
def test_it_passes_at_its_very_instant(now_s: float, passed: bool) -> None:
    assert Deadline(10.0).passed(now_s) is passed


def test_the_earlier_of_two_is_the_same_from_both_sides() -> None:
    soon, late = Deadline(1.0), Deadline(2.0)

    assert (soon.earlier(late), late.earlier(soon)) == (soon, soon)


def test_never_does_not_pass_and_gives_way_to_any_other() -> None:
    assert (NEVER.passed(1e12), NEVER.remaining_s(5.0), NEVER.earlier(Deadline(1.0))) == (
        False,
        inf,
        Deadline(1.0),
    )


def test_an_instant_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="at_s is not a number"):
        Deadline(nan)
