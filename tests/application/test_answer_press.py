from collections.abc import Callable, Iterator
from threading import Event, Semaphore

import pytest
from contracts.notices import DETAILS, PLACE
from contracts.stores import Stores
from fakes import FrozenClock
from stores_in_memory import stores_in_memory

from turnkeeper.application.answer_press import MAX_RUNNING, AnswerPress
from turnkeeper.application.ports.catalogue import Catalogue
from turnkeeper.application.ports.notices import Notices
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.catalogue import WordBook
from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.domain.notice import ALIVE_S, NoticeDetails
from turnkeeper.domain.press import DETAILS_BUTTON, OpenModal, Press, Reply, StopButton, Whisper
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.threads import ThreadRunner

WORDS = WordBook()
PRESS = Press(button=DETAILS_BUTTON, user_id="7", message_id=PLACE.message_id)


def words(key: str, locale: str = "en") -> Whisper:
    return Whisper(text=WORDS.text(key, locale))


def stop_of(turn_id: str, user_id: str, *, moderates: bool = False) -> Press:
    button = StopButton(turn_id=turn_id, asker_id="7").button
    return Press(button=button, user_id=user_id, moderates=moderates)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def notices(clock: FrozenClock) -> MemoryNotices:
    return MemoryNotices(clock)


@pytest.fixture
def stores() -> Stores:
    return stores_in_memory()


@pytest.fixture
def runner() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


@pytest.fixture
def answer(notices: MemoryNotices, stores: Stores, runner: ThreadRunner) -> AnswerPress:
    return AnswerPress(notices=notices, signals=stores.signals, catalogue=WORDS, runner=runner)


# ── details ─────────────────────────────────────────────────────────────────────────────────


def test_the_details_open_in_a_window(answer: AnswerPress, notices: MemoryNotices) -> None:
    notices.save(PLACE, DETAILS)

    reply = answer(PRESS)

    assert isinstance(reply, OpenModal)
    assert (reply.title, reply.texts) == (
        DETAILS.title,
        (DETAILS.lead, "\n".join((*DETAILS.lines, "… 3 more")), DETAILS.tips[0]),
    )


def test_where_a_window_is_refused_a_message_says_the_same(
    answer: AnswerPress, notices: MemoryNotices
) -> None:
    notices.save(PLACE, DETAILS)

    reply = answer(PRESS)

    assert isinstance(reply, OpenModal)
    assert reply.otherwise == Whisper(
        text="\n".join((f"**{DETAILS.title}**", *reply.texts)),
    )


def test_the_longest_details_fit_a_window_and_a_message(
    answer: AnswerPress, notices: MemoryNotices
) -> None:
    longest = NoticeDetails(
        title="t" * 45,
        lead="l" * 900,
        lines=("x" * 900,) * 20,
        model="m" * 200,
        slot=9,
        tips=("y" * 900,) * 2,
    )
    notices.save(PLACE, longest)

    reply = answer(PRESS)

    assert isinstance(reply, OpenModal)
    assert sum(map(len, reply.texts)) <= 4000
    assert len(reply.otherwise.text) <= 2000


def test_a_window_without_a_title_has_the_models_name(
    answer: AnswerPress, notices: MemoryNotices
) -> None:
    notices.save(PLACE, NoticeDetails(title=" ", lead="", lines=(), model="m" * 60, slot=1))

    reply = answer(PRESS)

    assert isinstance(reply, OpenModal)
    assert reply.title == "m" * 45


def test_details_whose_time_is_over_are_said_to_be_gone(
    answer: AnswerPress, notices: MemoryNotices, clock: FrozenClock
) -> None:
    notices.save(PLACE, DETAILS)
    clock.advance(ALIVE_S)

    assert answer(PRESS) == words("press.expired")


def test_a_message_that_nobody_knows_has_no_details(answer: AnswerPress) -> None:
    assert answer(PRESS) == words("press.unknown")


def test_it_speaks_the_language_of_whoever_pressed(answer: AnswerPress) -> None:
    german = Press(button=DETAILS_BUTTON, user_id="7", message_id="1", locale="de")

    assert answer(german) == words("press.unknown", "de") != words("press.unknown")


def test_sending_a_window_does_nothing(answer: AnswerPress, notices: MemoryNotices) -> None:
    notices.save(PLACE, DETAILS)
    sent = Press(button=DETAILS_BUTTON, user_id="7", message_id="1001", is_sent=True)

    assert answer(sent) == words("press.read")


def test_a_button_of_somebody_else_has_no_details(answer: AnswerPress) -> None:
    assert answer(Press(button="elsewhere", user_id="7")) == words("press.unknown")


# ── stops ───────────────────────────────────────────────────────────────────────────────────


def test_the_asker_stops_the_turn(answer: AnswerPress, stores: Stores) -> None:
    stores.start("t1")

    reply = answer(stop_of("t1", "7"))

    assert (reply, stores.signals.pending("t1")) == (words("press.stopped"), Signal.STOP_REQUESTED)


def test_a_moderator_stops_the_turn(answer: AnswerPress, stores: Stores) -> None:
    stores.start("t1")

    answer(stop_of("t1", "8", moderates=True))

    assert stores.signals.pending("t1") is Signal.STOP_REQUESTED


def test_nobody_else_stops_it(answer: AnswerPress, stores: Stores) -> None:
    stores.start("t1")

    reply = answer(stop_of("t1", "8"))

    assert (reply, stores.signals.pending("t1")) == (words("press.not_yours"), None)


def test_what_has_ended_is_not_stopped(answer: AnswerPress, stores: Stores) -> None:
    stores.start("t1")
    stores.close("t1")

    assert answer(stop_of("t1", "7")) == words("press.not_running")


# ── trouble ─────────────────────────────────────────────────────────────────────────────────


class AskedNotices(MemoryNotices):
    """Does something when it is asked."""

    def __init__(self, ask: Callable[[], object]) -> None:
        super().__init__(FrozenClock())
        self._ask = ask

    def find(self, message_id: str) -> None:
        self._ask()


def answered(
    notices: Notices, runner: ThreadRunner, catalogue: Catalogue = WORDS, within_s: float = 2.0
) -> AnswerPress:
    signals = stores_in_memory().signals
    return AnswerPress(
        notices=notices, signals=signals, catalogue=catalogue, runner=runner, within_s=within_s
    )


def test_a_store_that_is_away_does_not_leave_a_press_unanswered(runner: ThreadRunner) -> None:
    def away() -> None:
        raise StoreUnavailable("nobody there")

    assert answered(AskedNotices(away), runner)(PRESS) == words("press.store")


def test_a_store_that_hangs_does_not_leave_a_press_unanswered(runner: ThreadRunner) -> None:
    go_on = Event()

    reply = answered(AskedNotices(go_on.wait), runner, within_s=0.01)(PRESS)

    go_on.set()
    assert reply == words("press.store")


def test_a_store_that_hangs_is_not_asked_without_end(runner: ThreadRunner) -> None:
    go_on, asked = Semaphore(0), Semaphore(0)

    def hang() -> None:
        asked.release()
        go_on.acquire()

    answer = answered(AskedNotices(hang), runner, within_s=0.001)

    replies = {answer(PRESS) for _ in range(MAX_RUNNING + 5)}
    for _ in range(MAX_RUNNING):
        asked.acquire()

    assert replies == {words("press.store")}
    assert (runner.running, asked.acquire(blocking=False)) == (MAX_RUNNING, False)
    go_on.release(MAX_RUNNING)


def test_a_closed_runner_does_not_leave_a_press_unanswered(notices: MemoryNotices) -> None:
    runner = ThreadRunner()
    runner.close()

    replies: set[Reply] = {answered(notices, runner)(PRESS) for _ in range(MAX_RUNNING + 1)}

    assert replies == {words("press.store")}


class Speechless(Catalogue):
    def text(self, key: str, locale: str, **values: object) -> str:
        raise KeyError(key)


def test_a_catalogue_that_fails_leaves_an_answer_without_words(
    notices: MemoryNotices, runner: ThreadRunner
) -> None:
    assert answered(notices, runner, Speechless())(PRESS) == Whisper(text="")
