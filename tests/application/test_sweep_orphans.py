from datetime import datetime

import pytest
from builders import SERVER, a_delivery, an_attempt
from contracts.journal import an_entry
from contracts.ledger import ABSENT, INTENDED, POSTED, STUCK, TAKEN_BACK
from contracts.stores import Stores, an_intent, counting, refused
from stores_in_memory import stores_in_memory

from turnkeeper.application.ports.channel_reader import ChannelReader
from turnkeeper.application.ports.ledger import Fates
from turnkeeper.application.ports.orphans import Swept
from turnkeeper.application.poster import content_hash
from turnkeeper.application.sweep_orphans import (
    FIRST_AGAIN_S,
    LAST_AGAIN_S,
    MAX_CLAIMS,
    SweepOrphans,
)
from turnkeeper.application.sweep_report import LostTurn, SweepReport
from turnkeeper.domain.errors import SinkError, StoreUnavailable
from turnkeeper.domain.events import SWEPT_SEQ, Entry, KeyLeased, TurnStarted, TurnSwept
from turnkeeper.domain.outcome import Origin
from turnkeeper.domain.owner import Route
from turnkeeper.infrastructure.memory.channel_reader import MemoryChannelReader
from turnkeeper.infrastructure.memory.sink import MemoryChannel

DEAD_S = 61.0


class Bench:
    """A channel with what a turn posted there, and who sweeps it."""

    def __init__(self) -> None:
        self.stores: Stores = stores_in_memory()
        self.channel = MemoryChannel(now=self.stores.now)
        self.refused: set[str] = set()
        self.reader: ChannelReader = MemoryChannelReader(
            {"channel": self.channel}, trouble=self._refuse
        )
        self.lost: list[LostTurn] = []
        self.stores.start(turn_key="trigger/persona/0", user_id="ann")

    def _refuse(self, name: str) -> None:
        if name in self.refused:
            raise SinkError(f"{name} stays")

    def intend(self, text: str, intent_id: str, **more: object) -> None:
        intent = an_intent(
            intent_id,
            "t1",
            content_hash=content_hash(text.strip()),
            chars=len(text.strip()),
            **more,
        )
        assert self.stores.ledger.intend(intent)

    def put(self, text: str, **more: object) -> str:
        return self.channel.put(text, "stream", **more).id  # type: ignore[arg-type]

    def post(self, text: str, intent_id: str, **more: object) -> str:
        """A message whose id was written."""
        self.intend(text, intent_id, **more)
        message_id = self.put(text)
        fates = Fates(posted=((intent_id, a_delivery(message_id)),))
        self.stores.ledger.settle("t1", fates)
        return message_id

    def sweep(self, reader: ChannelReader | None = None) -> SweepReport:
        sweep = SweepOrphans(
            orphans=self.stores.orphans,
            journal=self.stores.journal,
            reader=reader or self.reader,
            by="me",
            on_lost_turn=self.lost.append,
        )
        return sweep()

    def die_and_sweep(self) -> SweepReport:
        self.stores.pass_time(DEAD_S)
        return self.sweep()

    @property
    def shown(self) -> list[str]:
        return [message.text for message in self.channel.messages]

    @property
    def states(self) -> list[str]:
        return [state.value for _, state, _ in self.stores.ledger.left_by("t1")]


@pytest.fixture
def bench() -> Bench:
    return Bench()


# ── messages ────────────────────────────────────────────────────────────────────────────────


def test_what_a_dead_turn_posted_is_taken_back(bench: Bench) -> None:
    bench.put("Good morning")
    one, two = bench.post("Hello", "i1"), bench.post("there", "i2")

    report = bench.die_and_sweep()

    assert bench.shown == ["Good morning"]
    assert report.taken_back == (one, two)
    assert bench.states == [TAKEN_BACK.value] * 2


def test_a_message_whose_id_was_never_written_is_found_and_taken_back(bench: Bench) -> None:
    bench.put("Good morning")
    bench.intend("Hello ", "i1")
    bench.put("Hello")

    report = bench.die_and_sweep()

    assert (bench.shown, report.taken_back, report.absent) == (["Good morning"], ("m2",), 0)
    assert bench.stores.ledger.left_by("t1")[0][1:] == (TAKEN_BACK, "m2")


def test_a_message_that_was_never_posted_is_absent(bench: Bench) -> None:
    bench.intend("Hello", "i1")

    report = bench.die_and_sweep()

    assert (report.taken_back, report.absent, bench.states) == ((), 1, [ABSENT.value])


def test_a_turn_that_lives_is_never_touched(bench: Bench) -> None:
    bench.post("Hello", "i1")
    bench.stores.pass_time(DEAD_S - 2)

    assert bench.sweep() == SweepReport()
    assert (bench.shown, bench.states) == (["Hello"], [POSTED.value])


def test_what_a_turn_said_that_ended_stays(bench: Bench) -> None:
    bench.post("Hello", "i1")
    bench.stores.close()

    assert bench.die_and_sweep() == SweepReport()
    assert bench.shown == ["Hello"]


def test_what_a_tool_posted_stays(bench: Bench) -> None:
    bench.post("a picture", "i1", origin=Origin.TOOL)
    bench.intend("another", "i2", origin=Origin.TOOL)
    bench.put("another")

    report = bench.die_and_sweep()

    assert (bench.shown, report.taken_back) == (["a picture", "another"], ())
    assert bench.states == [POSTED.value, INTENDED.value]


def test_a_temporary_webhook_is_deleted(bench: Bench) -> None:
    bench.intend("Hello", "i1", webhook_id="77", webhook_is_temporary=True)
    bench.put("Hello", webhook_id="77")
    bench.intend("there", "i2", webhook_id="78")

    report = bench.die_and_sweep()

    assert isinstance(bench.reader, MemoryChannelReader)
    assert (bench.reader.deleted_webhooks, report.webhooks, bench.shown) == (("77",), ("77",), [])


def test_a_webhook_that_stays_is_tried_again(bench: Bench) -> None:
    bench.intend("Hello", "i1", webhook_id="77", webhook_is_temporary=True)
    bench.refused.add("77")
    bench.die_and_sweep()
    bench.refused.clear()
    bench.stores.pass_time(FIRST_AGAIN_S + 1)

    assert bench.sweep().webhooks == ("77",)


# ── what the destination refuses ────────────────────────────────────────────────────────────


def test_what_is_refused_is_stuck_and_the_rest_goes(bench: Bench) -> None:
    one = bench.post("Hello", "i1")
    bench.post("there", "i2")
    bench.refused.add(one)

    report = bench.die_and_sweep()

    assert (report.stuck, bench.shown, bench.states) == (
        (one,),
        ["Hello"],
        [STUCK.value, TAKEN_BACK.value],
    )
    assert [left.message_id for left in bench.stores.orphans.stuck()] == [one]


def test_what_is_stuck_is_tried_again_and_told_once(bench: Bench) -> None:
    one = bench.post("Hello", "i1")
    bench.refused.add(one)
    bench.die_and_sweep()
    too_early = bench.sweep()
    bench.refused.clear()
    bench.stores.pass_time(FIRST_AGAIN_S + 1)

    again = bench.sweep()

    assert too_early == SweepReport()
    assert again == SweepReport(retried=1, taken_back=(one,))
    assert (len(bench.lost), bench.shown) == (1, [])


def test_each_try_waits_longer_and_the_last_is_the_last(bench: Bench) -> None:
    bench.refused.add(bench.post("Hello", "i1"))
    bench.die_and_sweep()
    waits = []
    for _ in range(MAX_CLAIMS - 1):
        wait_s = 0.0
        while not bench.sweep().retried:
            wait_s += FIRST_AGAIN_S
            bench.stores.pass_time(FIRST_AGAIN_S)
        waits.append(wait_s)
    bench.stores.pass_time(100 * LAST_AGAIN_S)

    assert waits[:3] == [FIRST_AGAIN_S, 2 * FIRST_AGAIN_S, 4 * FIRST_AGAIN_S]
    assert max(waits) == LAST_AGAIN_S
    assert bench.sweep() == SweepReport()
    assert len(bench.stores.orphans.stuck()) == 1


def test_what_a_turn_left_stuck_that_ended_is_tried_again(bench: Bench) -> None:
    bench.post("Hello", "i1")
    two = bench.post("there", "i2")
    bench.stores.ledger.settle("t1", Fates(stuck=(two,)))
    bench.stores.close()

    report = bench.sweep()

    assert (report, bench.shown) == (SweepReport(retried=1, taken_back=(two,)), ["Hello"])
    assert bench.stores.journal.entries("t1") == ()


def test_a_channel_that_cannot_be_looked_at_is_looked_at_later(bench: Bench) -> None:
    bench.intend("Hello", "i1")
    bench.put("Hello")
    bench.stores.pass_time(DEAD_S)

    report = bench.sweep(Unseen({}))
    bench.stores.pass_time(FIRST_AGAIN_S + 1)

    assert (report.unsure, bench.states) == (1, [INTENDED.value])
    assert bench.sweep().taken_back == ("m1",)


class Unseen(MemoryChannelReader):
    """A reader that is kept out."""

    def messages_since(self, place: object, since: datetime) -> tuple[()]:
        raise SinkError("missing access")


class Broken(MemoryChannelReader):
    """A reader with a bug."""

    def own_id(self) -> str:
        raise ZeroDivisionError("oops")


def test_a_bug_costs_one_turn_and_only_for_a_while(bench: Bench) -> None:
    bench.intend("Hello", "i1")
    bench.put("Hello")
    bench.stores.start("t2", channel_id="other")
    bench.stores.pass_time(DEAD_S)

    report = bench.sweep(Broken({}))
    bench.stores.pass_time(121)

    assert report.failed == (("t1", "ZeroDivisionError: oops"),)
    assert [lost.turn_id for lost in report.lost] == ["t2"]
    assert bench.sweep().taken_back == ("m1",)


def test_a_store_that_is_away_ends_the_sweep(bench: Bench) -> None:
    def away() -> None:
        raise StoreUnavailable("away")

    bench.stores.pass_time(DEAD_S)
    sweep = SweepOrphans(
        orphans=bench.stores.orphans,
        journal=bench.stores.journal,
        reader=bench.reader,
        by="me",
    )

    with pytest.raises(StoreUnavailable):
        sweep(check=away)


# ── what it held, and who hears of it ───────────────────────────────────────────────────────


def test_a_lost_turn_is_told_with_its_trigger(bench: Bench) -> None:
    one = bench.post("Hello", "i1")

    report = bench.die_and_sweep()

    lost = LostTurn(
        turn_id="t1",
        server_id=SERVER.id,
        channel_id="channel",
        user_id="ann",
        turn_key="trigger/persona/0",
        taken_back=(one,),
    )
    assert (bench.lost, report.lost, lost.trigger_id) == ([lost], (lost,), "trigger")


def test_a_successor_is_told(bench: Bench) -> None:
    bench.stores.pass_time(31)
    bench.stores.start("t2", turn_key="trigger/persona/0")

    bench.sweep()

    assert [lost.successor for lost in bench.lost] == ["t2"]


def test_a_hook_that_fails_stops_nothing(bench: Bench) -> None:
    def fail(lost: LostTurn) -> None:
        raise ZeroDivisionError

    bench.stores.start("t2", channel_id="other")
    bench.stores.pass_time(DEAD_S)
    sweep = SweepOrphans(
        orphans=bench.stores.orphans,
        journal=bench.stores.journal,
        reader=bench.reader,
        by="me",
        on_lost_turn=fail,
    )

    assert [lost.turn_id for lost in sweep().lost] == ["t1", "t2"]


def test_the_host_may_run_it_again_from_the_hook(bench: Bench) -> None:
    opened = []

    def again(lost: LostTurn) -> None:
        opened.append(refused(bench.stores.open("t2", turn_key=lost.turn_key).admission))

    sweep = SweepOrphans(
        orphans=bench.stores.orphans,
        journal=bench.stores.journal,
        reader=bench.reader,
        by="me",
        on_lost_turn=again,
    )
    bench.stores.pass_time(DEAD_S)

    sweep()

    assert opened == [None]


def test_the_journal_says_what_is_missing(bench: Bench) -> None:
    bench.stores.journal.record((an_entry(0), an_entry(1)))
    one = bench.post("Hello", "i1")
    bench.intend("there", "i2")

    bench.die_and_sweep()

    swept = TurnSwept(by="me", silent_s=31.0, last_seq=1, taken_back=(one,), absent=1)
    assert bench.stores.journal.entries("t1") == (
        an_entry(0),
        an_entry(1),
        Entry(turn_id="t1", seq=SWEPT_SEQ + 1, at_s=DEAD_S, event=swept),
    )


def test_its_unit_and_its_key_go_back(bench: Bench) -> None:
    (key,) = bench.stores.keys.add("one")
    bench.stores.turns.admit(counting("first", "t1", daily=1))
    lease = bench.stores.keys.lend()
    attempt = an_attempt(0)
    started = TurnStarted(
        route=Route.SERVER, attempts=(attempt,), server_route="", audience="person"
    )
    leased = KeyLeased(attempt_no=0, key_id=lease.key_id, is_main=True, is_probe=False)
    bench.stores.journal.record((an_entry(0, event=started), an_entry(1, event=leased)))

    bench.die_and_sweep()

    assert bench.stores.keys.health(key).in_flight == 0
    assert refused(bench.stores.turns.admit(counting("second", daily=1))) is None


def test_who_took_too_long_reports_nothing(bench: Bench) -> None:
    bench.intend("Hello", "i1")
    bench.stores.pass_time(DEAD_S)
    orphans = bench.stores.orphans

    class Slow(MemoryChannelReader):
        def own_id(self) -> str:
            bench.stores.pass_time(121)
            (orphan,) = orphans.claim("you", limit=1)
            assert orphans.done(Swept(orphan=orphan, absent=("i1",)))
            return super().own_id()

    assert bench.sweep(Slow({})) == SweepReport()
    assert bench.lost == []
