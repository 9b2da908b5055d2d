"""What every carrier of signals does."""

from queue import Empty, SimpleQueue

import pytest
from contracts.keys import at_once
from contracts.stores import Stores

from turnkeeper.domain.answers import Signal

STOP = Signal.STOP_REQUESTED
SYSTEM_STOP = Signal.SYSTEM_STOP_REQUESTED
FOLLOW_UP = Signal.FOLLOW_UP_REQUESTED

Heard = SimpleQueue[Signal]


def never(heard: Heard) -> bool:
    """Whether nothing was heard, once whatever follows was."""
    with pytest.raises(Empty):
        heard.get_nowait()
    return True


class SignalsContract:
    """Subclass as Test… and give a `stores` fixture."""

    @pytest.fixture
    def stores(self) -> Stores:
        raise NotImplementedError

    # ── sending ─────────────────────────────────────────────────────────────────────────────

    def test_a_signal_reaches_a_running_turn(self, stores: Stores) -> None:
        stores.start()

        assert stores.signals.send("t1", STOP)
        assert stores.signals.pending("t1") is STOP

    def test_reading_does_not_consume(self, stores: Stores) -> None:
        stores.start()
        stores.signals.send("t1", STOP)

        assert [stores.signals.pending("t1") for _ in range(2)] == [STOP, STOP]

    def test_nothing_pends_before_a_signal(self, stores: Stores) -> None:
        stores.start()

        assert stores.signals.pending("t1") is None

    def test_opening_a_turn_again_does_not_lose_its_signal(self, stores: Stores) -> None:
        stores.start()
        stores.signals.send("t1", STOP)

        stores.start()

        assert stores.signals.pending("t1") is STOP

    def test_a_turn_that_nobody_knows_hears_nothing(self, stores: Stores) -> None:
        assert not stores.signals.send("nobody", STOP)
        assert stores.signals.pending("nobody") is None

    def test_a_turn_that_has_ended_hears_nothing(self, stores: Stores) -> None:
        stores.start()
        stores.close()

        assert not stores.signals.send("t1", STOP)
        assert stores.signals.pending("t1") is None

    def test_a_turn_that_was_refused_hears_nothing(self, stores: Stores) -> None:
        stores.start("t1")
        stores.open("t2")

        assert not stores.signals.send("t2", STOP)

    def test_a_dead_turn_hears_nothing(self, stores: Stores) -> None:
        stores.start()
        stores.pass_time(31)

        assert not stores.signals.send("t1", STOP)

    def test_a_signal_is_for_one_turn(self, stores: Stores) -> None:
        stores.start("t1")
        stores.signals.send("t1", STOP)
        stores.close("t1")
        stores.start("t2")

        assert stores.signals.pending("t2") is None

    @pytest.mark.parametrize(
        ("sent", "counts"),
        [
            ((FOLLOW_UP, STOP), STOP),
            ((FOLLOW_UP, SYSTEM_STOP), SYSTEM_STOP),
            ((STOP, FOLLOW_UP), STOP),
            ((STOP, SYSTEM_STOP), STOP),
            ((SYSTEM_STOP, STOP), SYSTEM_STOP),
            ((FOLLOW_UP, FOLLOW_UP), FOLLOW_UP),
        ],
        ids=["stop", "system stop", "no follow-up", "first stop", "system first", "once"],
    )
    def test_a_stop_outranks_a_follow_up_and_the_first_stop_counts(
        self, sent: tuple[Signal, ...], counts: Signal, stores: Stores
    ) -> None:
        stores.start()

        assert [stores.signals.send("t1", signal) for signal in sent] == [True, True]
        assert stores.signals.pending("t1") is counts

    # ── watching ────────────────────────────────────────────────────────────────────────────

    def test_who_watches_hears(self, stores: Stores) -> None:
        heard: Heard = SimpleQueue()
        stores.start()
        stores.signals.watch("t1", heard.put)

        stores.signals.send("t1", STOP)

        assert heard.get(timeout=10) is STOP

    def test_who_watches_too_late_hears_too(self, stores: Stores) -> None:
        heard: Heard = SimpleQueue()
        stores.start()
        stores.signals.send("t1", STOP)

        stores.signals.watch("t1", heard.put)

        assert heard.get(timeout=10) is STOP

    def test_who_watches_hears_once(self, stores: Stores) -> None:
        first, last = SimpleQueue[Signal](), SimpleQueue[Signal]()
        stores.start()
        stores.signals.watch("t1", first.put)
        stores.signals.send("t1", FOLLOW_UP)
        first.get(timeout=10)

        stores.signals.send("t1", STOP)
        stores.signals.watch("t1", last.put)

        assert last.get(timeout=10) is STOP
        assert never(first)

    def test_all_who_watch_hear(self, stores: Stores) -> None:
        heard: Heard = SimpleQueue()
        stores.start()
        for _ in range(3):
            stores.signals.watch("t1", heard.put)

        stores.signals.send("t1", STOP)

        assert [heard.get(timeout=10) for _ in range(3)] == [STOP] * 3

    def test_a_watch_that_has_ended_hears_nothing(self, stores: Stores) -> None:
        ended, last = SimpleQueue[Signal](), SimpleQueue[Signal]()
        stores.start()
        end = stores.signals.watch("t1", ended.put)
        end()
        end()

        stores.signals.watch("t1", last.put)
        stores.signals.send("t1", STOP)

        assert last.get(timeout=10) is STOP
        assert never(ended)

    def test_signals_to_others_are_not_heard(self, stores: Stores) -> None:
        mine, other = SimpleQueue[Signal](), SimpleQueue[Signal]()
        stores.start("t1", channel_id="one")
        stores.start("t2", channel_id="two")
        stores.signals.watch("t1", mine.put)
        stores.signals.watch("t2", other.put)

        stores.signals.send("t2", STOP)

        assert other.get(timeout=10) is STOP
        assert never(mine)

    def test_one_who_fails_to_hear_does_not_keep_the_others_from_it(self, stores: Stores) -> None:
        heard: Heard = SimpleQueue()

        def fail(signal: Signal) -> None:
            raise ValueError(signal)

        stores.start()
        stores.signals.watch("t1", fail)
        stores.signals.watch("t1", heard.put)

        stores.signals.send("t1", STOP)

        assert heard.get(timeout=10) is STOP

    def test_many_turns_are_watched_at_once(self, stores: Stores) -> None:
        heard = {f"t{n}": SimpleQueue[Signal]() for n in range(16)}
        for name, queue in heard.items():
            stores.start(name, channel_id=name)
            stores.signals.watch(name, queue.put)

        at_once(16, lambda n: stores.signals.send(f"t{n}", STOP))

        assert [queue.get(timeout=10) for queue in heard.values()] == [STOP] * 16

    # ── who is there ────────────────────────────────────────────────────────────────────────

    def test_the_turns_of_a_channel_are_known_oldest_first(self, stores: Stores) -> None:
        stores.start("t2")
        stores.start("t1", serialize=False)
        stores.start("t3", channel_id="other")

        assert stores.signals.running_in("guild", "channel") == ("t2", "t1")

    def test_turns_that_ended_or_died_do_not_run(self, stores: Stores) -> None:
        stores.start("t1", serialize=False)
        stores.pass_time(31)
        stores.start("t2", serialize=False, alive_s=60)
        stores.start("t3", serialize=False, alive_s=60)
        stores.close("t3")

        assert stores.signals.running_in("guild", "channel") == ("t2",)
