"""What is measured of a provider, by a clock that moves only between its events."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from builders import a_model
from fakes import FrozenClock

from turnkeeper.application.measured_provider import MeasuredProvider, is_measured
from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER, Deadline
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from turnkeeper.domain.watch import Progress
from turnkeeper.infrastructure.threads import ThreadStop

PACED = TimeLimits(min_chars_per_s=2, pace_window_s=5)  # ten characters in five seconds
TEXT_ONLY = TimeLimits(reasoning_is_progress=False)
CALL = ChatCall(model=a_model(), conversation=Conversation())


class Timed(ChatProvider):
    """One event a second."""

    def __init__(self, clock: FrozenClock, *events: StreamEvent) -> None:
        self._clock = clock
        self._events = events
        self.is_closed = False

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        try:
            for event in self._events:
                self._clock.advance(1.0)
                yield event
        finally:
            self.is_closed = True


def stints(limits: TimeLimits, *events: StreamEvent) -> list[float | None]:
    """When the stint began that is under way after each event, in seconds of the call."""
    return [progress.stint_began_at_s for progress in seen(limits, *events)]


def spoken(limits: TimeLimits, *events: StreamEvent) -> list[float | None]:
    return [progress.spoke_at_s for progress in seen(limits, *events)]


@dataclass(frozen=True)
class Seen:
    """What a progress says of an event, in seconds since the call began."""

    spoke_at_s: float | None
    stint_began_at_s: float | None


def seen(limits: TimeLimits, *events: StreamEvent) -> list[Seen]:
    clock, progress = FrozenClock(), Progress()
    began_s = clock.monotonic()
    timed = Timed(clock, *events)
    provider = MeasuredProvider(timed, progress=progress, limits=limits, clock=clock)
    progress.opened(began_s)
    found = []
    for _ in provider.stream(CALL, key=None, stop=ThreadStop(), deadline=NEVER):
        spoke, stint = progress.spoke_at_s, progress.stint_began_at_s
        found.append(
            Seen(
                spoke_at_s=None if spoke is None else spoke - began_s,
                stint_began_at_s=None if stint is None else stint - began_s,
            )
        )
    return found


def test_a_provider_of_which_nothing_more_is_asked_is_not_measured() -> None:
    assert not is_measured(TimeLimits())


@pytest.mark.parametrize("limits", [PACED, TEXT_ONLY], ids=["pace", "text only"])
def test_a_provider_of_which_more_is_asked_is_measured(limits: TimeLimits) -> None:
    assert is_measured(limits)


@pytest.mark.parametrize("limits", [PACED, TEXT_ONLY], ids=["pace", "text only"])
def test_its_events_come_through_as_they_are(limits: TimeLimits) -> None:
    clock = FrozenClock()
    events = (TextDelta("a"), Usage(input_tokens=1), Finished(reason=FinishReason.STOP))
    timed = Timed(clock, *events)
    provider = MeasuredProvider(timed, progress=Progress(), limits=limits, clock=clock)

    stream = provider.stream(CALL, key=None, stop=ThreadStop(), deadline=NEVER)

    assert tuple(stream) == events


def test_leaving_it_leaves_the_provider() -> None:
    clock = FrozenClock()
    provider = Timed(clock, TextDelta("a"), TextDelta("b"))
    measured = MeasuredProvider(provider, progress=Progress(), limits=PACED, clock=clock)
    stream = measured.stream(CALL, key=None, stop=ThreadStop(), deadline=NEVER)
    next(stream)

    stream.close()  # type: ignore[attr-defined]

    assert provider.is_closed


def test_the_first_stint_begins_with_the_first_progress() -> None:
    assert stints(PACED, Usage(), TextDelta("four"), TextDelta("four")) == [None, 2, 2]


def test_the_next_begins_when_its_characters_have_come() -> None:
    assert stints(PACED, TextDelta("a"), TextDelta("b" * 9), TextDelta("c")) == [1, 1, 3]


def test_it_may_be_full_at_once() -> None:
    assert stints(PACED, TextDelta("a"), TextDelta("b" * 99), TextDelta("c")) == [1, 2, 2]


def test_tool_arguments_and_reasoning_fill_it_too() -> None:
    arguments = ToolCallDelta(index=0, arguments="x" * 5)

    assert stints(PACED, TextDelta("a"), arguments, ReasoningDelta("y" * 5)) == [1, 1, 3]


def test_reasoning_that_is_no_progress_does_not_fill_it() -> None:
    limits = TimeLimits(min_chars_per_s=2, pace_window_s=5, reasoning_is_progress=False)

    assert stints(limits, ReasoningDelta("y" * 9), TextDelta("a"), ReasoningDelta("y" * 99)) == [
        None,
        2,
        2,
    ]


def test_only_text_and_tool_arguments_are_speaking() -> None:
    events = (ReasoningDelta("hm"), TextDelta("a"), ReasoningDelta("hm"), ToolCallDelta(index=0))

    assert spoken(TEXT_ONLY, *events) == [None, 2, 2, 4]


def test_without_a_floor_no_pace_is_measured() -> None:
    assert stints(TEXT_ONLY, TextDelta("a"), TextDelta("b")) == [None, None]
