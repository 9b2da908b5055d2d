"""What of a model's text becomes the answer: thoughts, other speakers, and too many messages."""

from collections.abc import Callable

import pytest
from builders import a_request
from fakes import Script, ScriptedProvider, fails, says
from turns import Bench, Benches, a_server

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.text_rules import TextRules

PARAGRAPH = "A paragraph that is long enough to be posted. " * 30 + "\n\n"


@pytest.fixture
def turn(bench: Benches) -> Callable[..., Bench]:
    def make(*scripts: Script, **rules: object) -> Bench:
        return bench(
            ScriptedProvider(alpha=list(scripts), beta=says("From beta.")),
            server=a_server("alpha", "beta"),
            text_rules=TextRules(**rules),  # type: ignore[arg-type]
        )

    return make


def test_a_think_block_is_a_thought_and_no_text(turn: Callable[..., Bench]) -> None:
    there = turn(says("<thi", "nk>Hm.</think>", "Hello."))

    result = there.run()

    assert (result.text, there.sink.channel.text) == ("Hello.", "Hello.")
    assert result.thought_log is not None
    assert result.thought_log.raw == "Hm."


def test_an_answer_of_thoughts_alone_is_empty_and_fails_over(turn: Callable[..., Bench]) -> None:
    there = turn(says("<think>Hm.</think>"))

    assert there.run().text == "From beta."


def test_a_line_for_somebody_else_ends_the_answer(turn: Callable[..., Bench]) -> None:
    """137: the own reply stays, and it is an answer."""
    there = turn(says("I am here.\n", "Bob: And so am I.\n", "Ann: Me too."))

    result = there.run(a_request("Hello", other_speakers=("Bob", "Ann")))

    assert (result.status, result.text) == (TurnStatus.COMPLETED, "I am here.")
    assert there.sink.channel.text == "I am here."


def test_an_answer_that_only_speaks_for_others_is_none(turn: Callable[..., Bench]) -> None:
    there = turn(says("Bob: I am Bob.\n"))

    result = there.run(a_request("Hello", other_speakers=("Bob",)))

    assert result.text == "From beta."


def test_no_more_messages_are_posted_than_may_be(turn: Callable[..., Bench]) -> None:
    """115, 119: it is an answer, and no error; the first message always comes."""
    there = turn(says(PARAGRAPH, PARAGRAPH, PARAGRAPH), most_messages=2)

    result = there.run()

    assert result.status is TurnStatus.COMPLETED
    assert len(there.sink.channel.messages) == 2
    assert result.text == there.sink.channel.text


def test_an_early_failure_never_reaches_the_channel(turn: Callable[..., Bench]) -> None:
    there = turn(fails(FailureKind.OVERLOADED, "Hel"), hold_chars=10, stand_alone_chars=1)

    there.run()

    assert there.sink.channel.deleted == ()


def test_details_are_kept_for_memory_where_they_are_to_be(turn: Callable[..., Bench]) -> None:
    """The reply's text has them under their own heading; people do not see them."""
    script = says("Hello.\n<details><summary>Scene</summary>It rains.</details>")
    there = turn(script, capture_details=True)

    result = there.run()

    assert result.text == "Hello.\n\n[Scene Metadata]\nIt rains."
    assert there.sink.channel.text == "Hello."
