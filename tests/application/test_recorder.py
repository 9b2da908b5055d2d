from collections.abc import Sequence
from threading import Thread

import pytest
from fakes import FrozenClock

from turnkeeper.application.recorder import Recorder
from turnkeeper.domain.events import CleanedUp, Entry, Finalized, SignalHeard


def a_recorder(*said: str) -> Recorder:
    recorder = Recorder("t1", FrozenClock())
    for status in said:
        recorder.note(Finalized(status=status))
    return recorder


def said_in(entries: Sequence[Entry]) -> list[str]:
    return [entry.event.status for entry in entries if isinstance(entry.event, Finalized)]


def test_events_are_numbered_and_timed_from_the_turns_begin() -> None:
    clock, heard = FrozenClock(), list[Entry]()
    recorder = Recorder("t1", clock, (heard.append,))
    recorder.note(CleanedUp())
    clock.advance(1.5)
    recorder.note(Finalized(status="completed"))

    entries = (
        Entry(turn_id="t1", seq=0, at_s=0.0, event=CleanedUp()),
        Entry(turn_id="t1", seq=1, at_s=1.5, event=Finalized(status="completed")),
    )
    assert recorder.entries == tuple(recorder.take()) == tuple(heard) == entries


def test_an_entry_is_handed_out_once() -> None:
    recorder = a_recorder("a", "b")

    assert said_in(recorder.take()) == ["a", "b"]
    recorder.note(Finalized(status="c"))
    assert said_in(recorder.take()) == ["c"]
    assert not recorder.take()
    assert said_in(recorder.entries) == ["a", "b", "c"]


def test_what_could_not_be_written_goes_first_and_once_with_the_next_write() -> None:
    recorder = a_recorder("a")
    first = recorder.take()
    recorder.note(Finalized(status="b"))
    second = recorder.take()
    recorder.note(Finalized(status="c"))

    recorder.give_back(second)
    recorder.give_back(first)

    assert said_in(recorder.take()) == ["a", "b", "c"]
    assert not recorder.take()


def test_a_kind_of_event_is_known_once_it_happened() -> None:
    recorder = a_recorder("a")

    assert recorder.has_noted(Finalized)
    assert not recorder.has_noted(SignalHeard)


@pytest.mark.parametrize("is_heard", [False, True], ids=["unheard", "heard"])
def test_several_threads_note_without_gaps(is_heard: bool) -> None:
    heard, taken = list[Entry](), list[Entry]()
    recorder = Recorder("t1", FrozenClock(), (heard.append,) if is_heard else ())

    def note() -> None:
        for _ in range(500):
            recorder.note(CleanedUp())
            taken.extend(recorder.take())

    threads = [Thread(target=note) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [entry.seq for entry in recorder.entries] == list(range(2000))
    assert sorted(entry.seq for entry in taken) == list(range(2000))
    assert sorted(entry.seq for entry in heard) == (list(range(2000)) if is_heard else [])
