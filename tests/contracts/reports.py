"""What every store says of turns that are over."""

from dataclasses import replace
from datetime import timedelta

import pytest
from builders import SERVER
from contracts.stores import Stores
from kept_turns import keep
from past_turns import answered, ended, failed, journal, ran, rescued, started

from turnkeeper.domain.events import SWEPT_SEQ, Entry, Event, KeyBooked, TurnSwept
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import GIVEN_UP, RUNNING
from turnkeeper.domain.reports import Past, summary

AGO = timedelta(hours=1)


def booked(key_id: int = 1, booking: str = "error") -> KeyBooked:
    return KeyBooked(
        attempt_no=0,
        invocation_no=0,
        key_id=key_id,
        booking=booking,
        error_class="rate_limit",
        rests="key",
        rest_s=60.0,
    )


def calm(turn_id: str, status: str = "completed") -> tuple[Entry, ...]:
    happened: tuple[tuple[float, Event], ...] = (
        (0.0, started()),
        (0.1, ran(0, 0)),
        (1.0, answered(0, 0)),
        (2.0, ended(status)),
    )
    return journal(*happened, turn_id=turn_id)


def broken(turn_id: str, kind: FailureKind = FailureKind.RATE_LIMIT) -> tuple[Entry, ...]:
    happened: tuple[tuple[float, Event], ...] = (
        (0.0, started()),
        (0.1, ran(0, 0)),
        (1.0, failed(0, 0, kind)),
        (2.0, ended("error")),
    )
    return journal(*happened, turn_id=turn_id)


def swept(turn_id: str, *, times: int = 1) -> tuple[Entry, ...]:
    ends = tuple(
        Entry(
            turn_id=turn_id,
            seq=SWEPT_SEQ + number,
            at_s=50.0,
            event=TurnSwept(by="other", silent_s=40.0),
        )
        for number in range(1, times + 1)
    )
    return (*journal((0.0, started()), (0.1, ran(0, 0)), turn_id=turn_id), *ends)


class ReportsContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    # ── one turn ────────────────────────────────────────────────────────────────────────────

    def test_a_turn_is_found_with_its_whole_journal(self, stores: Stores) -> None:
        keep(stores, calm("t0"), rescued("t1"))

        turn = stores.reports.turn("t1")

        assert turn is not None
        assert (turn.turn_id, turn.server, turn.entries) == ("t1", str(SERVER), rescued("t1"))
        assert timedelta() < stores.now() - turn.over_at < AGO

    def test_a_turn_that_runs_is_found_too(self, stores: Stores) -> None:
        keep(stores, journal((0.0, started()), (0.1, ran(0, 0)), turn_id="t1"))

        turn = stores.reports.turn("t1")

        assert turn is not None
        assert summary(turn.entries).status == RUNNING
        assert timedelta() < stores.now() - turn.over_at < AGO

    def test_a_turn_that_nobody_knows_is_none(self, stores: Stores) -> None:
        assert stores.reports.turn("nobody") is None

    # ── models and errors ───────────────────────────────────────────────────────────────────

    def test_the_past_tells_calm_turns_from_troubled_ones(self, stores: Stores) -> None:
        keep(stores, calm("t1"), rescued("t2"), calm("t3"), broken("t4"), calm("t5", "error"))

        past = stores.reports.past(stores.now() - AGO)

        assert past.calm == (("model-1", 3),)
        assert [turn.turn_id for turn in past.troubled] == ["t4", "t2"]
        assert not past.is_cut

    def test_a_turn_that_still_runs_is_not_of_the_past(self, stores: Stores) -> None:
        keep(stores, broken("t1")[:-1])

        assert stores.reports.past(stores.now() - AGO) == Past()

    def test_a_turn_that_was_given_up_is_of_the_past_with_what_failed(self, stores: Stores) -> None:
        keep(stores, (*broken("t1")[:-1], swept("t1")[-1]))

        (turn,) = stores.reports.past(stores.now() - AGO).troubled

        assert (turn.turn_id, summary(turn.entries).status) == ("t1", GIVEN_UP)
        assert turn.server == str(SERVER)

    def test_what_began_before_is_not_of_that_time(self, stores: Stores) -> None:
        keep(stores, calm("t1"), broken("t2"))
        stores.pass_time(7200)

        assert stores.reports.past(stores.now() - AGO) == Past()

    def test_too_many_troubled_turns_are_cut(self, stores: Stores) -> None:
        keep(stores, broken("t1"), broken("t2"), broken("t3"))

        past = stores.reports.past(stores.now() - AGO, most=2)

        assert [turn.turn_id for turn in past.troubled] == ["t3", "t2"]
        assert past.is_cut

    def test_a_model_may_be_called_anything(self, stores: Stores) -> None:
        name = 'the "best\\" é \ud83d\ude00'.encode("utf-16", "surrogatepass").decode("utf-16")
        entries = calm("t1")
        end = replace(ended(), success_model=name)
        keep(stores, (*entries[:-1], replace(entries[-1], event=end)))

        assert stores.reports.past(stores.now() - AGO).calm == ((name, 1),)

    # ── keys ────────────────────────────────────────────────────────────────────────────────

    def test_errors_on_keys_are_told_with_their_time_the_latest_first(self, stores: Stores) -> None:
        keep(
            stores,
            journal((0.0, started()), (0.1, booked(1)), (0.2, booked(3, "success")), turn_id="t1"),
            journal((0.0, started()), (0.1, booked(2)), turn_id="t2"),
        )

        found = stores.reports.key_troubles(stores.now() - AGO)

        assert [(one.turn_id, one.booked) for one in found] == [
            ("t2", booked(2)),
            ("t1", booked(1)),
        ]
        assert found[0].at > found[1].at

    def test_errors_from_before_and_too_many_are_left_out(self, stores: Stores) -> None:
        keep(stores, journal((0.0, started()), (0.1, booked(1)), turn_id="t1"))
        stores.pass_time(7200)
        keep(stores, journal((0.0, started()), (0.1, booked(2)), turn_id="t2"))
        keep(stores, journal((0.0, started()), (0.1, booked(3)), turn_id="t3"))

        recent = stores.reports.key_troubles(stores.now() - AGO)
        one = stores.reports.key_troubles(stores.now() - AGO, most=1)

        assert [trouble.booked.key_id for trouble in recent] == [3, 2]
        assert [trouble.booked.key_id for trouble in one] == [3]
