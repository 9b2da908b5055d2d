from datetime import datetime, timedelta

from builders import NOON

from turnkeeper.domain.events import KeyBooked
from turnkeeper.domain.pool_history import (
    Fitness,
    KeyTrouble,
    Level,
    Mark,
    PoolHistory,
    PoolKey,
    Window,
    pool_history,
)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


HOUR = Window(at(0), at(60))
LONG_AGO = at(-999)
TWO = (PoolKey(key_id=1, since=LONG_AGO), PoolKey(key_id=2, since=LONG_AGO))


def trouble(minutes: float, key_id: int = 1, rests: str = "key", rest_s: float = 600) -> KeyTrouble:
    booked = KeyBooked(
        attempt_no=0,
        invocation_no=0,
        key_id=key_id,
        booking="error",
        error_class="rate_limit",
        rests=rests,
        rest_s=rest_s,
    )
    return KeyTrouble(at=at(minutes), turn_id="t1", booked=booked)


def levels(history: PoolHistory) -> list[tuple[float, float, int]]:
    minute = timedelta(minutes=1)
    return [
        ((one.since - NOON) / minute, (one.until - NOON) / minute, one.free)
        for one in history.levels
    ]


def test_a_rest_takes_its_key_away_for_its_time() -> None:
    history = pool_history(TWO, (trouble(10),), HOUR)

    assert history.marks == (
        Mark(
            key_id=1,
            since=at(10),
            until=at(20),
            fitness=Fitness.RESTING,
            why="rate_limit",
            turn_id="t1",
        ),
    )
    assert levels(history) == [(0, 10, 2), (10, 20, 1), (20, 60, 2)]


def test_a_pool_whose_keys_all_rest_is_dry() -> None:
    history = pool_history(TWO, (trouble(15, 2), trouble(10)), HOUR)

    assert history.dry == (Level(since=at(15), until=at(20), free=0),)


def test_rests_that_overlap_count_once() -> None:
    history = pool_history(TWO, (trouble(10), trouble(15)), HOUR)

    assert levels(history) == [(0, 10, 2), (10, 25, 1), (25, 60, 2)]


def test_a_key_that_is_refused_stays_so_until_it_is_mended() -> None:
    refused = (PoolKey(key_id=1, since=LONG_AGO, is_refused=True), TWO[1])
    errors = (trouble(30, rests="key until it is edited", rest_s=0),)

    assert levels(pool_history(refused, errors, HOUR)) == [(0, 30, 2), (30, 60, 1)]
    assert levels(pool_history(TWO, errors, HOUR)) == [(0, 60, 2)]


def test_a_rest_for_one_model_leaves_the_key_in_the_pool() -> None:
    history = pool_history(TWO, (trouble(10, rests="key for this model"),), HOUR)

    assert [mark.fitness for mark in history.marks] == [Fitness.RESTING_FOR_A_MODEL]
    assert levels(history) == [(0, 60, 2)]


def test_an_error_without_a_rest_is_marked_where_it_was() -> None:
    (mark,) = pool_history(TWO, (trouble(10, rests="nothing"),), HOUR).marks

    assert (mark.since, mark.until, mark.fitness) == (at(10), at(10), Fitness.FREE)


def test_a_rest_from_before_reaches_into_the_window_and_one_reaches_out() -> None:
    history = pool_history(TWO, (trouble(-5), trouble(55, 2)), HOUR)

    assert levels(history) == [(0, 5, 1), (5, 55, 2), (55, 60, 1)]


def test_a_key_counts_from_when_it_was_saved_and_not_while_it_is_off() -> None:
    young = PoolKey(key_id=1, since=at(20))
    off = PoolKey(key_id=2, since=LONG_AGO, is_off=True)

    assert levels(pool_history((young, off), (), HOUR)) == [(20, 60, 1)]


def test_the_troubles_of_other_keys_are_not_this_pools() -> None:
    assert pool_history(TWO, (trouble(10, 9),), HOUR).marks == ()


def test_an_instant_has_its_share_of_the_window() -> None:
    assert [HOUR.share(at(m)) for m in (-5, 0, 15, 60, 99)] == [0, 0, 0.25, 1, 1]
