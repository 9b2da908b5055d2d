"""Whole turns over real sockets: the facade, the wall in the provider's place, both stores."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from builders import a_request

from turnkeeper.domain.contract import breaches
from turnkeeper.domain.events import Entry, KeyBooked
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner, Route
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import (
    Behaviour,
    BigEvent,
    CommentsOnly,
    CutAfter,
    Drip,
    Malformed,
    Refuse,
    Replay,
    Reset,
    Stall,
)
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SERVER = Owner.server("guild")
WORDS = tuple(f"word{n} " for n in range(60))
WHOLE = Answer(text="The whole answer.")
LONG = Answer(
    tokens=tuple(f"A sentence that fills the channel, number {n}.\n\n" for n in range(60))
)


def alpha_key(number: int) -> str:
    return f"sk-alpha{number}-canary0123456789abcdef"


class Keeper:
    """A turnkeeper whose server has models alpha and beta on the wall."""

    def __init__(self, kept: Turnkeeper, wall: Wall) -> None:
        self.kept = kept
        self.wall = wall
        self.entries: list[Entry] = []
        self.sink = MemorySink()

    def setup(self, *, keys: int = 1) -> None:
        for number, name in enumerate(("alpha", "beta"), start=1):
            self.kept.configure.save_endpoint(
                SERVER,
                Endpoint(
                    id=0,
                    connection_id=number,
                    label=name,
                    base_url=self.wall.base_url,
                    model_name=name,
                    trusted=True,
                ),
            )
        one, two = (f"endpoint:{e.id}" for e in self.kept.configure.endpoints(SERVER))
        self.kept.configure.use_model("guild", one)
        self.kept.configure.set_fallbacks("guild", (two,))
        self.alpha_keys = [
            self.kept.configure.add_key(SERVER, "custom:1", alpha_key(n)).key.id
            for n in range(1, keys + 1)
        ]
        self.kept.configure.add_key(SERVER, "custom:2", "sk-beta")

    def run(self, request: TurnRequest | None = None, sink: MemorySink | None = None) -> TurnResult:
        self.entries = []
        self.sink = sink or MemorySink()
        result = self.kept.run(request or a_request(), self.sink, on_event=self.entries.append)
        assert breaches(tuple(self.entries)) == ()
        assert self.sink.finalized == [result]
        assert self.sink.cleaned_up == 1
        return result

    def calls(self, model: str) -> list[str | None]:
        return [seen.key for seen in self.wall.seen if seen.model == model]

    @property
    def booked(self) -> list[tuple[int, str, str]]:
        return [
            (event.key_id, event.booking, event.rests)
            for entry in self.entries
            if isinstance(event := entry.event, KeyBooked)
        ]


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def keeper(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[Callable[..., Keeper]]:
    opened: list[Turnkeeper] = []
    values: dict[str, object] = {"store": request.param, "data_dir": tmp_path}
    if request.param == "postgres":
        values["database_url"] = request.getfixturevalue("database_url")

    with Wall() as wall:

        def make(*, keys: int = 1, **settings: object) -> Keeper:
            limits: dict[str, object] = {"first_progress_s": 0.5, "silence_ms": 500}
            kept = Turnkeeper.open(Settings(**(values | limits | settings)))
            opened.append(kept)
            keeper = Keeper(kept, wall)
            keeper.setup(keys=keys)
            return keeper

        yield make
        for kept in opened:
            kept.close(5.0)


def script(
    keeper: Keeper, alpha: Behaviour | list[Behaviour], beta: Behaviour | list[Behaviour] = WHOLE
) -> None:
    keeper.wall.script(alpha, model="alpha")
    keeper.wall.script(beta, model="beta")


def test_a_healthy_primary_answers(keeper: Callable[..., Keeper]) -> None:
    turn = keeper()
    script(turn, Answer(tokens=WORDS))

    result = turn.run()

    assert result.status is TurnStatus.COMPLETED
    assert result.text == "".join(WORDS).strip()
    assert turn.sink.channel.text == result.text
    assert result.success_model is not None
    assert (result.success_model.name, result.credential_source) == ("alpha", Route.SERVER)


def test_a_rate_limited_key_gives_way_to_the_next(keeper: Callable[..., Keeper]) -> None:
    turn = keeper(keys=2)
    script(turn, [Refuse(status=429), WHOLE])
    one, two = turn.alpha_keys

    result = turn.run()

    assert result.text == "The whole answer."
    assert turn.calls("alpha") == [alpha_key(1), alpha_key(2)]
    assert turn.booked == [(one, "error", "key"), (two, "success", "nothing")]
    assert turn.sink.notices == []


def test_a_cut_answer_is_taken_back_and_the_fallback_answers_whole(
    keeper: Callable[..., Keeper],
) -> None:
    turn = keeper()
    script(turn, CutAfter(tokens=40, of=LONG))

    result = turn.run()

    assert turn.sink.channel.text == "The whole answer."
    assert turn.sink.channel.deleted != ()
    assert turn.calls("beta") == ["sk-beta"]
    assert [failure.failure.kind for failure in result.failures] == [FailureKind.NETWORK]
    assert len(turn.sink.notices) == 1


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Reset(), FailureKind.NETWORK),
        (Refuse(status=500), FailureKind.SERVER_ERROR),
        (CutAfter(tokens=1, then="reset"), FailureKind.NETWORK),
    ],
    ids=["reset before headers", "500", "reset after one token"],
)
def test_a_fault_that_passes_is_repeated_once_and_answered_by_the_primary(
    keeper: Callable[..., Keeper], fault: Behaviour, kind: FailureKind
) -> None:
    turn = keeper()
    script(turn, [fault, WHOLE])

    result = turn.run()

    assert result.text == "The whole answer."
    assert turn.calls("alpha") == [alpha_key(1), alpha_key(1)]
    assert [failure.failure.kind for failure in result.failures] == [kind]


def test_a_refused_key_is_disabled_and_the_next_is_used(keeper: Callable[..., Keeper]) -> None:
    turn = keeper(keys=2)
    script(turn, [Refuse(status=401), WHOLE])

    turn.run()

    health = {saved.key.id: saved.key.health for saved in turn.kept.configure.saved_keys(SERVER)}
    assert [health[key].disabled for key in turn.alpha_keys] == [True, False]


def test_where_all_fail_the_error_is_said_once_and_the_last_output_stays(
    keeper: Callable[..., Keeper],
) -> None:
    turn = keeper()
    script(turn, Refuse(status=503), CutAfter(tokens=40, of=LONG))

    result = turn.run()

    assert result.status is TurnStatus.ERROR
    assert turn.sink.channel.text != ""
    assert len(turn.sink.channel.said("error")) == 1
    assert [d.text for d in result.delivered] == list(turn.sink.channel.said("stream"))


@pytest.mark.parametrize(
    "fault",
    [
        Stall(for_s=30.0),
        Stall(after_tokens=0, for_s=30.0),
        Stall(after_tokens=1, for_s=30.0),
        CommentsOnly(every_s=0.1, for_s=30.0),
    ],
    ids=["accept then silence", "headers then silence", "one token then silence", "comments only"],
)
def test_silence_is_a_time_out_and_the_next_model_answers(
    keeper: Callable[..., Keeper], fault: Behaviour
) -> None:
    turn = keeper(settle_ms=200)
    script(turn, fault)

    result = turn.run()

    assert result.text == "The whole answer."
    assert [failure.failure.kind for failure in result.failures] == [FailureKind.TIMEOUT]


def test_a_slow_drip_is_bounded_by_the_attempts_total(keeper: Callable[..., Keeper]) -> None:
    turn = keeper(attempt_s=1.0, settle_ms=200)
    script(turn, Drip(gap_s=0.3))

    result = turn.run()

    assert result.text == "The whole answer."
    assert result.failures[0].failure.rule == "timeout.attempt"


@pytest.mark.parametrize(
    "fault",
    [
        Answer(text=""),
        Malformed(),
        BigEvent(size_bytes=None),
        Replay(body=b"<html>busy</html>", status=200, headers=(("Content-Type", "text/html"),)),
        Replay(body=b'{"error": {"message": "no", "code": 500}}', status=200),
        Replay(body=b"data: \xff\xfe{broken\n\ndata: [DONE]\n\n", status=200),
    ],
    ids=["nothing", "malformed event", "endless event", "html", "bare json", "bad utf-8"],
)
def test_what_makes_no_sense_is_never_shown(
    keeper: Callable[..., Keeper], fault: Behaviour
) -> None:
    turn = keeper()
    script(turn, fault)

    result = turn.run()

    assert turn.sink.channel.text == "The whole answer."
    assert result.status is TurnStatus.COMPLETED


def test_a_sink_that_cannot_take_back_gets_only_the_whole_answer(
    keeper: Callable[..., Keeper],
) -> None:
    turn = keeper()
    script(turn, CutAfter(tokens=40, of=LONG))

    turn.run(sink=MemorySink(can_take_back=False))

    assert turn.sink.channel.text == "The whole answer."
    assert turn.sink.channel.deleted == ()


def test_messages_grow_in_place_where_the_sink_wants_it(keeper: Callable[..., Keeper]) -> None:
    turn = keeper()
    script(turn, Answer(tokens=WORDS))

    result = turn.run(sink=MemorySink(edit_interval_s=0.0))

    assert [message.text for message in turn.sink.channel.messages] == ["".join(WORDS).strip()]
    assert result.delivered[0].text == "".join(WORDS).strip()


def test_the_journal_of_a_turn_can_be_read_back(keeper: Callable[..., Keeper]) -> None:
    turn = keeper(keys=2)
    script(turn, [Refuse(status=429), WHOLE])

    result = turn.run()

    assert turn.kept.events(result.turn_id) == tuple(turn.entries)


def test_the_same_turn_is_run_once(keeper: Callable[..., Keeper]) -> None:
    turn = keeper(keep_text=True)
    script(turn, WHOLE)
    request = a_request(trigger_id="message-1")

    first = turn.run(request)
    sink = MemorySink()
    second = turn.kept.run(request, sink)

    assert second == first
    assert turn.calls("alpha") == [alpha_key(1)]
    assert sink.channel.messages == ()
    assert sink.finalized == [first]


def test_what_was_answered_is_not_kept_unless_it_is_switched_on(
    keeper: Callable[..., Keeper],
) -> None:
    turn = keeper()
    script(turn, WHOLE)
    request = a_request(trigger_id="message-1")

    first = turn.run(request)
    second = turn.kept.run(request, MemorySink())

    assert (first.text, second.text) == ("The whole answer.", "")
    assert second == first.without_texts()
    assert [one.message_id for one in second.delivered] == [
        message.id for message in turn.sink.channel.messages
    ]
    assert turn.calls("alpha") == [alpha_key(1)]


def test_a_key_in_a_providers_error_reaches_nobody(keeper: Callable[..., Keeper]) -> None:
    turn = keeper()
    said = f"bad key {alpha_key(1)} in Bearer {alpha_key(1)}"
    echo = Refuse(status=400, body={"error": {"message": said}})
    script(turn, echo, replace(echo, status=422))

    result = turn.run()

    shown = (repr(result), repr(turn.entries), repr(turn.sink.channel.messages))
    assert "bad key" in shown[0]
    assert not any("canary" in text for text in shown)
