from past_turns import answered, journal, ran, rescued, started

from turnkeeper.domain import events
from turnkeeper.domain.events import Entry
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.telemetry.journal_follower import PAGE, JournalFollower


class Followed:
    """A journal, and of which turns the listener was told."""

    def __init__(self) -> None:
        self.journal = MemoryJournal()
        self.heard: list[Entry] = []
        self.look = JournalFollower(self.journal, self.heard.append)

    @property
    def turns(self) -> list[str]:
        return list(dict.fromkeys(entry.turn_id for entry in self.heard))


def test_a_turn_that_ends_is_told_of_once() -> None:
    there = Followed()
    there.look()
    there.journal.record(rescued())

    assert (there.look(), there.look()) == (1, 0)
    assert tuple(there.heard) == rescued()


def test_what_was_over_before_is_passed_over() -> None:
    there = Followed()
    there.journal.record(rescued("before"))
    there.look()
    there.journal.record(rescued("after"))

    there.look()

    assert there.turns == ["after"]


def test_a_turn_that_ran_at_the_first_look_is_told_of_when_it_ends() -> None:
    there = Followed()
    there.journal.record(rescued()[:5])
    there.look()
    assert there.look() == 0

    there.journal.record(rescued())

    assert (there.look(), there.turns) == (1, ["t1"])


def test_a_turn_that_died_is_told_of_when_it_is_swept() -> None:
    there = Followed()
    there.look()
    swept = events.TurnSwept(by="other", silent_s=40)
    there.journal.record(
        journal((0, started()), (1, ran(0, 0)), (2, answered(0, 0)), (9, swept), turn_id="dead")
    )

    assert (there.look(), there.turns) == (1, ["dead"])


def test_more_turns_than_a_page_are_all_told_of_in_their_order() -> None:
    there = Followed()
    there.look()
    names = [f"turn-{number}" for number in range(2 * PAGE + 7)]
    for name in names:
        there.journal.record(rescued(name))

    assert there.look() == len(names)
    assert there.turns == names
