"""What every keeper of notices does. Subclass as Test… and give `kept`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Barrier

import pytest
from contracts.keys import at_once

from turnkeeper.application.ports.notices import KEPT_S, Notices
from turnkeeper.domain.notice import ALIVE_S, Notice, NoticeDetails, NoticeExpired, NoticePlace

PLACE = NoticePlace(
    server_id="guild", channel_id="12", message_id="1001", thread_id="34", webhook_id="56"
)
DETAILS = NoticeDetails(
    title="Another model answered",
    lead="beta (fallback 2) answered, since:",
    lines=("1. `alpha`: alpha is overloaded just now. (529)", "2. `alef`: \u20ac \U0001f600 \x00"),
    model="beta",
    slot=2,
    tips=("You can turn this off.",),
    left_out=3,
)


def place(number: int) -> NoticePlace:
    return replace(PLACE, message_id=str(1000 + number))


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A store of notices, and the passing of its time."""

    notices: Notices
    pass_time: Callable[[float], None]

    def save(self, *numbers: int, alive_s: float = ALIVE_S) -> None:
        for number in numbers:
            self.notices.save(place(number), DETAILS, alive_s=alive_s)

    def due(self, limit: int = 10, *, claim_s: float = 600.0) -> list[int]:
        found = self.notices.due(limit, claim_s=claim_s)
        return [int(one.place.message_id) - 1000 for one in found]


class NoticesContract:
    @pytest.fixture
    def kept(self) -> Kept:
        raise NotImplementedError

    # ── what a button shows ─────────────────────────────────────────────────────────────────

    def test_what_is_saved_is_found_by_its_message(self, kept: Kept) -> None:
        kept.notices.save(PLACE, DETAILS)

        assert kept.notices.find("1001") == DETAILS

    def test_a_message_that_nobody_knows_has_none(self, kept: Kept) -> None:
        kept.save(1)

        assert kept.notices.find("1002") is None

    def test_it_is_found_for_a_day(self, kept: Kept) -> None:
        kept.save(1)

        kept.pass_time(ALIVE_S - 60)

        assert kept.notices.find("1001") == DETAILS

    def test_once_its_time_is_over_that_is_known(self, kept: Kept) -> None:
        kept.save(1)

        kept.pass_time(ALIVE_S + 1)

        assert kept.notices.find("1001") == NoticeExpired()

    def test_what_is_saved_again_takes_the_place_of_the_first(self, kept: Kept) -> None:
        later = replace(DETAILS, slot=7)
        kept.save(1)
        kept.pass_time(ALIVE_S + 1)
        kept.due()

        kept.notices.save(PLACE, later, alive_s=0.0)

        assert kept.notices.due(10) == (Notice(place=PLACE, details=later),)

    def test_what_is_forgotten_is_not_found(self, kept: Kept) -> None:
        kept.save(1, 2)

        kept.notices.forget(place(1))
        kept.notices.forget(place(1))

        assert (kept.notices.find("1001"), kept.notices.find("1002")) == (None, DETAILS)

    # ── what is due ─────────────────────────────────────────────────────────────────────────

    def test_a_notice_is_not_due_before_its_time(self, kept: Kept) -> None:
        kept.save(1)

        assert kept.due() == []

    def test_one_whose_time_is_over_is_due_with_all_that_editing_takes(self, kept: Kept) -> None:
        kept.notices.save(PLACE, DETAILS)

        kept.pass_time(ALIVE_S + 1)

        assert kept.notices.due(10) == (Notice(place=PLACE, details=DETAILS),)

    def test_a_message_of_the_bot_itself_has_neither_thread_nor_webhook(self, kept: Kept) -> None:
        plain = replace(PLACE, thread_id=None, webhook_id=None)
        kept.notices.save(plain, DETAILS, alive_s=0.0)

        assert kept.notices.due(10) == (Notice(place=plain, details=DETAILS),)

    def test_the_oldest_come_first_and_no_more_than_asked(self, kept: Kept) -> None:
        kept.save(3, alive_s=10.0)
        kept.save(1, alive_s=20.0)
        kept.save(2, alive_s=30.0)
        kept.pass_time(60)

        assert (kept.due(2), kept.due(2)) == ([3, 1], [2])

    def test_what_is_claimed_is_not_claimed_again(self, kept: Kept) -> None:
        kept.save(1, alive_s=0.0)

        assert (kept.due(), kept.due()) == ([1], [])

    def test_a_claim_runs_out(self, kept: Kept) -> None:
        kept.save(1, alive_s=0.0)
        kept.due(claim_s=60.0)

        kept.pass_time(61)

        assert kept.due() == [1]

    def test_a_claimed_one_is_still_known_as_over(self, kept: Kept) -> None:
        kept.save(1, alive_s=0.0)

        kept.due()

        assert kept.notices.find("1001") == NoticeExpired()

    def test_one_that_has_been_over_for_long_is_forgotten(self, kept: Kept) -> None:
        kept.save(1, alive_s=0.0)

        kept.pass_time(KEPT_S + 1)

        assert (kept.due(), kept.notices.find("1001")) == ([], None)

    def test_saving_forgets_what_has_been_over_for_long(self, kept: Kept) -> None:
        kept.save(1, alive_s=0.0)
        kept.pass_time(KEPT_S + 1)

        kept.save(2)

        assert (kept.notices.find("1001"), kept.notices.find("1002")) == (None, DETAILS)

    def test_each_is_claimed_by_one_of_many(self, kept: Kept) -> None:
        kept.save(*range(24), alive_s=0.0)
        start = Barrier(8)
        claimed: list[list[int]] = [[] for _ in range(8)]

        def claim(number: int) -> None:
            start.wait()
            while found := kept.due(2):
                claimed[number] += found

        at_once(8, claim)

        # One that another was claiming is passed over, and may be left for the next look.
        everything = [one for mine in claimed for one in mine] + kept.due(24)
        assert sorted(everything) == list(range(24))
