import pytest

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.domain.answers import Signal


@pytest.mark.parametrize(
    ("signals", "kept"),
    [
        ((Signal.FOLLOW_UP_REQUESTED, Signal.STOP_REQUESTED), Signal.STOP_REQUESTED),
        ((Signal.STOP_REQUESTED, Signal.FOLLOW_UP_REQUESTED), Signal.STOP_REQUESTED),
        ((Signal.STOP_REQUESTED, Signal.SYSTEM_STOP_REQUESTED), Signal.STOP_REQUESTED),
        ((Signal.STOP_REQUESTED, Signal.SUPERSEDED), Signal.SUPERSEDED),
    ],
)
def test_the_weightiest_signal_is_kept(signals: tuple[Signal, ...], kept: Signal) -> None:
    mailbox = Mailbox()
    for signal in signals:
        mailbox.put(signal)

    assert mailbox.signal is kept


def test_who_waits_is_woken() -> None:
    mailbox, woken = Mailbox(), []
    mailbox.on_arrival(lambda: woken.append(1))

    mailbox.put(Signal.STOP_REQUESTED)

    assert woken == [1]
    assert mailbox.arrived.is_set()


def test_who_comes_late_is_woken_at_once() -> None:
    mailbox, woken = Mailbox(), []
    mailbox.put(Signal.STOP_REQUESTED)

    mailbox.on_arrival(lambda: woken.append(1))

    assert woken == [1]


def test_who_has_left_is_not_woken() -> None:
    mailbox, woken = Mailbox(), []
    leave = mailbox.on_arrival(lambda: woken.append(1))
    leave()

    mailbox.put(Signal.STOP_REQUESTED)

    assert woken == []
