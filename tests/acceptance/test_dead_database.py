"""The database is away: before a turn, in the middle of one, at its end."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import a_request
from fakes import OneProvider, Script, ScriptedProvider, says

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.contract import breaches
from turnkeeper.domain.errors import StoreUnavailable, TurnFailed
from turnkeeper.domain.events import Entry, TurnEnded
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, TextDelta
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres
SERVER = Owner.server("guild")
LONG = "A paragraph that is long enough to be posted. " * 30 + "\n\n"
KEY = "sk-canary-0123456789abcdef"


class House:
    """A turnkeeper on a database server of its own, which can be switched off and on."""

    def __init__(self, folder: Path) -> None:
        self.server = EmbeddedPostgres(folder / "postgres")
        self.url = self.server.start()
        self.provider = ScriptedProvider(alpha=says("Hello."))
        settings = Settings(data_dir=folder, database_url=self.url, live_limits=False)
        self.keeper = Turnkeeper.open(settings, chat_providers=OneProvider(self.provider))
        self.keeper.configure.register_model("wall:alpha")
        self.keeper.configure.use_model("guild", "wall:alpha")
        self.keeper.configure.add_key(SERVER, "wall", KEY)
        self.sink = MemorySink()
        self.entries: list[Entry] = []

    def off(self) -> None:
        self.server.stop()

    def on(self) -> None:
        self.server.start()

    def says(self, script: Script) -> None:
        self.provider.rewrite(alpha=script)

    def run(self) -> TurnStatus:
        self.sink, self.entries = MemorySink(), []
        result = self.keeper.run(a_request(), self.sink, on_event=self.entries.append)
        assert breaches(tuple(self.entries)) == ()
        assert (self.sink.finalized, self.sink.cleaned_up) == ([result], 1)
        assert KEY not in repr(result) + repr(self.entries) + repr(self.sink.channel.messages)
        return result.status


@pytest.fixture
def house(passable_folder: Path) -> Iterator[House]:
    made = House(passable_folder)
    made.run()
    yield made
    made.keeper.close(5.0)
    made.off()


def dies(house: House, *pieces: str) -> Script:
    """Some text, then the database goes away, then the rest of an answer."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        for piece in pieces:
            yield TextDelta(piece)
        house.off()
        yield TextDelta("The end.")
        yield Finished(reason=FinishReason.STOP)

    return script


def test_before_a_turn_it_ends_with_a_clear_error_and_nobody_is_asked(house: House) -> None:
    asked = len(house.provider.calls)
    house.off()

    status = house.run()

    assert status is TurnStatus.ERROR
    assert len(house.provider.calls) == asked
    (said,) = house.sink.channel.said("error")
    assert "cannot be reached just now" in said


def test_a_caller_who_is_to_be_told_is_told(house: House) -> None:
    house.off()

    with pytest.raises(TurnFailed, match="store"):
        house.keeper.run(a_request(audience=Audience.CALLER), MemorySink())


def test_a_message_whose_intent_cannot_be_written_is_not_posted(house: House) -> None:
    house.says(dies(house))

    status = house.run()

    assert status is TurnStatus.ERROR
    assert house.sink.channel.said("stream") == ()
    (failed,) = house.sink.finalized[0].failures
    assert failed.failure.kind is FailureKind.STORE


def test_once_posting_has_begun_the_answer_is_finished(house: House) -> None:
    house.says(dies(house, LONG))

    status = house.run()

    assert status is TurnStatus.COMPLETED
    assert house.sink.channel.text == f"{LONG.strip()}\nThe end."


def test_what_could_not_be_written_at_the_end_is_written_when_it_is_back(house: House) -> None:
    house.says(dies(house, LONG))
    house.run()
    turn_id = house.sink.finalized[0].turn_id
    house.on()
    house.says(says("Hello."))

    house.run()

    kinds = [type(entry.event) for entry in house.keeper.events(turn_id)]
    assert TurnEnded in kinds
    (saved,) = house.keeper.configure.saved_keys(SERVER)
    assert (saved.key.health.usage_count, saved.key.health.in_flight) == (3, 0)


def test_a_restart_between_two_turns_is_not_noticed(house: House) -> None:
    house.off()
    house.on()

    assert house.run() is TurnStatus.COMPLETED


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("postgresql://nobody:hunter2canary@127.0.0.1:9/none", "127.0.0.1"),
        ("postgresql://u:hunter2canary@no-such-host.invalid/none", "no-such-host.invalid"),
    ],
)
def test_a_wrong_address_is_said_without_its_password(tmp_path: Path, url: str, named: str) -> None:
    with pytest.raises(StoreUnavailable) as raised:
        Turnkeeper.open(Settings(data_dir=tmp_path, database_url=url))

    assert named in str(raised.value)
    assert "hunter2canary" not in f"{raised.value!r} {raised.value.__cause__!r}"
