"""Models that write their tool calls as text, over real sockets."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from builders import a_model, an_endpoint
from contracts.chat_provider import KEY, ChatProviderContract, calls_of, text_of

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.conversation import Conversation, Item, Role, ToolCallPart, ToolSpec
from turnkeeper.domain.deadline import NEVER, Deadline
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, StreamFailed, TextDelta
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.openai_compatible import OpenAICompatibleProvider
from turnkeeper.infrastructure.providers.registry import (
    ProviderRegistry,
    register_openai_compatible,
)
from turnkeeper.infrastructure.providers.verbatim import VerbatimTools
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.wall.answer import Answer, ToolCall
from turnkeeper.infrastructure.wall.behaviour import CutAfter
from turnkeeper.infrastructure.wall.server import Wall

ROLL = '{"name": "roll", "arguments": {"sides": 6}}'
DICE = ToolSpec(name="roll")


class TestVerbatimTools(ChatProviderContract):
    @pytest.fixture(autouse=True)
    def at_the_wall(self, wall: Wall) -> None:
        self.base_url = wall.base_url

    @pytest.fixture
    def provider(self, http: HttpClient) -> ChatProvider:
        return VerbatimTools(OpenAICompatibleProvider(http=http, clock=SystemClock()))

    @pytest.fixture
    def unreachable(self, provider: ChatProvider) -> ChatProvider:
        self.base_url = "http://127.0.0.1:1/v1"
        return provider

    def call(self, model: str = "alpha") -> ChatCall:
        return ChatCall(
            model=a_model(model, verbatim_tool_calling=True),
            conversation=replace(Conversation.of("Roll."), tools=(DICE,)),
            endpoint=an_endpoint(base_url=self.base_url, label=model),
        )

    def test_a_call_in_the_text_is_a_call(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(Answer(text=f"I roll. {ROLL}"))

        events = self.events(provider)

        assert text_of(events) == "I roll. "
        assert calls_of(events) == [("roll", '{"sides": 6}')]
        assert end_of(events).reason is FinishReason.TOOL_CALLS

    def test_no_tools_are_sent(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(Answer(text="Hello."))

        self.events(provider)

        assert "tools" not in wall.seen[0].body

    def test_half_a_call_of_an_answer_that_was_cut_is_a_call(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(Answer(text=ROLL[:-3], finish="length"))

        events = self.events(provider)

        assert text_of(events) == ""
        assert calls_of(events) == [("roll", '{"sides": ')]
        assert end_of(events).reason is FinishReason.LENGTH

    def test_text_that_is_held_back_is_progress(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(Answer(tokens=(ROLL[:10], ROLL[10:]), gap_s=0.01))

        events = self.events(provider)

        assert any(isinstance(event, TextDelta) for event in events)
        assert text_of(events) == ""

    def test_what_was_held_back_is_shown_where_it_was_no_call(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(Answer(tokens=("See ", '{"na')))

        events = self.events(provider)

        assert text_of(events) == 'See {"na'
        assert end_of(events).reason is FinishReason.STOP

    def test_half_a_call_before_a_break_is_not_shown(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(CutAfter(of=Answer(tokens=("See ", ROLL[:30], ROLL[30:])), tokens=2))

        events = self.events(provider)

        assert text_of(events) == "See "
        assert isinstance(events[-1], StreamFailed)

    def test_calls_that_come_as_such_have_places_of_their_own(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(Answer(text=ROLL, tool_calls=(ToolCall(name="look", arguments=("{", "}")),)))

        assert calls_of(self.events(provider)) == [("roll", '{"sides": 6}'), ("look", "{}")]

    def test_each_call_has_an_id_of_its_own(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script([Answer(text=ROLL * 2), Answer(text=ROLL)])

        events = [*self.events(provider), *self.events(provider)]

        ids = [call_id for event in events if (call_id := getattr(event, "call_id", None))]
        assert len(set(ids)) == 3

    def test_a_name_that_is_not_offered_is_text(self, provider: ChatProvider, wall: Wall) -> None:
        text = '{"name": "fly", "arguments": {}}'
        wall.script(Answer(text=text))

        assert text_of(self.events(provider)) == text


@pytest.mark.parametrize(
    ("is_custom", "tools", "verbatim"),
    [(True, True, False), (True, False, True), (False, True, True)],
)
def test_a_model_that_does_not_write_its_calls_is_asked_as_it_is(
    is_custom: bool, tools: bool, verbatim: bool
) -> None:
    asked: list[ChatCall] = []

    class Noting(ChatProvider):
        def stream(
            self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
        ) -> Iterator[StreamEvent]:
            asked.append(call)
            return iter([TextDelta(ROLL)])

    called = Item(
        role=Role.MODEL, parts=(ToolCallPart(call_id="1", name="roll", arguments_json="{}"),)
    )
    call = ChatCall(
        model=a_model(tools=tools, verbatim_tool_calling=verbatim),
        conversation=Conversation(items=(called,), tools=(DICE,)),
        endpoint=an_endpoint() if is_custom else None,
    )

    events = list(VerbatimTools(Noting()).stream(call, key=KEY, stop=ThreadStop(), deadline=NEVER))

    assert asked == [call]
    assert events == [TextDelta(ROLL)]


@pytest.mark.parametrize("name", ["custom", "custom:7"])
def test_endpoints_are_served_by_it(name: str) -> None:
    registry, http = ProviderRegistry(), HttpClient(user_agent="turnkeeper-tests")
    register_openai_compatible(registry, http=http, clock=SystemClock())

    assert isinstance(registry.find(name), VerbatimTools)
    assert not isinstance(registry.find("openai"), VerbatimTools)


def end_of(events: list[StreamEvent]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished)
    return last
