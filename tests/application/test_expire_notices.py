from dataclasses import replace

import pytest
from contracts.keys import at_once
from contracts.notices import DETAILS, PLACE, place
from fakes import FrozenClock
from sqlalchemy import Engine

from turnkeeper.application.expire_notices import EVERY_S, ExpireNotices
from turnkeeper.application.ports.notice_editor import NoticeEditor
from turnkeeper.application.ports.notices import CLAIM_S
from turnkeeper.domain.errors import DestinationGone, SinkError
from turnkeeper.domain.notice import NoticeDetails, NoticeExpired, NoticePlace
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.postgres.notices import PostgresNotices


class ScriptedEditor(NoticeEditor):
    """Notes what it is to disable, and raises what it is told to."""

    def __init__(self) -> None:
        self.disabled: list[NoticePlace] = []
        self.errors: dict[str, Exception] = {}

    def disable(self, place: NoticePlace, details: NoticeDetails) -> None:
        assert details == DETAILS
        if error := self.errors.get(place.message_id):
            raise error
        self.disabled.append(place)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def notices(clock: FrozenClock) -> MemoryNotices:
    return MemoryNotices(clock)


@pytest.fixture
def editor() -> ScriptedEditor:
    return ScriptedEditor()


@pytest.fixture
def expire(notices: MemoryNotices, editor: ScriptedEditor, clock: FrozenClock) -> ExpireNotices:
    return ExpireNotices(notices=notices, editor=editor, clock=clock)


def test_a_button_whose_time_is_over_is_disabled_and_forgotten(
    expire: ExpireNotices, notices: MemoryNotices, editor: ScriptedEditor
) -> None:
    notices.save(PLACE, DETAILS, alive_s=0.0)

    assert (expire(), editor.disabled) == ((), [PLACE])
    assert notices.find(PLACE.message_id) is None


def test_a_button_whose_time_is_not_over_is_left_alone(
    expire: ExpireNotices, notices: MemoryNotices, editor: ScriptedEditor
) -> None:
    notices.save(PLACE, DETAILS)

    expire()

    assert (editor.disabled, notices.find(PLACE.message_id)) == ([], DETAILS)


def test_one_that_fails_does_not_keep_the_others(
    expire: ExpireNotices, notices: MemoryNotices, editor: ScriptedEditor
) -> None:
    for number in (1, 2, 3):
        notices.save(place(number), DETAILS, alive_s=0.0)
    editor.errors["1002"] = SinkError("refused with sk-planted-0123456789")

    causes = expire()

    assert causes == ("1002: refused with [redacted]",)
    assert editor.disabled == [place(1), place(3)]
    assert notices.find("1002") == NoticeExpired()


def test_one_that_fails_is_tried_again_when_its_claim_has_run_out(
    expire: ExpireNotices, notices: MemoryNotices, editor: ScriptedEditor, clock: FrozenClock
) -> None:
    notices.save(PLACE, DETAILS, alive_s=0.0)
    editor.errors[PLACE.message_id] = SinkError("not now")
    expire()
    editor.errors.clear()

    expire()
    before = tuple(editor.disabled)
    clock.advance(CLAIM_S)
    expire()

    assert (before, editor.disabled) == ((), [PLACE])


def test_one_that_nobody_can_reach_is_forgotten(
    expire: ExpireNotices, notices: MemoryNotices, editor: ScriptedEditor
) -> None:
    notices.save(PLACE, DETAILS, alive_s=0.0)
    editor.errors[PLACE.message_id] = DestinationGone("no such channel", code="10003")

    assert (expire(), notices.find(PLACE.message_id)) == ((), None)


def test_a_heartbeat_looks_only_now_and_then(
    expire: ExpireNotices, notices: MemoryNotices, editor: ScriptedEditor, clock: FrozenClock
) -> None:
    expire.flush()
    notices.save(PLACE, DETAILS, alive_s=0.0)

    expire.flush()
    before = tuple(editor.disabled)
    clock.advance(EVERY_S)
    expire.flush()

    assert (before, editor.disabled) == ((), [PLACE])


@pytest.mark.postgres
def test_each_button_is_disabled_by_one_process_only(database: Engine) -> None:
    editors = [ScriptedEditor() for _ in range(4)]
    notices = PostgresNotices(database)
    for number in range(40):
        notices.save(replace(place(number), server_id=f"guild{number % 3}"), DETAILS, alive_s=0.0)
    all_of_them = [
        ExpireNotices(notices=PostgresNotices(database), editor=editor, clock=FrozenClock())
        for editor in editors
    ]

    at_once(4, lambda n: all_of_them[n]())
    all_of_them[0](40)

    disabled = sorted(place.message_id for editor in editors for place in editor.disabled)
    assert disabled == [str(1000 + number) for number in range(40)]
