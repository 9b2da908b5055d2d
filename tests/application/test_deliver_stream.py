"""From a stream's text to messages, in both ways of delivering."""

from dataclasses import replace

import pytest
from builders import a_request
from fakes import FrozenClock

from turnkeeper.application.deliver_stream import DEFAULT_RULES, DeliverStream
from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.outlet import Outlet
from turnkeeper.application.ports.ledger import Fates, Intent
from turnkeeper.application.ports.runner import Cancelled
from turnkeeper.application.ports.spool import NoSpool
from turnkeeper.application.poster import Poster, content_hash
from turnkeeper.application.recorder import Recorder
from turnkeeper.application.stage import Stage
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.errors import SinkError, StoreError, StoreUnavailable
from turnkeeper.domain.events import EffectFailed, MessagePosted, MessageTakenBack
from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.watch import Progress
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.ledger import MemoryLedger
from turnkeeper.infrastructure.memory.register import Register
from turnkeeper.infrastructure.memory.sink import MemorySink

NO_HOLD = TextRules(hold_chars=0, hold_s=0.0)
PARAGRAPH = "Some words that fill a line. " * 30 + "\n\n"


class DeadLedger(MemoryLedger):
    """A ledger that can be switched off, or whose turn was given up."""

    is_dead = False
    is_given_up = False

    def intend(self, intent: object, **more: object) -> bool:
        if self.is_dead:
            raise StoreUnavailable("the store is away")
        return not self.is_given_up


class ListedSpool(NoSpool):
    """Remembers what was to be kept."""

    def __init__(self) -> None:
        self.kept: list[tuple[Intent, Fates]] = []
        self.is_full = False

    def keep_intent(self, intent: Intent, fates: Fates) -> None:
        if self.is_full:
            raise StoreError("the disk is full")
        self.kept.append((intent, fates))


class Delivering:
    """One invocation's delivery into a memory sink."""

    def __init__(
        self,
        sink: MemorySink | None = None,
        *,
        holds: bool = False,
        rules: TextRules = DEFAULT_RULES,
    ) -> None:
        self.sink = sink or MemorySink()
        self.clock = FrozenClock()
        self.recorder = Recorder("turn", self.clock)
        self.mailbox = Mailbox()
        request = a_request()
        stage = Stage(
            request=request,
            sink=self.sink,
            target=self.sink.prepare(request),
            deadline=NEVER,
            recorder=self.recorder,
            mailbox=self.mailbox,
        )
        self.ledger = DeadLedger(Register(self.clock), journal=MemoryJournal())
        self.spool = ListedSpool()
        self.poster = Poster(stage=stage, ledger=self.ledger, epoch=1, spool=self.spool)
        self.outlet = Outlet(self.poster, 0, Progress(), self.clock)
        self.stream = DeliverStream(self.outlet, stage.target, self.clock, holds, rules)

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.sink.channel.messages]


class TestSegments:
    def test_a_short_answer_is_one_message_at_its_end(self) -> None:
        delivering = Delivering()
        delivering.stream.text("Hel")
        delivering.stream.text("lo.")
        before = delivering.texts

        delivering.stream.finish()

        assert (before, delivering.texts) == ([], ["Hello."])

    def test_a_long_answer_goes_out_in_whole_paragraphs(self) -> None:
        delivering = Delivering()
        for _ in range(3):
            delivering.stream.text(PARAGRAPH)

        assert delivering.texts == [(PARAGRAPH * 2).strip()]

    def test_what_is_delivered_can_be_asked(self) -> None:
        delivering = Delivering()
        delivering.stream.text(PARAGRAPH * 2 + "And a")

        assert delivering.stream.delivered_text == (PARAGRAPH * 2).strip()

    def test_what_was_dropped_is_not_posted(self) -> None:
        delivering = Delivering()
        delivering.stream.text("half a sen")
        delivering.stream.drop()
        delivering.stream.finish()

        assert delivering.texts == []

    def test_held_text_waits_for_the_end(self) -> None:
        delivering = Delivering(holds=True)
        delivering.stream.text(PARAGRAPH * 3)
        before = delivering.texts

        delivering.stream.finish()

        assert before == []
        assert "".join(delivering.texts).count("fill a line") == 90

    def test_held_text_that_turns_out_to_be_a_thought_is_not_posted(self) -> None:
        delivering = Delivering(holds=True)
        delivering.stream.text(PARAGRAPH * 3 + "so</think>Hello.")
        delivering.stream.finish()

        assert delivering.texts == ["Hello."]

    def test_held_code_is_cut_as_code(self) -> None:
        delivering = Delivering(MemorySink(max_chars=100), holds=True)
        delivering.stream.text("```py\n" + "x = 1\n" * 30 + "```")
        delivering.stream.finish()

        assert [text.count("```") for text in delivering.texts] == [2, 2]
        assert all(len(text) <= 100 for text in delivering.texts)

    def test_a_draft_that_is_dropped_leaves_its_text_to_be_asked(self) -> None:
        delivering = Delivering(holds=True)
        delivering.stream.text("A draft.")
        delivering.stream.drop()
        delivering.stream.finish()

        assert (delivering.texts, delivering.stream.seen.shown) == ([], "A draft.")

    def test_thoughts_are_kept_back(self) -> None:
        delivering = Delivering()
        delivering.stream.text("<think>so</th")
        delivering.stream.text("ink>Hello.")
        delivering.stream.finish()

        assert (delivering.texts, delivering.stream.seen.thoughts) == (["Hello."], "so")

    def test_a_text_of_thoughts_posts_nothing(self) -> None:
        delivering = Delivering()
        delivering.stream.text("<think>and never an end")
        delivering.stream.finish()

        assert (delivering.texts, delivering.stream.seen.shown) == ([], "")
        assert delivering.stream.seen.thoughts == "and never an end"

    def test_details_are_kept_back_where_that_is_asked_for(self) -> None:
        delivering = Delivering(rules=TextRules(capture_details=True))
        delivering.stream.text("Hello.<details><summary>s</summary>body</details>")
        delivering.stream.finish()

        assert (delivering.texts, delivering.stream.seen.details) == (["Hello."], "body")

    def test_another_speaker_ends_the_answer_and_what_was_said_stays(self) -> None:
        delivering = Delivering(rules=TextRules(speakers=("Bob",)))
        delivering.stream.text("Hello.\nBob: hi")
        delivering.stream.text("Bob goes on")
        delivering.stream.finish()

        assert (delivering.texts, delivering.stream.takes_no_more) == (["Hello."], True)

    def test_only_what_was_accepted_is_delivered(self) -> None:
        def refuses(text: str) -> None:
            if "second" in text:
                raise SinkError("refused")

        delivering = Delivering(MemorySink(trouble=refuses))
        delivering.stream.text("first " * 200 + "\n\n")
        with pytest.raises(SinkError):
            delivering.stream.text("second " * 200 + "\n\n")

        assert delivering.stream.delivered_text == ("first " * 200).strip()


class TestTheHold:
    SHORT = TextRules(hold_chars=40, hold_s=0.5, stand_alone_chars=10)
    """Messages of a few characters, so that only the hold is in the way."""

    def test_nothing_is_posted_before_there_is_enough_text(self) -> None:
        delivering = Delivering(rules=self.SHORT)
        delivering.stream.text("Some words.\n\n")
        before = delivering.texts

        delivering.stream.text("Some more words that fill it.\n\n")

        assert (before, delivering.texts) == (
            [],
            ["Some words.", "Some more words that fill it."],
        )

    def test_text_that_is_old_enough_is_posted_with_the_next_piece(self) -> None:
        delivering = Delivering(rules=self.SHORT)
        delivering.stream.text("Some words.\n\n")
        delivering.clock.advance(0.5)
        delivering.stream.text("a")

        assert delivering.texts == ["Some words."]

    def test_thoughts_are_no_text(self) -> None:
        delivering = Delivering(rules=self.SHORT)
        delivering.stream.text("<think>" + "so " * 30)
        delivering.clock.advance(5.0)
        delivering.stream.text("</think>Some words.\n\n")

        assert delivering.texts == []

    def test_the_end_posts_what_is_held(self) -> None:
        delivering = Delivering(rules=self.SHORT)
        delivering.stream.text("Some words.\n\n")
        delivering.stream.finish()

        assert delivering.texts == ["Some words."]

    def test_an_early_failure_leaves_nothing(self) -> None:
        delivering = Delivering(rules=self.SHORT)
        delivering.stream.text("Some words.\n\n")
        delivering.stream.drop()
        delivering.stream.finish()

        assert delivering.texts == []

    def test_only_the_first_message_is_held(self) -> None:
        delivering = Delivering(rules=self.SHORT)
        delivering.stream.text("w" * 40 + "\n\n")
        delivering.stream.text("Some words.\n\n")

        assert delivering.texts == ["w" * 40, "Some words."]


class TestBeforeATool:
    def test_what_is_pending_is_posted(self) -> None:
        delivering = Delivering()
        delivering.stream.text("I look it up.")
        delivering.stream.before_tool()
        delivering.stream.text("Here it is.")
        delivering.stream.finish()

        assert delivering.texts == ["I look it up.", "Here it is."]

    def test_a_trailing_clause_is_not_posted_but_can_be_asked(self) -> None:
        delivering = Delivering()
        delivering.stream.text("I look it up. And then I")
        delivering.stream.before_tool()

        assert delivering.texts == ["I look it up."]
        assert delivering.stream.seen.shown == "I look it up. And then I"

    def test_a_clause_alone_is_posted(self) -> None:
        delivering = Delivering()
        delivering.stream.text("looking")
        delivering.stream.before_tool()

        assert delivering.texts == ["looking"]

    def test_nothing_happens_where_nothing_is_pending(self) -> None:
        delivering = Delivering()
        delivering.stream.before_tool()
        delivering.stream.text("<think>so")
        delivering.stream.before_tool()

        assert (delivering.texts, delivering.stream.seen.thoughts) == ([], "so")

    def test_a_think_block_ends_with_the_call(self) -> None:
        delivering = Delivering()
        delivering.stream.text("<think>so")
        delivering.stream.before_tool()
        delivering.stream.text("Hello.")
        delivering.stream.finish()

        assert delivering.texts == ["Hello."]

    def test_held_text_waits_for_the_end(self) -> None:
        delivering = Delivering(holds=True)
        delivering.stream.text("I look it up.")
        delivering.stream.before_tool()
        before = delivering.texts
        delivering.stream.text("Here it is.")
        delivering.stream.finish()

        assert (before, delivering.texts) == ([], ["I look it up.", "Here it is."])

    def test_a_growing_message_is_settled(self) -> None:
        delivering = Delivering(MemorySink(edit_interval_s=1.0), rules=NO_HOLD)
        delivering.stream.text("I look")
        delivering.stream.text(" it up. And")
        delivering.stream.before_tool()
        delivering.clock.advance(1.0)
        delivering.stream.text("Here")
        delivering.stream.finish()

        assert delivering.texts == ["I look it up.", "Here"]


class TestGrowing:
    def growing(
        self, interval_s: float = 1.0, max_chars: int = 2000, rules: TextRules = NO_HOLD
    ) -> Delivering:
        return Delivering(MemorySink(edit_interval_s=interval_s, max_chars=max_chars), rules=rules)

    def test_the_first_text_waits_for_enough(self) -> None:
        delivering = self.growing(rules=DEFAULT_RULES)
        seen = []
        for piece in ("Hel", "lo there, this is a text ", "that is long enough"):
            delivering.stream.text(piece)
            seen.append(delivering.texts)

        assert seen == [[], [], ["Hello there, this is a text that is long enough"]]

    def test_the_first_text_is_posted_at_once_without_a_hold(self) -> None:
        delivering = self.growing()

        delivering.stream.text("Hel")

        assert delivering.texts == ["Hel"]

    def test_it_is_edited_no_more_often_than_it_may(self) -> None:
        delivering = self.growing()
        seen = []
        for piece in ("One ", "two ", "three ", "four "):
            delivering.stream.text(piece)
            seen.append(delivering.texts)
            delivering.clock.advance(0.6)

        assert seen == [["One"], ["One"], ["One two three"], ["One two three"]]

    def test_the_end_is_always_shown_whole(self) -> None:
        delivering = self.growing()
        delivering.stream.text("One ")
        delivering.stream.text("two.")

        delivering.stream.finish()

        assert delivering.texts == ["One two."]

    def test_a_full_message_gives_way_to_the_next(self) -> None:
        delivering = self.growing(interval_s=0.0, max_chars=100)
        for number in range(40):
            delivering.stream.text(f"word{number} ")
        delivering.stream.finish()

        assert all(len(text) <= 100 for text in delivering.texts)
        assert " ".join(delivering.texts).split() == [f"word{number}" for number in range(40)]

    def test_a_thought_is_never_shown(self) -> None:
        delivering = self.growing(interval_s=0.0)
        for sign in "Hi <think>so</think>there.":
            delivering.stream.text(sign)
            assert "so" not in "".join(delivering.texts)
        delivering.stream.finish()

        assert delivering.texts == ["Hi there."]

    def test_code_that_grows_is_closed_all_the_time(self) -> None:
        delivering = self.growing(interval_s=0.0, max_chars=60)
        for sign in "Look:\n```py\n" + "x = 1\n" * 20 + "```\nDone.":
            delivering.stream.text(sign)
            assert all(text.count("```") % 2 == 0 for text in delivering.texts)
            assert all(len(text) <= 60 for text in delivering.texts)
        delivering.stream.finish()

        assert "".join(delivering.texts).count("x = 1") == 20

    def test_a_stray_end_replaces_what_was_shown(self) -> None:
        delivering = self.growing(interval_s=0.0)
        delivering.stream.text("so I say")
        delivering.stream.text("</think>Hello.")
        delivering.stream.finish()

        assert delivering.texts == ["Hello."]

    def test_another_speaker_is_never_shown(self) -> None:
        delivering = self.growing(interval_s=0.0, rules=replace(NO_HOLD, speakers=("Bob",)))
        for sign in "Hello.\nBob: hi":
            delivering.stream.text(sign)
        delivering.stream.finish()

        assert delivering.texts == ["Hello."]

    def test_blank_text_is_not_posted(self) -> None:
        delivering = self.growing()
        delivering.stream.text(" \n")
        delivering.stream.finish()

        assert delivering.texts == []


class TestTheSeal:
    def test_nothing_is_posted_once_it_is_sealed(self) -> None:
        delivering = Delivering()
        delivering.outlet.seal()

        with pytest.raises(Cancelled):
            delivering.outlet.post("late")
        assert delivering.texts == []

    def test_what_was_under_way_is_taken_back_when_it_arrives(self) -> None:
        def sealed_meanwhile(text: str) -> None:
            delivering.outlet.seal()

        delivering = Delivering(MemorySink(trouble=sealed_meanwhile))

        with pytest.raises(Cancelled):
            delivering.outlet.post("late")
        assert delivering.texts == []
        assert delivering.recorder.entries[-1].event == MessageTakenBack(message_id="m1", late=True)

    def test_it_names_what_is_there(self) -> None:
        delivering = Delivering()
        delivery = delivering.outlet.post("text")

        assert delivering.outlet.seal() == (delivery,)


class TestTheLedger:
    def test_a_message_whose_intent_cannot_be_written_is_not_posted(self) -> None:
        delivering = Delivering()
        delivering.ledger.is_dead = True

        with pytest.raises(StoreUnavailable):
            delivering.outlet.post("text")
        assert delivering.texts == []

    def test_once_posting_has_begun_it_goes_on(self) -> None:
        delivering = Delivering()
        delivering.outlet.post("one")
        delivering.ledger.is_dead = True

        delivering.outlet.post("two")

        assert delivering.texts == ["one", "two"]
        events = [entry.event for entry in delivering.recorder.entries]
        assert EffectFailed(effect="ledger", cause="the store is away") in events

    def test_an_intent_that_the_store_does_not_take_is_kept_on_this_machine(self) -> None:
        delivering = Delivering()
        delivering.outlet.post("one")
        delivering.ledger.is_dead = True

        delivering.outlet.post(" two ")

        ((intent, fates),) = delivering.spool.kept
        assert (intent.content_hash, intent.chars) == (content_hash("two"), 3)
        assert [delivery.text for _, delivery in fates.posted] == ["one"]

    def test_a_message_that_was_held_back_is_kept_nowhere(self) -> None:
        delivering = Delivering()
        delivering.ledger.is_dead = True

        with pytest.raises(StoreUnavailable):
            delivering.outlet.post("text")
        assert delivering.spool.kept == []

    def test_a_machine_that_cannot_keep_it_either_stops_nothing(self) -> None:
        delivering = Delivering()
        delivering.outlet.post("one")
        delivering.ledger.is_dead = delivering.spool.is_full = True

        delivering.outlet.post("two")

        events = [entry.event for entry in delivering.recorder.entries]
        assert EffectFailed(effect="spool", cause="the disk is full") in events
        assert delivering.texts == ["one", "two"]

    def test_what_could_not_be_written_goes_with_the_next_write(self) -> None:
        delivering = Delivering()
        delivering.outlet.post("one")
        delivering.ledger.is_dead = True
        delivering.outlet.post("two")

        fates = delivering.poster.fates()

        assert [delivery.text for _, delivery in fates.posted] == ["one", "two"]
        posted = [e.event for e in delivering.recorder.take() if isinstance(e.event, MessagePosted)]
        assert len(posted) == 2

    def test_a_turn_that_was_given_up_posts_nothing(self) -> None:
        delivering = Delivering()
        delivering.ledger.is_given_up = True

        with pytest.raises(Cancelled):
            delivering.outlet.post("text")
        assert delivering.texts == []
        assert delivering.mailbox.signal is Signal.SUPERSEDED


def test_a_bug_of_the_sink_counts_as_its_refusal() -> None:
    def bug(text: str) -> None:
        raise KeyError("no such thing")

    with pytest.raises(SinkError, match="failed to post"):
        Delivering(MemorySink(trouble=bug)).outlet.post("text")
