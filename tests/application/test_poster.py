from collections.abc import Sequence

from builders import a_delivery, a_request
from fakes import FrozenClock

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.ledger import Fates
from turnkeeper.application.poster import Poster
from turnkeeper.application.recorder import Recorder
from turnkeeper.application.stage import Stage
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.domain.events import Entry, MessageTakenBack
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.ledger import MemoryLedger
from turnkeeper.infrastructure.memory.register import Register
from turnkeeper.infrastructure.memory.sink import MemorySink


class AwayLedger(MemoryLedger):
    def settle(self, turn_id: str, fates: Fates, *, entries: Sequence[Entry] = ()) -> None:
        raise StoreUnavailable("it is read-only just now")


def test_what_came_late_while_the_store_was_away_goes_with_the_turns_end() -> None:
    clock, sink = FrozenClock(), MemorySink()
    recorder = Recorder("t1", clock)
    stage = Stage(
        request=a_request(),
        sink=sink,
        target=sink.prepare(a_request()),
        deadline=Deadline(60.0),
        recorder=recorder,
        mailbox=Mailbox(),
    )
    poster = Poster(
        stage=stage, ledger=AwayLedger(Register(clock), journal=MemoryJournal()), epoch=1
    )
    poster.take_back((a_delivery("m1"),), late=True)

    poster.write_late()

    assert poster.fates() == Fates(taken_back=("m1",))
    assert [entry.event for entry in recorder.take()] == [
        MessageTakenBack(message_id="m1", late=True)
    ]
