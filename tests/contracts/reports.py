"""What every store says of turns that are over."""

from dataclasses import replace
from datetime import timedelta

import pytest
from builders import SERVER
from contracts.stores import Stores
from past_turns import answered, ended, failed, journal, ran, rescued, started

from turnkeeper.application.ports.reports import Asked, Page, Place
from turnkeeper.domain.events import SWEPT_SEQ, Entry, Event, KeyBooked, TurnSwept
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.reports import RUNNING, SWEPT, Past, summary

AGO = timedelta(hours=1)
OTHER = Owner.server("other")


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


def ids(page: Page) -> list[str]:
    return [turn.turn_id for turn in page.turns]


class ReportsContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    def keep(self, stores: Stores, *journals: tuple[Entry, ...], server: Owner = SERVER) -> None:
        """Write journals whose turns belong to a server, a second apart."""
        for entries in journals:
            turn_id = entries[0].turn_id
            stores.start(turn_id, channel_id=turn_id, server=server)
            stores.journal.record(entries)
            stores.pass_time(1)

    # ── pages ───────────────────────────────────────────────────────────────────────────────

    def test_nothing_was_over_yet(self, stores: Stores) -> None:
        stores.start("t1")
        stores.journal.record(journal((0.0, started())))

        assert stores.reports.page(Asked()) == Page(turns=())

    def test_the_latest_end_comes_first(self, stores: Stores) -> None:
        self.keep(stores, calm("t1"), calm("t2"), calm("t3"))

        assert ids(stores.reports.page(Asked())) == ["t3", "t2", "t1"]

    def test_a_turn_has_what_its_summary_needs(self, stores: Stores) -> None:
        self.keep(stores, rescued())

        (turn,) = stores.reports.page(Asked()).turns
        line = summary(turn.entries)

        assert (line.status, line.asked, line.answered_by) == ("completed", "model-0", "model-1")
        assert (line.attempts, line.invocations, line.failures) == (2, 2, ("rate_limit",))
        assert (turn.server, line.output_tokens) == (str(SERVER), 34)
        assert timedelta() < stores.now() - turn.over_at < AGO

    def test_pages_follow_each_other_without_gap_or_repetition(self, stores: Stores) -> None:
        self.keep(stores, *(calm(f"t{number}") for number in range(5)))

        seen, place = [], None
        for _ in range(3):
            page = stores.reports.page(Asked(limit=2, before=place))
            seen.append(ids(page))
            place = page.next

        assert seen == [["t4", "t3"], ["t2", "t1"], ["t0"]]
        assert place is None

    def test_a_full_last_page_has_no_next(self, stores: Stores) -> None:
        self.keep(stores, calm("t1"), calm("t2"))

        assert stores.reports.page(Asked(limit=2)).next is None

    def test_turns_of_the_same_instant_are_told_apart_by_their_ids(self, stores: Stores) -> None:
        self.keep(stores, calm("t1"))
        (turn,) = stores.reports.page(Asked()).turns

        def before(turn_id: str) -> list[str]:
            place = Place(over_at=turn.over_at, turn_id=turn_id)
            return ids(stores.reports.page(Asked(before=place)))

        assert (before("t0"), before("t1"), before("t2")) == ([], [], ["t1"])

    @pytest.mark.parametrize("status", [status.value for status in TurnStatus])
    def test_only_those_that_ended_so_are_listed(self, stores: Stores, status: str) -> None:
        self.keep(stores, calm("t1", "completed"), calm("t2", "error"), calm("t3", status))

        listed = ids(stores.reports.page(Asked(status=status)))

        also = {"completed": ["t1"], "error": ["t2"]}
        assert listed == ["t3", *also.get(status, [])]

    def test_only_those_that_were_rescued_are_listed(self, stores: Stores) -> None:
        self.keep(stores, rescued("t1"), calm("t2"), broken("t3"), rescued("t4"))

        assert ids(stores.reports.page(Asked(rescued=True))) == ["t4", "t1"]
        assert ids(stores.reports.page(Asked(rescued=True, status="error"))) == []

    def test_only_one_servers_are_listed(self, stores: Stores) -> None:
        self.keep(stores, calm("t1"), calm("t3"))
        self.keep(stores, calm("t2"), server=OTHER)

        assert ids(stores.reports.page(Asked(server=str(OTHER)))) == ["t2"]
        assert ids(stores.reports.page(Asked(server=str(SERVER), status="completed"))) == [
            "t3",
            "t1",
        ]

    def test_a_turn_that_was_swept_is_listed_once(self, stores: Stores) -> None:
        self.keep(stores, swept("t1", times=2), calm("t2"))

        assert ids(stores.reports.page(Asked())) == ["t2", "t1"]
        assert ids(stores.reports.page(Asked(status=SWEPT))) == ["t1"]
        assert summary(stores.reports.page(Asked(status=SWEPT)).turns[0].entries).status == SWEPT

    # ── one turn ────────────────────────────────────────────────────────────────────────────

    def test_a_turn_is_found_with_its_whole_journal(self, stores: Stores) -> None:
        self.keep(stores, calm("t0"), rescued("t1"))

        turn = stores.reports.turn("t1")

        assert turn is not None
        assert (turn.turn_id, turn.server, turn.entries) == ("t1", str(SERVER), rescued("t1"))
        assert turn == replace(stores.reports.page(Asked()).turns[0], entries=turn.entries)

    def test_a_turn_that_runs_is_found_too(self, stores: Stores) -> None:
        self.keep(stores, journal((0.0, started()), (0.1, ran(0, 0)), turn_id="t1"))

        turn = stores.reports.turn("t1")

        assert turn is not None
        assert summary(turn.entries).status == RUNNING
        assert timedelta() < stores.now() - turn.over_at < AGO

    def test_a_turn_that_nobody_knows_is_none(self, stores: Stores) -> None:
        assert stores.reports.turn("nobody") is None

    # ── models and errors ───────────────────────────────────────────────────────────────────

    def test_the_past_tells_calm_turns_from_troubled_ones(self, stores: Stores) -> None:
        self.keep(stores, calm("t1"), rescued("t2"), calm("t3"), broken("t4"), calm("t5", "error"))

        past = stores.reports.past(stores.now() - AGO)

        assert past.calm == (("model-1", 3),)
        assert [turn.turn_id for turn in past.troubled] == ["t4", "t2"]
        assert not past.is_cut

    def test_what_was_over_before_is_not_of_that_time(self, stores: Stores) -> None:
        self.keep(stores, calm("t1"), broken("t2"))
        stores.pass_time(7200)

        assert stores.reports.past(stores.now() - AGO) == Past()

    def test_too_many_troubled_turns_are_cut(self, stores: Stores) -> None:
        self.keep(stores, broken("t1"), broken("t2"), broken("t3"))

        past = stores.reports.past(stores.now() - AGO, most=2)

        assert [turn.turn_id for turn in past.troubled] == ["t3", "t2"]
        assert past.is_cut

    def test_a_model_may_be_called_anything(self, stores: Stores) -> None:
        name = 'the "best\\" é \ud83d\ude00'.encode("utf-16", "surrogatepass").decode("utf-16")
        entries = calm("t1")
        end = replace(ended(), success_model=name)
        self.keep(stores, (*entries[:-1], replace(entries[-1], event=end)))

        assert stores.reports.past(stores.now() - AGO).calm == ((name, 1),)

    # ── keys ────────────────────────────────────────────────────────────────────────────────

    def test_errors_on_keys_are_told_with_their_time_the_latest_first(self, stores: Stores) -> None:
        self.keep(
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
        self.keep(stores, journal((0.0, started()), (0.1, booked(1)), turn_id="t1"))
        stores.pass_time(7200)
        self.keep(stores, journal((0.0, started()), (0.1, booked(2)), turn_id="t2"))
        self.keep(stores, journal((0.0, started()), (0.1, booked(3)), turn_id="t3"))

        recent = stores.reports.key_troubles(stores.now() - AGO)
        one = stores.reports.key_troubles(stores.now() - AGO, most=1)

        assert [trouble.booked.key_id for trouble in recent] == [3, 2]
        assert [trouble.booked.key_id for trouble in one] == [3]
