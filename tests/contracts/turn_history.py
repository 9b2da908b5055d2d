"""What every store says of turns that have been."""

from dataclasses import replace

import pytest
from builders import SERVER, a_failure
from contracts.orphans import DEAD_S
from contracts.stores import Stores, a_result, cooling, refused
from past_turns import answered, ended, failed, journal, ran, started

from turnkeeper.application.ports.orphans import Swept
from turnkeeper.application.ports.turn_history import PastTurn, TurnCursor, TurnQuery
from turnkeeper.domain.admission import RefusalKind, Refused
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import AttemptFailure, TurnResult

ELSEWHERE = Owner.server("elsewhere")
FAILED = AttemptFailure(attempt_no=0, label="primary", model="m", failure=a_failure())


def a_rescue(turn_id: str) -> TurnResult:
    return replace(a_result(turn_id), failures=(FAILED,))


class TurnHistoryContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    def a_turn(self, stores: Stores, turn_id: str, **more: object) -> None:
        """One that began a second after the one before, and ended."""
        result = more.pop("result", a_result(turn_id))
        stores.start(turn_id, channel_id=turn_id, **more)
        server = more.get("server", SERVER)
        stores.close(turn_id, channel_id=turn_id, result=result, server=server)
        stores.pass_time(1)

    def page(
        self,
        stores: Stores,
        query: TurnQuery = TurnQuery(),
        before: TurnCursor | None = None,
        limit: int = 9,
    ) -> tuple[PastTurn, ...]:
        return stores.history.page(query, before=before, limit=limit)

    def ids(self, stores: Stores, **query: object) -> list[str]:
        return [turn.turn_id for turn in self.page(stores, TurnQuery(**query))]  # type: ignore[arg-type]

    def test_where_no_turn_was_there_is_no_page(self, stores: Stores) -> None:
        assert self.page(stores) == ()

    def test_the_newest_come_first_with_what_is_known_of_them(self, stores: Stores) -> None:
        self.a_turn(stores, "t1")
        stores.start("t2", channel_id="here", user_id=None)

        second, first = self.page(stores)

        assert first.ended_at is not None
        assert first == PastTurn(
            turn_id="t1",
            server=SERVER,
            channel_id="t1",
            user_id="ann",
            status="completed",
            rescued=False,
            opened_at=first.opened_at,
            ended_at=first.ended_at,
        )
        assert (second.status, second.ended_at, second.user_id) == ("running", None, None)

    def test_a_page_goes_on_where_the_one_before_ended(self, stores: Stores) -> None:
        for number in range(5):
            self.a_turn(stores, f"t{number}")

        first = self.page(stores, limit=2)
        second = self.page(stores, before=first[-1].cursor, limit=2)
        third = self.page(stores, before=second[-1].cursor, limit=2)

        pages = [[turn.turn_id for turn in page] for page in (first, second, third)]
        assert pages == [["t4", "t3"], ["t2", "t1"], ["t0"]]

    def test_turns_of_one_instant_are_each_on_one_page(self, stores: Stores) -> None:
        for number in range(4):
            stores.start(f"t{number}", channel_id=f"c{number}")

        seen: list[str] = []
        place: TurnCursor | None = None
        while page := self.page(stores, before=place, limit=1):
            seen.append(page[0].turn_id)
            place = page[0].cursor

        assert sorted(seen) == ["t0", "t1", "t2", "t3"]

    def test_one_may_ask_for_a_server_a_user_or_a_status(self, stores: Stores) -> None:
        self.a_turn(stores, "t1", user_id="bob")
        self.a_turn(stores, "t2", server=ELSEWHERE)
        self.a_turn(stores, "t3", result=a_result("t3", TurnStatus.ERROR))
        stores.start("t4", channel_id="here")

        assert self.ids(stores, server=SERVER) == ["t4", "t3", "t1"]
        assert self.ids(stores, server=ELSEWHERE) == ["t2"]
        assert self.ids(stores, user_id="bob") == ["t1"]
        assert self.ids(stores, status="error") == ["t3"]
        assert self.ids(stores, status="running") == ["t4"]
        assert self.ids(stores, status="completed", server=SERVER) == ["t1"]

    def test_a_rescued_turn_is_one_that_was_answered_after_a_failure(self, stores: Stores) -> None:
        self.a_turn(stores, "t1")
        self.a_turn(stores, "t2", result=a_rescue("t2"))
        self.a_turn(stores, "t3", result=replace(a_rescue("t3"), status=TurnStatus.ERROR))

        assert self.ids(stores, rescued_only=True) == ["t2"]
        assert [turn.rescued for turn in self.page(stores)] == [False, True, False]

    def test_a_turn_that_was_refused_is_listed_and_may_be_tried_again(self, stores: Stores) -> None:
        stores.turns.admit(cooling("first"))
        opened = stores.open("t1", turn_key="key", admission=cooling("second"))
        assert refused(opened.admission) is RefusalKind.COOLDOWN
        skipped = a_result("t1", TurnStatus.SKIPPED)
        result = replace(skipped, refusal=Refused(kind=RefusalKind.COOLDOWN))
        for _ in range(2):
            stores.close("t1", result=result, user_id="ann")

        (turn,) = self.page(stores)

        assert (turn.turn_id, turn.status, turn.user_id) == ("t1", "skipped", "ann")
        assert turn.ended_at is not None
        stores.start("t2", turn_key="key")

    def test_a_turn_that_was_refused_on_its_second_route_is_listed_once(
        self, stores: Stores
    ) -> None:
        stores.start("t1")
        refusal = Refused(kind=RefusalKind.USER_QUOTA)
        stores.close("t1", result=replace(a_result("t1", TurnStatus.ERROR), refusal=refusal))

        (turn,) = self.page(stores)

        assert (turn.turn_id, turn.status, turn.user_id) == ("t1", "error", "ann")

    def test_a_turn_that_was_swept_up_is_listed_as_given_up(self, stores: Stores) -> None:
        stores.start("t1")
        stores.pass_time(DEAD_S + 1)
        (orphan,) = stores.orphans.claim("me", limit=9)
        stores.orphans.done(Swept(orphan=orphan))

        (turn,) = self.page(stores, TurnQuery(status="given_up"))

        assert (turn.turn_id, turn.ended_at is not None) == ("t1", True)

    def test_a_turn_comes_with_what_its_journal_says_of_its_attempts(self, stores: Stores) -> None:
        told = journal(
            (0.0, started()),
            (0.5, ran(0, 0)),
            (1.0, failed(0, 0)),
            (2.0, answered(1, 1)),
            (3.0, ended()),
        )
        stores.start("t1")
        stores.start("t2", channel_id="other")
        stores.close("t1", entries=told)

        second, first = self.page(stores)

        assert [turn.turn_id for turn in (second, first)] == ["t2", "t1"]
        assert (first.entries, second.entries) == (told, ())
