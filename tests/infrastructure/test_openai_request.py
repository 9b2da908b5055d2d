"""Calls as bodies of requests."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from builders import a_model, an_endpoint
from hypothesis import given
from talks import PLAIN_ITEMS, talks

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
    VideoPart,
)
from turnkeeper.domain.model import Capabilities, Sampling
from turnkeeper.infrastructure.providers.dialects import CUSTOM, DIALECTS, Dialect, dialect_at
from turnkeeper.infrastructure.providers.openai_request import OpenAIRequest, request_of

PICTURE = "data:image/png;base64,AAAA"
SEVEN = tuple(f"stop {number}" for number in range(7))


def dialect(name: str) -> Dialect:
    return next(dialect for dialect in DIALECTS if dialect.name == name)


def a_call(*items: Item, sampling: Sampling | None = None, **can: bool) -> ChatCall:
    return ChatCall(
        model=replace(a_model(), capabilities=Capabilities(**can)),
        conversation=Conversation(items=items or (Item.said(Role.USER, "hi"),)),
        sampling=sampling or Sampling(),
    )


def request(call: ChatCall, name: str = "custom") -> OpenAIRequest:
    return request_of(call, dialect(name))


def body(call: ChatCall, name: str = "custom") -> dict[str, Any]:
    sent: dict[str, Any] = orjson.loads(request(call, name).payload)
    return sent


def messages(call: ChatCall, name: str = "custom") -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = body(call, name)["messages"]
    return sent


def test_a_plain_call_sets_nothing_that_it_need_not() -> None:
    assert body(a_call()) == {
        "model": "alpha",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_everybody_says_something_in_a_role_of_their_own() -> None:
    call = a_call(
        Item.said(Role.SYSTEM, "Be kind."),
        Item.said(Role.USER, "hi"),
        Item.said(Role.MODEL, "hello"),
    )

    assert messages(call) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
    ]


@given(talks(PLAIN_ITEMS))
def test_what_is_plain_is_sent_as_it_is_beside_what_is_not(talk: Conversation) -> None:
    beside = Conversation(items=(*talk.items, Item(role=Role.USER)))  # which says nothing
    call = a_call()

    assert (talk.is_plain, beside.is_plain) == (True, False)
    assert messages(replace(call, conversation=talk)) == messages(
        replace(call, conversation=beside)
    )


def test_an_item_that_says_nothing_is_left_out() -> None:
    assert (
        messages(a_call(Item(role=Role.USER), Item(role=Role.MODEL), Item(role=Role.SYSTEM))) == []
    )


def test_an_image_stands_where_it_stood_in_the_text() -> None:
    parts = (TextPart(text="see"), ImagePart(uri=PICTURE), TextPart(text=""), TextPart(text="?"))

    assert messages(a_call(Item(role=Role.USER, parts=parts))) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": PICTURE}},
                {"type": "text", "text": "?"},
            ],
        }
    ]


@pytest.mark.parametrize("can", [True, False])
def test_a_video_is_sent_to_a_model_that_can_see_it(can: bool) -> None:
    item = Item(role=Role.USER, parts=(TextPart(text="see"), VideoPart(uri="https://v")))
    video = {"type": "video_url", "video_url": {"url": "https://v"}}

    content = messages(a_call(item, videos=can))[0]["content"]

    assert content == [{"type": "text", "text": "see"}, *([video] if can else [])]


def tool_turn(call_id: str = "call_1", opaque: str | None = None) -> tuple[Item, ...]:
    thought = ReasoningPart(text="I look.", opaque_json=opaque)
    asked = ToolCallPart(call_id=call_id, name="look", arguments_json='{"at":"sea"}')
    result = ToolResultPart(call_id=call_id, name="look", result_json='"waves"')
    return (
        Item(role=Role.MODEL, parts=(thought, asked)),
        Item(role=Role.TOOL, parts=(result,)),
    )


def test_a_tool_turn_is_sent_back_with_its_result() -> None:
    function = {"name": "look", "arguments": '{"at":"sea"}'}

    assert messages(a_call(*tool_turn())) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '"waves"'},
    ]


def test_mistral_gets_ids_of_nine_letters_that_still_match() -> None:
    asked, result = messages(a_call(*tool_turn("toolu_very_long_01")), "mistral")

    call_id = asked["tool_calls"][0]["id"]
    assert call_id == result["tool_call_id"]
    assert len(call_id) == 9
    assert call_id.isalnum()


def test_mistrals_own_ids_stay() -> None:
    asked, _ = messages(a_call(*tool_turn("aB3dE6gH9")), "mistral")

    assert asked["tool_calls"][0]["id"] == "aB3dE6gH9"


def test_openrouter_gets_its_reasoning_back_as_it_gave_it() -> None:
    asked, _ = messages(a_call(*tool_turn(opaque='[{"type":"reasoning.text"}]')), "openrouter")

    assert asked["reasoning_details"] == [{"type": "reasoning.text"}]


def test_deepseek_gets_its_reasoning_back_as_text() -> None:
    asked, _ = messages(a_call(*tool_turn()), "deepseek")

    assert asked["reasoning_content"] == "I look."


@pytest.mark.parametrize("name", ["openai", "mistral", "groq", "custom"])
def test_reasoning_goes_back_to_nobody_else(name: str) -> None:
    asked, _ = messages(a_call(*tool_turn(opaque="[{}]")), name)

    assert set(asked) == {"role", "content", "tool_calls"}


def test_tools_are_sent_with_their_schemas() -> None:
    tool = ToolSpec(name="look", description="Looks.", schema_json='{"type":"object"}')
    call = replace(a_call(), conversation=Conversation(tools=(tool,)))

    assert body(call)["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "look",
                "description": "Looks.",
                "parameters": {"type": "object"},
            },
        }
    ]


ALL_SET = Sampling(
    temperature=0.5,
    top_p=0.9,
    top_k=40,
    min_p=0.1,
    frequency_penalty=0.2,
    presence_penalty=0.3,
    stop=SEVEN,
    logit_bias=(("50256", -100.0),),
)
WIDE = {
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 40,
    "min_p": 0.1,
    "frequency_penalty": 0.2,
    "presence_penalty": 0.3,
    "stop": list(SEVEN[:4]),
    "logit_bias": {"50256": -100.0},
}


@pytest.mark.parametrize(
    ("name", "unknown", "stops"),
    [
        ("custom", set(), 4),
        ("openrouter", set(), 4),
        ("vllm", set(), 4),
        ("openai", {"top_k", "min_p"}, 4),
        ("mistral", {"top_k", "min_p", "logit_bias"}, 4),
        ("deepseek", {"top_k", "min_p", "logit_bias"}, 7),
        (
            "zai",
            {"top_k", "min_p", "logit_bias", "frequency_penalty", "presence_penalty"},
            1,
        ),
    ],
)
def test_a_provider_is_told_only_what_it_knows(name: str, unknown: set[str], stops: int) -> None:
    sent = body(a_call(sampling=ALL_SET), name)

    expected = {key: value for key, value in WIDE.items() if key not in unknown}
    assert {key: sent.get(key) for key in WIDE if key in sent} == {
        **expected,
        "stop": list(SEVEN[:stops]),
    }


def test_what_is_disabled_is_never_sent() -> None:
    disabled = frozenset({*WIDE, "reasoning_effort", "max_tokens"})
    sampling = replace(ALL_SET, reasoning_effort="high", disabled=disabled)
    call = replace(a_call(sampling=sampling), max_output_tokens=9)

    assert set(body(call)) == {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("openai", "max_completion_tokens"),
        ("groq", "max_completion_tokens"),
        ("openrouter", "max_tokens"),
        ("mistral", "max_tokens"),
        ("custom", "max_tokens"),
    ],
)
def test_the_longest_answer_goes_by_the_providers_name_for_it(name: str, field: str) -> None:
    sent = body(replace(a_call(), max_output_tokens=100), name)

    assert {key: value for key, value in sent.items() if key.startswith("max")} == {field: 100}


def test_mistral_is_not_asked_for_usage() -> None:
    assert "stream_options" not in body(a_call(), "mistral")


@pytest.mark.parametrize(
    ("name", "effort", "fields"),
    [
        ("openai", "low", {"reasoning_effort": "low"}),
        ("openrouter", "high", {"reasoning": {"effort": "high"}}),
        ("openrouter", "none", {"reasoning": {"effort": "none"}}),
        ("zai", "medium", {"thinking": {"type": "enabled"}}),
        ("deepseek", "none", {"thinking": {"type": "disabled"}}),
        ("mistral", "low", {"reasoning_effort": "high"}),
        ("openai", "auto", {}),
        ("openai", None, {}),
    ],
)
def test_reasoning_effort_is_said_in_the_providers_way(
    name: str, effort: str | None, fields: dict[str, Any]
) -> None:
    plain = body(a_call(reasoning=True), name)

    sent = body(a_call(sampling=Sampling(reasoning_effort=effort), reasoning=True), name)

    assert sent == plain | fields


def test_a_model_that_does_not_reason_is_not_told_to_stop_it() -> None:
    assert "reasoning_effort" not in body(a_call(sampling=Sampling(reasoning_effort="none")))


class TestStrictAlternation:
    def alternating(self, *items: Item) -> list[dict[str, Any]]:
        return messages(a_call(*items, strict_role_alternation=True))

    def test_neighbours_of_one_role_become_one(self) -> None:
        said = self.alternating(
            Item.said(Role.SYSTEM, "a"),
            Item.said(Role.SYSTEM, "b"),
            Item.said(Role.USER, "c"),
            Item.said(Role.USER, "d"),
            Item.said(Role.MODEL, "e"),
        )

        assert said == [
            {"role": "system", "content": "a\n\nb"},
            {"role": "user", "content": "c\n\nd"},
            {"role": "assistant", "content": "e"},
        ]

    def test_a_later_system_text_is_said_by_the_user(self) -> None:
        said = self.alternating(
            Item.said(Role.SYSTEM, "a"), Item.said(Role.USER, "b"), Item.said(Role.SYSTEM, "c")
        )

        assert said == [
            {"role": "system", "content": "a"},
            {"role": "user", "content": "b\n\nc"},
        ]

    def test_an_image_survives_the_merging(self) -> None:
        picture = Item(role=Role.USER, parts=(ImagePart(uri=PICTURE),))

        assert self.alternating(Item.said(Role.USER, "a"), picture) == [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image_url", "image_url": {"url": PICTURE}},
                ],
            }
        ]

    def test_the_user_begins(self) -> None:
        said = self.alternating(Item.said(Role.MODEL, "a"), Item.said(Role.USER, "b"))

        assert [message["role"] for message in said] == ["user", "assistant", "user"]

    def test_a_call_and_its_result_stay_apart(self) -> None:
        said = self.alternating(Item.said(Role.USER, "a"), Item.said(Role.MODEL, "b"), *tool_turn())

        roles = [message["role"] for message in said]
        assert roles == ["user", "assistant", "assistant", "tool"]


class TestPrefill:
    def call(self, **can: bool) -> ChatCall:
        call = a_call()
        model = replace(call.model, capabilities=Capabilities(**can))
        return replace(call, model=model, prefill="Once")

    def test_the_beginning_is_gone_on_with(self) -> None:
        last = messages(self.call(prefix_completion=True))[-1]

        assert last == {"role": "assistant", "content": "Once"}

    @pytest.mark.parametrize("name", ["mistral", "deepseek"])
    def test_the_beginning_is_marked_where_that_is_wanted(self, name: str) -> None:
        last = messages(self.call(prefix_completion=True), name)[-1]

        assert last == {"role": "assistant", "content": "Once", "prefix": True}

    def test_deepseek_goes_on_at_an_address_of_its_own(self) -> None:
        sent = request(self.call(prefix_completion=True), "deepseek")

        assert sent.url == "https://api.deepseek.com/beta/chat/completions"

    def test_vllm_is_told_to_go_on(self) -> None:
        sent = body(self.call(prefix_completion=True), "vllm")

        assert (sent["add_generation_prompt"], sent["continue_final_message"]) == (False, True)

    def test_a_model_that_cannot_go_on_is_told_in_words(self) -> None:
        last = messages(self.call())[-1]

        assert last["role"] == "user"
        assert "Once" in last["content"]


def test_an_endpoint_has_its_own_address_model_and_context() -> None:
    endpoint = replace(an_endpoint(base_url="http://here/v1/"), model_name="m", num_ctx=8192)

    sent = request(replace(a_call(), endpoint=endpoint))

    assert (sent.url, sent.model) == ("http://here/v1/chat/completions", "m")
    assert sent.body["options"] == {"num_ctx": 8192}


def test_an_endpoint_without_a_model_sends_its_label() -> None:
    assert request(replace(a_call(), endpoint=an_endpoint(label="tiny"))).model == "tiny"


def test_a_whole_address_is_used_as_it_is() -> None:
    endpoint = an_endpoint(base_url="https://here/v1/chat/completions")

    assert request(replace(a_call(), endpoint=endpoint)).url == "https://here/v1/chat/completions"


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://API.Z.AI/api/paas/v4", "zai"),
        ("https://mine.openai.azure.com/openai/v1", "azure"),
        ("http://192.168.1.5:11434/v1", "ollama"),
        ("http://localhost:1234/v1", "lmstudio"),
        ("https://notopenrouter.ai/api/v1", "custom"),
        ("http://[::1]:8080/v1", "custom"),
        ("nonsense", "custom"),
        ("", "custom"),
    ],
)
def test_an_endpoint_speaks_the_dialect_of_its_address(base_url: str, name: str) -> None:
    assert dialect_at(an_endpoint(base_url=base_url)).name == name


class TestRefusals:
    full = request(replace(a_call(sampling=Sampling(top_k=3)), max_output_tokens=5))

    def test_a_refused_parameter_is_left_out(self) -> None:
        assert "top_k" not in self.full.without(frozenset({("top_k", None)})).body

    def test_a_refused_value_is_left_out(self) -> None:
        assert "top_k" not in self.full.without(frozenset({("top_k", "3")})).body

    def test_another_value_is_sent(self) -> None:
        assert self.full.without(frozenset({("top_k", "4")})).body == self.full.body

    def test_a_refused_name_of_the_longest_answer_is_changed(self) -> None:
        sent = self.full.without(frozenset({("max_tokens", None)})).body

        assert ("max_tokens" in sent, sent["max_completion_tokens"]) == (False, 5)

    def test_a_longest_answer_that_is_refused_is_left_out(self) -> None:
        for refusals in (
            {("max_tokens", "5")},
            {("max_tokens", None), ("max_completion_tokens", None)},
        ):
            sent = self.full.without(frozenset(refusals)).body
            assert not {"max_tokens", "max_completion_tokens"} & set(sent)

    def test_messages_cannot_be_refused(self) -> None:
        assert "messages" in self.full.without(frozenset({("messages", None)})).body


def test_every_dialect_is_registered_once() -> None:
    names = [name for dialect in DIALECTS for name in (dialect.name, *dialect.aliases)]

    assert len(names) == len(set(names))
    assert CUSTOM in DIALECTS
