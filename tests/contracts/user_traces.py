"""What every store forgets of a user, and what it keeps of the others."""

from dataclasses import replace

import pytest
from builders import SERVER, a_model, an_endpoint
from contracts.journal import an_entry
from contracts.notices import DETAILS, PLACE
from contracts.stores import Stores, an_intent, cooling, counting, reserved

from turnkeeper.application.forget_user import ForgetUser
from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.ports.turn_history import TurnQuery
from turnkeeper.application.ports.user_traces import Traces
from turnkeeper.domain.events import ToolRan
from turnkeeper.domain.finish import Commit
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import RestScope
from turnkeeper.domain.settings import FallbackRef, PersonalSettings, SavedProvider

TOOL = ToolRan(invocation_no=0, name="roll", nth=0, state="done")
CHAIN = (FallbackRef(kind="model", id="wall:alpha"),)
ALL = Traces(turns=2, entries=4, tool_runs=2, messages=2, notices=1, counts=4, keys=2, settings=3)


class UserTracesContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    def a_turn(self, stores: Stores, turn_id: str, user_id: str) -> None:
        """One that is over, with a tool's run and a message, and a unit that was used."""
        check = counting(turn_id, turn_id, user=user_id, daily=9)
        opened = stores.start(turn_id, channel_id=turn_id, user_id=user_id, admission=check)
        entries = (an_entry(0, turn_id), an_entry(1, turn_id, TOOL))
        intent = an_intent(f"i-{turn_id}", turn_id, channel_id=turn_id)
        stores.ledger.intend(intent, entries=entries)
        settle = Commit(reservation=reserved(opened.admission))
        stores.close(turn_id, channel_id=turn_id, settle=settle)

    def settle_in(self, stores: Stores, user_id: str) -> None:
        """Something of each kind."""
        owner = Owner.user(user_id)
        for number in range(2):
            self.a_turn(stores, f"{user_id}-{number}", user_id)
        place = replace(PLACE, message_id=f"notice-{user_id}")
        stores.notices.save(place, DETAILS, user_id=user_id)
        stores.turns.admit(cooling(f"c-{user_id}", f"user:{user_id}", s=600))
        stores.keys.add("sk-one", "sk-two", owner=owner)
        stores.editor.save_model(a_model())
        stores.editor.save_endpoint(owner, an_endpoint(0))
        row = SavedProvider(provider="wall", model=a_model(), text_enabled=True)
        settings = PersonalSettings(user_id=user_id, providers=(row,))
        stores.editor.save_personal(settings, chain=CHAIN)

    def forget(self, stores: Stores, user_id: str = "ann", batch: int = 200) -> Traces:
        known = KnownSettings(stores.settings)
        return ForgetUser(traces=stores.traces, known=known, batch=batch)(user_id)

    def test_of_nobody_there_is_nothing(self, stores: Stores) -> None:
        assert stores.traces.count("nobody") == Traces()
        assert self.forget(stores, "nobody") == Traces()

    def test_all_of_a_user_is_counted_and_forgotten(self, stores: Stores) -> None:
        self.settle_in(stores, "ann")
        before = stores.traces.count("ann")

        gone = self.forget(stores)

        assert (before, gone) == (ALL, ALL)
        assert stores.traces.count("ann") == Traces()
        assert stores.history.page(TurnQuery(user_id="ann"), before=None, limit=9) == ()
        assert stores.journal.entries("ann-0") == ()
        assert stores.ledger.left_by("ann-0") == ()
        assert stores.notices.find("notice-ann") is None
        assert stores.keys.saved.keys(Owner.user("ann")) == ()
        assert stores.editor.endpoints(Owner.user("ann")) == ()
        assert replace(stores.settings.personal("ann"), version=0) == PersonalSettings(
            user_id="ann"
        )

    def test_nothing_of_others_is_forgotten(self, stores: Stores) -> None:
        self.settle_in(stores, "bob")
        stores.keys.add("sk-server", owner=SERVER)
        before = stores.traces.count("bob")
        self.settle_in(stores, "ann")

        self.forget(stores)

        assert stores.traces.count("bob") == before == ALL
        assert len(stores.keys.saved.keys(SERVER)) == 1
        assert len(stores.journal.entries("bob-0")) == 2

    def test_a_turn_that_runs_or_is_to_be_swept_up_stays_whole(self, stores: Stores) -> None:
        self.settle_in(stores, "ann")
        stores.start("t1", channel_id="here", user_id="ann")
        stores.ledger.intend(an_intent("i1", "t1", channel_id="here"), entries=(an_entry(0),))

        assert stores.traces.count("ann") == replace(ALL, unfinished=1)
        assert self.forget(stores) == replace(ALL, unfinished=1)
        assert len(stores.ledger.left_by("t1")) == 1
        stores.close("t1", channel_id="here")
        gone = self.forget(stores)
        assert gone == Traces(turns=1, entries=1, messages=1)

    def test_the_unit_of_a_turn_that_runs_stays(self, stores: Stores) -> None:
        check = counting("trigger", "t1", user="ann", daily=1)
        opened = stores.start("t1", admission=check)
        self.forget(stores)

        stores.close("t1", settle=Commit(reservation=reserved(opened.admission)))

        asked = counting("asked", user="ann", daily=1)
        assert stores.turns.admit(asked) != opened.admission

    def test_what_a_user_had_set_is_not_taken_for_what_is_set_anew(self, stores: Stores) -> None:
        self.settle_in(stores, "ann")
        before = stores.settings.personal("ann").version

        self.forget(stores)
        stores.editor.save_personal(PersonalSettings(user_id="ann"), chain=())

        assert stores.settings.personal("ann").version > before

    def test_the_users_resting_models_are_forgotten(self, stores: Stores) -> None:
        mine = RestScope(owner=Owner.user("ann"), place="wall", model="alpha")
        stores.turns.rest(mine, for_s=600)
        stores.turns.rest(replace(mine, owner=SERVER), for_s=600)

        assert self.forget(stores) == Traces(counts=1)
        assert self.forget(stores) == Traces()

    def test_turns_are_forgotten_in_batches(self, stores: Stores) -> None:
        for number in range(5):
            stores.start(f"t{number}", channel_id=f"t{number}")
            stores.close(f"t{number}", channel_id=f"t{number}")
        told: list[int] = []

        forget = ForgetUser(traces=stores.traces, known=KnownSettings(stores.settings), batch=2)
        gone = forget("ann", told.append)

        assert (gone.turns, told) == (5, [2, 4, 5])
