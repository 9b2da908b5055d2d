"""What every store says to a turn that has not begun."""

from dataclasses import replace
from datetime import timedelta

import pytest
from builders import SERVER
from contracts.stores import Stores, an_opening, cooling, counting, refused, reserved

from turnkeeper.domain.admission import AdmissionCheck, Granted, RefusalKind
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import RestScope
from turnkeeper.domain.standing import Standing

SCOPE = RestScope(owner=SERVER, place="wall", model="alpha")


class StandingsContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    def look(self, stores: Stores, check: AdmissionCheck | None = None, **more: object) -> Standing:
        return stores.standings.look(an_opening("asked", admission=check, **more))

    def test_where_nothing_was_done_nothing_stands_in_the_way(self, stores: Stores) -> None:
        check = replace(counting("asked", daily=1, wide=1), cooldown=cooling("asked").cooldown)

        standing = self.look(stores, check, owners=(SERVER,))

        assert standing == Standing(now=standing.now)
        assert standing.admits(check) == Granted()

    def test_a_look_takes_nothing(self, stores: Stores) -> None:
        check = replace(counting("t1", daily=1, wide=1), cooldown=cooling("t1").cooldown)

        for _ in range(3):
            self.look(stores, check)

        reserved(stores.start("t1", admission=check).admission)

    def test_a_busy_channel_is_seen(self, stores: Stores) -> None:
        stores.start("t1", alive_s=30)

        standing = self.look(stores)

        assert 25 < stores.seconds_until(standing.busy_until) <= 30
        assert refused(standing.admits(None)) is RefusalKind.CHANNEL_BUSY
        assert self.look(stores, serialize=False).busy_until is None
        assert self.look(stores, channel_id="other").busy_until is None

    def test_an_unreachable_channel_is_seen(self, stores: Stores) -> None:
        stores.turns.mark_unreachable(SERVER, "channel", for_s=60)

        standing = self.look(stores)

        assert 55 < stores.seconds_until(standing.away_until) <= 60
        assert refused(standing.admits(None)) is RefusalKind.UNREACHABLE

    def test_a_cooldown_is_seen_until_it_is_over(self, stores: Stores) -> None:
        stores.turns.admit(cooling("first", "user:ann", s=60))

        mine = cooling("asked", "user:ann", s=60)
        standing = self.look(stores, mine)

        assert 55 < stores.seconds_until(standing.cooling_until) <= 60
        assert refused(standing.admits(mine)) is RefusalKind.COOLDOWN
        assert standing.admits(cooling("asked", "user:ann", exempt=True)) == Granted()
        assert self.look(stores, cooling("asked", "user:bob")).cooling_until is None
        stores.pass_time(61)
        assert self.look(stores, mine).cooling_until is None

    def test_units_count_while_they_are_held_and_once_they_are_used(self, stores: Stores) -> None:
        check = counting("asked", daily=2, wide=5)
        opened = stores.start("t1", admission=counting("first", "t1", daily=2, wide=5))
        held = self.look(stores, check)
        stores.use(reserved(opened.admission))
        used = self.look(stores, check)
        second = counting("second", "t2", daily=2, wide=5)
        stores.start("t2", channel_id="other", admission=second)
        both = self.look(stores, check)

        assert [(one.by_user, one.by_server) for one in (held, used, both)] == [
            (1, 1),
            (1, 1),
            (2, 2),
        ]
        assert refused(both.admits(check)) is RefusalKind.USER_QUOTA
        bob = counting("asked", user="bob", daily=2, wide=5)
        assert (self.look(stores, bob).by_user, self.look(stores, bob).by_server) == (0, 2)

    def test_it_says_what_an_opening_then_says(self, stores: Stores) -> None:
        check = counting("second", "t2", user="bob", wide=1, days=2)
        opened = stores.start("t1", admission=counting("first", "t1", wide=1, days=2))
        stores.use(reserved(opened.admission))

        seen = self.look(stores, check).admits(check)
        said = stores.open("t2", admission=check).admission

        assert (refused(seen), refused(said)) == (RefusalKind.SERVER_QUOTA,) * 2
        assert seen.until == said.until  # type: ignore[union-attr]

    def test_a_period_that_is_over_counts_nothing(self, stores: Stores) -> None:
        opened = stores.start("t1", admission=counting("first", "t1", wide=1))
        stores.use(reserved(opened.admission))
        stores.pass_time(timedelta(days=1, seconds=1).total_seconds())

        standing = self.look(stores, counting("asked", wide=1))

        assert (standing.by_server, standing.period_ends_at) == (0, None)

    def test_resting_models_of_the_owners_are_seen(self, stores: Stores) -> None:
        stores.turns.rest(SCOPE, for_s=60)
        stores.turns.rest(replace(SCOPE, owner=Owner.user("bob")), for_s=60)

        standing = self.look(stores, owners=(SERVER, Owner.user("ann")))

        ((scope, until),) = standing.resting
        assert scope == SCOPE
        assert 55 < stores.seconds_until(until) <= 60
        assert standing.rests_until(SCOPE) == until
        assert standing.rests_until(replace(SCOPE, model="beta")) is None
