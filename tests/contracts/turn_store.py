"""What every turn store does when turns open, live and close."""

import pytest
from builders import SERVER, USER, a_delivery, a_failure, a_model
from contracts.stores import Stores, a_closing, a_result, an_intent, an_opening, refused

from turnkeeper.application.ports.ledger import Fates, IntentState
from turnkeeper.application.ports.turn_store import AlreadyEnded, Booked, Opened
from turnkeeper.domain.admission import Granted, RefusalKind, Refused
from turnkeeper.domain.errors import AlreadyRunning
from turnkeeper.domain.events import CleanedUp, Entry
from turnkeeper.domain.outcome import ThoughtLog, TurnStatus
from turnkeeper.domain.owner import Owner, Route
from turnkeeper.domain.plan import RestScope
from turnkeeper.domain.rotation import BookSuccess
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.turn import (
    AttemptFailure,
    Persona,
    PersonaResponse,
    ThoughtLogOfPersona,
    TurnResult,
)

SCOPE = RestScope(owner=SERVER, place="wall", model="alpha")
RICH = TurnResult(
    status=TurnStatus.COMPLETED,
    turn_id="t1",
    persona_responses=(PersonaResponse(text="Grüße \0 \ud800", persona_name="Ann"),),
    thought_log=ThoughtLog(summary="hm"),
    thought_log_owner=ThoughtLogOfPersona(persona=Persona(id="p", is_alter=True)),
    success_model=a_model(images=True),
    credential_source=Route.SERVER,
    failures=(AttemptFailure(attempt_no=0, label="primary", model="m", failure=a_failure()),),
    delivered=(a_delivery(),),
)


class TurnStoreContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    # ── the same turn ───────────────────────────────────────────────────────────────────────

    def test_a_new_turn_begins(self, stores: Stores) -> None:
        assert stores.turns.open(an_opening()) == Opened(admission=Granted(), epoch=1)

    def test_the_same_turn_does_not_begin_while_it_runs(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")

        with pytest.raises(AlreadyRunning, match=r"turn key .* as t1"):
            stores.open("t2", turn_key="key", channel_id="other")

    def test_a_turn_that_has_ended_is_not_run_again(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.close("t1", result=RICH)

        again = stores.turns.open(an_opening("t2", turn_key="key"))

        assert again == AlreadyEnded(result=RICH)

    def test_keys_of_two_servers_are_two_turns(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")

        stores.start("t2", turn_key="key", server=Owner.server("elsewhere"))

    def test_turns_without_a_key_are_never_the_same(self, stores: Stores) -> None:
        stores.start("t1", turn_key="", channel_id="one")

        stores.start("t2", turn_key="", channel_id="two")

    def test_opening_a_turn_twice_is_opening_it(self, stores: Stores) -> None:
        first = stores.start("t1", turn_key="key")

        assert stores.start("t1", turn_key="key") == first

    def test_a_dead_turn_is_taken_over_in_the_next_epoch(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key", alive_s=30)
        stores.pass_time(31)

        assert stores.start("t2", turn_key="key", channel_id="other").epoch == 2

    def test_a_turn_that_was_taken_over_does_not_come_back(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.pass_time(31)
        stores.start("t2", turn_key="key")

        with pytest.raises(AlreadyRunning):
            stores.open("t1", turn_key="key")

    def test_a_turn_that_was_taken_over_ends_nothing(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.pass_time(31)
        stores.start("t2", turn_key="key")

        stores.close("t1", epoch=1)

        with pytest.raises(AlreadyRunning):
            stores.open("t3", turn_key="key")
        assert refused(stores.open("t4").admission) is RefusalKind.CHANNEL_BUSY

    # ── the channel ─────────────────────────────────────────────────────────────────────────

    def test_a_channel_has_one_turn_at_a_time(self, stores: Stores) -> None:
        stores.start("t1")

        admission = stores.open("t2").admission

        assert isinstance(admission, Refused)
        assert admission.kind is RefusalKind.CHANNEL_BUSY
        assert 0 < stores.seconds_until(admission.until) <= 30

    def test_another_channel_is_free(self, stores: Stores) -> None:
        stores.start("t1", channel_id="one")

        stores.start("t2", channel_id="two")

    def test_a_turn_that_shares_the_channel_does_not_wait_for_it(self, stores: Stores) -> None:
        stores.start("t1")

        stores.start("t2", serialize=False)

    def test_an_end_frees_the_channel(self, stores: Stores) -> None:
        stores.start("t1")
        stores.close("t1")

        stores.start("t2")

    def test_the_end_of_a_turn_without_the_channel_frees_nothing(self, stores: Stores) -> None:
        stores.start("t1")
        stores.start("t2", serialize=False)
        stores.close("t2")

        assert refused(stores.open("t3").admission) is RefusalKind.CHANNEL_BUSY

    def test_a_dead_turn_loses_its_channel_and_is_told(self, stores: Stores) -> None:
        stores.start("t1")
        stores.pass_time(31)
        stores.start("t2")

        assert stores.turns.extend(("t1", "t2"), alive_s=30) == {"t1"}

    def test_a_turn_that_a_busy_channel_refused_may_begin_later(self, stores: Stores) -> None:
        stores.start("t1", turn_key="one")
        stores.open("t2", turn_key="two")
        stores.close("t1")

        stores.start("t3", turn_key="two")

    # ── where nobody can be reached ─────────────────────────────────────────────────────────

    def test_an_unreachable_channel_refuses_until_it_is_forgotten(self, stores: Stores) -> None:
        stores.turns.mark_unreachable(SERVER, "channel", for_s=60)

        admission = stores.open("t1").admission
        stores.pass_time(61)

        assert refused(admission) is RefusalKind.UNREACHABLE
        stores.start("t2")

    def test_an_unreachable_channel_is_not_taken(self, stores: Stores) -> None:
        stores.turns.mark_unreachable(SERVER, "channel", for_s=10)
        stores.open("t1", turn_key="key")
        stores.pass_time(11)

        stores.start("t2", turn_key="key")

    def test_a_mark_only_moves_later(self, stores: Stores) -> None:
        stores.turns.mark_unreachable(SERVER, "channel", for_s=60)
        stores.turns.mark_unreachable(SERVER, "channel", for_s=1)
        stores.pass_time(30)

        assert refused(stores.open().admission) is RefusalKind.UNREACHABLE

    def test_other_channels_are_reachable(self, stores: Stores) -> None:
        stores.turns.mark_unreachable(SERVER, "elsewhere", for_s=60)
        stores.turns.mark_unreachable(Owner.server("other"), "channel", for_s=60)

        stores.start()

    # ── what is read on the way ─────────────────────────────────────────────────────────────

    def test_the_versions_of_settings_come_with_the_opening(self, stores: Stores) -> None:
        stores.set_version(SERVER, 3)

        assert stores.open(owners=(USER, SERVER)).versions == ((USER, 0), (SERVER, 3))

    def test_resting_models_come_with_the_opening(self, stores: Stores) -> None:
        stores.turns.rest(SCOPE, for_s=15)

        assert stores.open(owners=(SERVER,)).resting == {SCOPE}

    def test_models_of_others_do_not_rest(self, stores: Stores) -> None:
        stores.turns.rest(SCOPE, for_s=15)

        assert stores.open(owners=(USER,)).resting == frozenset()

    def test_a_rest_ends(self, stores: Stores) -> None:
        stores.turns.rest(SCOPE, for_s=15)
        stores.pass_time(16)

        assert stores.open(owners=(SERVER,)).resting == frozenset()

    def test_a_rest_only_moves_later(self, stores: Stores) -> None:
        stores.turns.rest(SCOPE, for_s=60)
        stores.turns.rest(SCOPE, for_s=1)
        stores.pass_time(30)

        assert stores.open(owners=(SERVER,)).resting == {SCOPE}

    def test_a_refused_turn_is_told_versions_and_rests_too(self, stores: Stores) -> None:
        stores.start("t1")
        stores.turns.rest(SCOPE, for_s=15)

        opened = stores.open("t2", owners=(SERVER,))

        assert opened.versions == ((SERVER, 0),)
        assert opened.resting == {SCOPE}

    # ── signs of life ───────────────────────────────────────────────────────────────────────

    def test_a_sign_of_life_keeps_a_turn_and_its_channel(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        for _ in range(3):
            stores.pass_time(20)
            assert stores.turns.extend(("t1",), alive_s=30) == frozenset()

        assert refused(stores.open("t2").admission) is RefusalKind.CHANNEL_BUSY
        with pytest.raises(AlreadyRunning):
            stores.open("t3", turn_key="key")

    def test_a_late_sign_of_life_is_in_time_if_nobody_took_over(self, stores: Stores) -> None:
        stores.start("t1")
        stores.pass_time(100)

        assert stores.turns.extend(("t1",), alive_s=30) == frozenset()
        assert refused(stores.open("t2").admission) is RefusalKind.CHANNEL_BUSY

    def test_a_turn_that_nobody_knows_was_given_up(self, stores: Stores) -> None:
        assert stores.turns.extend(("nobody",), alive_s=30) == {"nobody"}

    def test_a_turn_that_has_ended_was_not_given_up(self, stores: Stores) -> None:
        stores.start("t1")
        stores.close("t1")

        assert stores.turns.extend(("t1",), alive_s=30) == frozenset()
        stores.start("t2")

    def test_no_turns_need_no_sign_of_life(self, stores: Stores) -> None:
        assert stores.turns.extend((), alive_s=30) == frozenset()

    # ── the end ─────────────────────────────────────────────────────────────────────────────

    def test_a_second_end_changes_nothing(self, stores: Stores) -> None:
        stores.start("t1", turn_key="key")
        stores.close("t1")
        stores.start("t2")

        late = Entry(turn_id="t1", seq=0, at_s=0.0, event=CleanedUp())
        stores.close("t1", result=a_result("t1", TurnStatus.ERROR), entries=(late,))

        assert refused(stores.open("t3").admission) is RefusalKind.CHANNEL_BUSY
        again = stores.turns.open(an_opening("t4", turn_key="key", channel_id="other"))
        assert again == AlreadyEnded(result=a_result("t1"))
        assert stores.journal.entries("t1") == ()

    def test_the_ledger_and_the_journal_hear_of_the_end(self, stores: Stores) -> None:
        stores.start()
        stores.ledger.intend(an_intent("i1"))
        stores.ledger.intend(an_intent("i2"))
        entry = Entry(turn_id="t1", seq=0, at_s=1.5, event=CleanedUp())

        stores.close(
            "t1",
            fates=Fates(posted=(("i1", a_delivery("m1")), ("i2", a_delivery("m2"))), stuck=("m2",)),
            entries=(entry,),
        )

        left = [(state, message_id) for _, state, message_id in stores.ledger.left_by("t1")]
        assert left == [(IntentState.POSTED, "m1"), (IntentState.STUCK, "m2")]
        assert stores.journal.entries("t1") == (entry,)

    def test_the_keys_hear_of_the_end_once(self, stores: Stores) -> None:
        (key_id,) = stores.keys.add("one")
        booked = Booked(lease=stores.keys.lend(), booking=BookSuccess())
        stores.start()

        stores.close(bookings=(booked,))
        stores.close(bookings=(booked,))

        health = stores.keys.health(key_id)
        assert (health.usage_count, health.in_flight) == (1, 0)

    def test_a_key_that_was_replaced_meanwhile_is_only_freed(self, stores: Stores) -> None:
        (key_id,) = stores.keys.add("one")
        booked = Booked(lease=stores.keys.lend(), booking=BookSuccess())
        stores.pass_time(1)
        stores.keys.saved.replace(SERVER, key_id, Secret("two"))
        in_flight = stores.keys.health(key_id).in_flight
        stores.start()

        stores.close(bookings=(booked,))

        health = stores.keys.health(key_id)
        assert (health.usage_count, health.in_flight) == (0, max(0, in_flight - 1))

    def test_the_end_of_a_turn_that_never_began_is_noted(self, stores: Stores) -> None:
        entry = Entry(turn_id="t1", seq=0, at_s=0.0, event=CleanedUp())

        stores.turns.close(a_closing("t1", entries=(entry,)))

        assert stores.journal.entries("t1") == (entry,)
