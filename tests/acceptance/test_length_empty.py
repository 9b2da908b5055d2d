"""A turn that is run again after an answer that was cut before it began."""

from collections.abc import Iterator
from dataclasses import replace

from builders import a_request
from fakes import Script, ScriptedProvider, says
from turns import Benches, a_server

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, Usage

HISTORY = Conversation(
    items=(
        Item.said(Role.SYSTEM, "be brief", None),
        *[
            Item.said(role, f"{role.value} {number}")
            for number in range(1, 8)
            for role in (Role.USER, Role.MODEL)
        ],
        Item.said(Role.USER, "and now?"),
    )
)
CUT = says(finish=FinishReason.LENGTH)


def thinks_it_away(tokens: int) -> Script:
    """No answer, as all of the output went into reasoning."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        yield Usage(output_tokens=tokens, reasoning_tokens=tokens)
        yield Finished(reason=FinishReason.LENGTH, raw=("length",))

    return script


def calls_of(bench: Benches, *scripts: Script) -> list[ChatCall]:
    """What was asked, in order, in a turn that was answered in the end."""
    provider = ScriptedProvider(alpha=list(scripts))
    made = bench(provider, server=a_server("alpha"))

    result = made.run(replace(a_request(), conversation=HISTORY))

    assert result.status is TurnStatus.COMPLETED
    return provider.seen


def test_each_time_two_exchanges_less_are_sent(bench: Benches) -> None:
    calls = calls_of(bench, CUT, CUT, says("the answer"))

    system, history = HISTORY.items[:1], HISTORY.items[1:]
    assert [call.conversation.items for call in calls] == [
        HISTORY.items,
        (*system, *history[4:]),
        (*system, *history[8:]),
    ]


def test_after_an_empty_answer_that_was_not_cut_the_same_is_sent(bench: Benches) -> None:
    calls = calls_of(bench, says(), says("the answer"))

    assert [call.conversation for call in calls] == [HISTORY, HISTORY]


def test_where_reasoning_used_up_the_output_more_of_it_is_asked_for(bench: Benches) -> None:
    calls = calls_of(bench, thinks_it_away(4096), says("the answer"))

    assert [call.conversation for call in calls] == [HISTORY, HISTORY]
    assert [call.max_output_tokens for call in calls] == [4096, 8192]
