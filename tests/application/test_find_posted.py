from datetime import timedelta

import pytest
from builders import NOON, SERVER
from contracts.stores import an_intent

from turnkeeper.application.find_posted import Found, find_posted
from turnkeeper.application.ports.channel_reader import PostedMessage
from turnkeeper.application.ports.ledger import IntentState
from turnkeeper.application.ports.orphans import Left, Orphan
from turnkeeper.application.poster import content_hash

BOT = "bot"


def intended(
    text: str, intent_id: str = "i1", at_s: float = 0.0, turn_id: str = "t1", **more: object
) -> Left:
    intent = an_intent(
        intent_id, turn_id, content_hash=content_hash(text.strip()), chars=len(text.strip()), **more
    )
    return left(intent, at_s=at_s)


def left(
    intent: object,
    state: IntentState = IntentState.INTENDED,
    message_id: str | None = None,
    at_s: float = 0.0,
) -> Left:
    return Left(
        intent=intent,  # type: ignore[arg-type]
        state=state,
        message_id=message_id,
        written_at=NOON + timedelta(seconds=at_s),
    )


def message(
    text: str,
    message_id: str = "m1",
    at_s: float = 1.0,
    author_id: str = BOT,
    webhook_id: str | None = None,
) -> PostedMessage:
    return PostedMessage(
        message_id=message_id,
        author_id=author_id,
        webhook_id=webhook_id,
        text=text,
        posted_at=NOON + timedelta(seconds=at_s),
    )


def found(
    lost: tuple[Left, ...],
    *messages: PostedMessage,
    others: tuple[Left, ...] = (),
    also_left: tuple[Left, ...] = (),
) -> Found:
    orphan = Orphan(
        turn_id="t1",
        server=SERVER,
        channel_id="channel",
        user_id=None,
        turn_key="",
        claim_no=1,
        opened_at=NOON,
        alive_until=NOON + timedelta(seconds=100),
        now=NOON + timedelta(seconds=1000),
        left=(*lost, *also_left),
    )
    return find_posted(orphan, lost, messages, others, own_id=BOT)


def ids(result: Found) -> dict[str, str]:
    return {intent_id: one.message_id for intent_id, one in result.messages}


def test_what_says_the_same_is_found() -> None:
    result = found((intended("Hello"),), message("Hi", "m1"), message("Hello", "m2"))

    assert ids(result) == {"i1": "m2"}


def test_blanks_that_the_destination_trims_do_not_matter() -> None:
    assert ids(found((intended("  Hello\n\n"),), message("Hello"))) == {"i1": "m1"}


def test_a_hash_of_the_text_with_its_blanks_is_known_too() -> None:
    old = left(an_intent(content_hash=content_hash("Hello ")))

    assert ids(found((old,), message("Hello "))) == {"i1": "m1"}


def test_what_has_grown_since_is_found() -> None:
    assert ids(found((intended("Hello "),), message("Hello there, Ann"))) == {"i1": "m1"}


def test_what_says_just_that_goes_before_what_has_grown() -> None:
    result = found((intended("Hello"),), message("Hello there", "m1"), message("Hello", "m2"))

    assert ids(result) == {"i1": "m2"}


def test_two_that_say_the_same_are_two_messages() -> None:
    lost = (intended("Hello", "i1"), intended("Hello", "i2"))

    assert ids(found(lost, message("Hello", "m1"))) == {"i1": "m1"}
    assert found(lost, message("Hello", "m1")).absent == ("i2",)
    both = found(lost, message("Hello", "m1"), message("Hello", "m2"))
    assert ids(both) == {"i1": "m1", "i2": "m2"}


def test_what_others_wrote_is_not_looked_at() -> None:
    result = found((intended("Hello"),), message("Hello", author_id="ann"))

    assert (result.messages, result.absent) == ((), ("i1",))


def test_a_webhooks_message_is_known_by_its_webhook() -> None:
    by_hook = intended("Hello", webhook_id="77")

    assert ids(found((by_hook,), message("Hello", author_id="77", webhook_id="77"))) == {"i1": "m1"}
    assert found((by_hook,), message("Hello", author_id="78", webhook_id="78")).absent == ("i1",)
    assert found((by_hook,), message("Hello")).absent == ("i1",)


def test_the_bots_message_is_not_a_webhooks() -> None:
    assert found((intended("Hello"),), message("Hello", webhook_id="77")).absent == ("i1",)


def test_what_stood_there_before_is_not_its_own() -> None:
    assert found((intended("Hello"),), message("Hello", at_s=-11)).absent == ("i1",)


def test_what_came_after_its_death_is_not_its_own() -> None:
    assert found((intended("Hello"),), message("Hello", at_s=111)).absent == ("i1",)


def test_an_intent_that_was_written_late_is_looked_for_late() -> None:
    """A turn whose store was away went on after its time had run out."""
    late = intended("Hello", at_s=500)

    assert ids(found((late,), message("Hello", at_s=560))) == {"i1": "m1"}


def test_a_message_that_is_known_is_not_taken_for_another() -> None:
    known = left(an_intent("i0"), IntentState.POSTED, "m1")

    result = found((intended("Hello"),), message("Hello", "m1"), also_left=(known,))

    assert result.absent == ("i1",)


def test_a_message_that_another_turn_posted_stays_its_own() -> None:
    other = left(an_intent("o1", "t2"), IntentState.POSTED, "m1")

    assert found((intended("Hello"),), message("Hello", "m1"), others=(other,)).absent == ("i1",)


def test_a_message_that_another_turn_may_have_posted_is_left_alone() -> None:
    other = intended("Hello", "o1", turn_id="t2")

    result = found((intended("Hello"),), message("Hello"), others=(other,))

    assert (result.messages, result.unsure) == ((), ("i1",))


def test_a_message_from_before_another_turns_intent_is_sure() -> None:
    other = intended("Hello", "o1", at_s=50, turn_id="t2")

    assert ids(found((intended("Hello"),), message("Hello"), others=(other,))) == {"i1": "m1"}


def test_another_turns_other_text_hides_nothing() -> None:
    other = intended("Good morning", "o1", turn_id="t2")

    assert ids(found((intended("Hello"),), message("Hello"), others=(other,))) == {"i1": "m1"}


DAY_S = 86_400.0


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
def test_an_intent_of_a_clock_that_had_jumped_is_looked_for_in_all_of_the_turns_time(
    jump_s: float,
) -> None:
    lost = (intended("Hello.", at_s=jump_s),)

    result = found(lost, message("Hello.", "m0", at_s=-60.0), message("Hello.", "m1", at_s=150.0))

    assert ids(result) == {"i1": "m1"}
