"""What every turn store does when many ask at once."""

from collections import Counter

import pytest
from contracts.keys import at_once
from contracts.stores import Stores, an_opening, cooling, counting, refused, reserved

from turnkeeper.domain.admission import Granted, RefusalKind, Refused
from turnkeeper.domain.errors import AlreadyRunning
from turnkeeper.domain.finish import Release

USER_QUOTA = RefusalKind.USER_QUOTA
SERVER_QUOTA = RefusalKind.SERVER_QUOTA


class TurnCrowdsContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    def test_of_the_same_turn_one_begins(self, stores: Stores) -> None:
        def begin(number: int) -> str:
            opening = an_opening(f"t{number}", turn_key="key", serialize=False)
            try:
                return type(stores.turns.open(opening)).__name__
            except AlreadyRunning:
                return "AlreadyRunning"

        assert Counter(at_once(16, begin)) == {"Opened": 1, "AlreadyRunning": 15}

    def test_of_the_turns_in_a_channel_one_begins(self, stores: Stores) -> None:
        def begin(number: int) -> RefusalKind | None:
            return refused(stores.open(f"t{number}").admission)

        assert Counter(at_once(16, begin)) == {None: 1, RefusalKind.CHANNEL_BUSY: 15}

    def test_of_the_turns_of_a_cooldown_one_passes(self, stores: Stores) -> None:
        asked = at_once(64, lambda number: refused(stores.turns.admit(cooling(f"m{number}"))))

        assert Counter(asked) == {None: 1, RefusalKind.COOLDOWN: 63}

    def test_of_the_turns_after_a_cooldown_one_passes(self, stores: Stores) -> None:
        stores.turns.admit(cooling("first"))
        stores.pass_time(5)

        asked = at_once(64, lambda number: refused(stores.turns.admit(cooling(f"m{number}"))))

        assert Counter(asked) == {None: 1, RefusalKind.COOLDOWN: 63}

    def test_a_user_who_was_never_seen_gets_no_turn_too_many(self, stores: Stores) -> None:
        asked = at_once(
            32, lambda number: refused(stores.turns.admit(counting(f"m{number}", daily=10)))
        )

        assert Counter(asked) == {None: 10, USER_QUOTA: 22}

    def test_a_server_that_was_never_seen_gets_no_turn_too_many(self, stores: Stores) -> None:
        asked = at_once(
            32,
            lambda number: refused(
                stores.turns.admit(counting(f"m{number}", wide=10, user=f"u{number}"))
            ),
        )

        assert Counter(asked) == {None: 10, SERVER_QUOTA: 22}

    def test_units_that_go_back_at_once_are_all_there_again(self, stores: Stores) -> None:
        def hold(number: int) -> Granted:
            admission = stores.turns.admit(counting(f"m{number}", daily=8, wide=8))
            assert isinstance(admission, Granted)
            return admission

        held = at_once(8, hold)
        at_once(8, lambda number: stores.give_back(reserved(held[number])))
        again = at_once(
            16, lambda number: refused(stores.turns.admit(counting(f"n{number}", daily=8, wide=8)))
        )

        assert Counter(again) == {None: 8, USER_QUOTA: 8}

    def test_personas_that_ask_and_answer_at_once_cost_one_unit(self, stores: Stores) -> None:
        def answer(number: int) -> None:
            check = counting("trigger", f"t{number}", daily=2, wide=2)
            stores.use(reserved(stores.turns.admit(check)))

        at_once(16, answer)

        reserved(stores.turns.admit(counting("other", daily=2, wide=2)))
        assert refused(stores.turns.admit(counting("third", daily=2))) is USER_QUOTA

    def test_personas_that_give_up_at_once_cost_nothing(self, stores: Stores) -> None:
        def hold(number: int) -> Granted:
            admission = stores.turns.admit(counting("trigger", f"t{number}", daily=1))
            assert isinstance(admission, Granted)
            return admission

        held = at_once(16, hold)
        at_once(16, lambda number: stores.give_back(reserved(held[number])))

        reserved(stores.turns.admit(counting("other", daily=1)))

    def test_turns_that_open_and_close_at_once_leave_nothing(self, stores: Stores) -> None:
        def run(number: int) -> int:
            return sum(self._turn(stores, f"t{number}-{n}", number) for n in range(10))

        assert sum(at_once(8, run)) > 0
        asked = [refused(stores.turns.admit(counting(f"n{n}", wide=4))) for n in range(9)]
        assert Counter(asked) == {None: 4, SERVER_QUOTA: 5}

    def _turn(self, stores: Stores, name: str, number: int) -> bool:
        channel_id, user = f"c{number % 4}", f"u{number % 2}"
        check = counting(name, daily=4, wide=4, user=user)
        opened = stores.open(name, turn_key=name, channel_id=channel_id, admission=check)
        if isinstance(opened.admission, Refused):
            return False
        held = reserved(opened.admission)
        stores.close(name, channel_id=channel_id, settle=Release(reservation=held))
        return True
