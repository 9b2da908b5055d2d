"""NovelAI's story and chat models over real sockets, and what an account pays for."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import native_calls
import pytest
from builders import a_model
from contracts.chat_provider import (
    CANARY,
    HELLO,
    KEY,
    WAIT_S,
    ChatProviderContract,
    is_terminal,
    kind_of,
    text_of,
)
from fakes import FrozenClock
from native_calls import body_in

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.runner import Cancelled, Runner, StillRunning, Work
from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    Role,
    TextPart,
    ToolResultPart,
)
from turnkeeper.domain.deadline import NEVER, Deadline
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.model import Limits, Sampling
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, StreamFailed, TextDelta
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.novelai import NovelAiProvider
from turnkeeper.infrastructure.providers.novelai_request import draft_of
from turnkeeper.infrastructure.providers.novelai_subscription import (
    KEPT_AFTER_FAILURE_S,
    KEPT_S,
    SAFE_TOKENS,
    NovelAiSubscription,
)
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop
from turnkeeper.infrastructure.wall.behaviour import Behaviour, CutAfter, Refuse, Replay, Stall
from turnkeeper.infrastructure.wall.dialect import OpenAiDialect
from turnkeeper.infrastructure.wall.script import Step
from turnkeeper.infrastructure.wall.server import Wall

STORY_PATH = "/ai/generate-stream"
HI = Conversation.of("hello")


class TestNovelAiChatModels(ChatProviderContract):
    dialects = (OpenAiDialect(base_path="/oa/v1"),)

    @pytest.fixture
    def provider(self, wall: Wall, http: HttpClient) -> ChatProvider:
        return NovelAiProvider(http=http, clock=SystemClock(), base_url=wall.url)

    @pytest.fixture
    def unreachable(self, http: HttpClient) -> ChatProvider:
        return NovelAiProvider(http=http, clock=SystemClock(), base_url="http://127.0.0.1:1")

    @pytest.mark.parametrize("model", ["glm-4-6", "xialong-v1"])
    def test_a_chat_model_is_asked_in_openais_shape(
        self, provider: ChatProvider, wall: Wall, model: str
    ) -> None:
        wall.script(HELLO)

        self.events(provider, model)

        assert wall.seen[0].path == "/oa/v1/chat/completions"
        assert wall.seen[0].body == {
            "model": model,
            "messages": [{"role": "user", "content": "Say hello."}],
            "stream": True,
        }


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as wall:
        yield wall


@pytest.fixture
def http() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    yield client
    client.close()


@pytest.fixture
def provider(wall: Wall, http: HttpClient) -> ChatProvider:
    return NovelAiProvider(http=http, clock=SystemClock(), base_url=wall.url, trailer_grace_s=0.05)


def a_call(
    *items: Item, model: str = "kayra-v1", ceiling: int | None = None, **more: Any
) -> ChatCall:
    conversation = Conversation(items=items) if items else HI
    known = replace(a_model(model, provider="novelai"), limits=Limits(max_output_tokens=ceiling))
    return ChatCall(model=known, conversation=conversation, **more)


def body_of(call: ChatCall) -> dict[str, Any]:
    return body_in(draft_of(call, base_url="https://host", key=None))


def told(*tokens: str, final: bool = True, **replay: Any) -> Replay:
    """An answer of these tokens."""
    last = len(tokens) - 1
    documents = [
        {"token": token, "ptr": at, "final": final and at == last, "logprobs": None}
        for at, token in enumerate(tokens)
    ]
    return Replay(body=b"".join(map(event, documents)), **replay)


def event(document: object) -> bytes:
    return b"event:newToken\nid:0\ndata:%b\n\n" % json.dumps(document).encode()


def asked(provider: ChatProvider, call: ChatCall | None = None) -> list[StreamEvent]:
    return native_calls.asked(provider, call or a_call())


def failed(provider: ChatProvider) -> Failure:
    last = asked(provider)[-1]
    assert isinstance(last, StreamFailed)
    return last.failure


def test_a_story_model_is_given_a_text_to_go_on_with(provider: ChatProvider, wall: Wall) -> None:
    wall.script(told("Hi."), path=STORY_PATH)

    asked(provider)

    assert wall.seen[0].headers["authorization"] == f"Bearer {CANARY}"
    assert wall.seen[0].body == {
        "model": "kayra-v1",
        "input": "User: hello\nAssistant:",
        "parameters": {
            "use_string": True,
            "max_length": 150,
            "min_length": 1,
            "generate_until_sentence": True,
            "return_full_text": False,
            "use_cache": False,
            "prefix": "vanilla",
        },
    }


def test_all_that_was_said_is_told_as_a_scene() -> None:
    call = a_call(
        Item.said(Role.SYSTEM, "A quiet harbour.", None),
        Item.said(Role.USER, "Who is there?"),
        Item.said(Role.MODEL, "Nobody."),
        Item(role=Role.TOOL, parts=(ToolResultPart(call_id="1", name="look", result_json="{}"),)),
        Item(role=Role.USER, parts=(TextPart(text="See:"), ImagePart(uri="https://host/a"))),
        prefill="Well,",
    )

    assert body_of(call)["input"] == (
        "A quiet harbour.\n"
        "***\n"
        "User: Who is there?\n"
        "Assistant: Nobody.\n"
        "User: [look: {}] See: [an image is here, which this model cannot see]\n"
        "Assistant: Well,"
    )


def test_erato_is_told_where_the_text_begins() -> None:
    call = a_call(model="llama-3-erato-v1")

    assert body_of(call)["input"] == (
        "<|startoftext|><|reserved_special_token81|>User: hello\nAssistant:"
    )


def test_what_is_set_is_sent_under_the_apis_own_names_unless_it_is_disabled() -> None:
    sampling = Sampling(
        temperature=1.1,
        top_p=0.9,
        top_k=40,
        min_p=0.1,
        frequency_penalty=0.2,
        presence_penalty=0.3,
        disabled=frozenset({"top_k"}),
    )

    sent = body_of(a_call(sampling=sampling))["parameters"]

    assert (
        sent.items()
        >= {
            "temperature": 1.1,
            "top_p": 0.9,
            "min_p": 0.1,
            "repetition_penalty_frequency": 0.2,
            "repetition_penalty_presence": 0.3,
        }.items()
    )
    assert "top_k" not in sent


@pytest.mark.parametrize(
    ("wanted", "ceiling", "sent"),
    [(None, None, 150), (4096, None, 150), (40, None, 40), (4096, 250, 250)],
)
def test_no_more_is_asked_for_than_the_api_gives(
    wanted: int | None, ceiling: int | None, sent: int
) -> None:
    call = a_call(ceiling=ceiling, max_output_tokens=wanted)

    assert body_of(call)["parameters"]["max_length"] == sent


def test_an_answer_ends_with_its_final_token(provider: ChatProvider, wall: Wall) -> None:
    wall.script(told(" The", " end", "."), path=STORY_PATH)

    assert asked(provider) == [TextDelta("The end."), Finished(reason=FinishReason.STOP)]


def test_the_beginning_of_an_answer_is_gone_on_with_as_it_is(
    provider: ChatProvider, wall: Wall
) -> None:
    wall.script(told(" end", "."), path=STORY_PATH)

    assert text_of(asked(provider, a_call(prefill="The"))) == " end."


def test_as_many_tokens_as_were_allowed_are_a_cut(provider: ChatProvider, wall: Wall) -> None:
    wall.script(told(" It", " rains.", " The", " sea"), path=STORY_PATH)

    assert asked(provider, a_call(max_output_tokens=4)) == [
        TextDelta("It rains. The sea"),
        Finished(reason=FinishReason.LENGTH, continuation="The sea"),
    ]


def test_a_cut_behind_a_whole_sentence_leaves_nothing_to_go_on_with(
    provider: ChatProvider, wall: Wall
) -> None:
    wall.script(told(' "It', ' rains."'), path=STORY_PATH)

    last = asked(provider, a_call(max_output_tokens=2))[-1]

    assert last == Finished(reason=FinishReason.LENGTH, continuation=None)


@pytest.mark.parametrize("slice_bytes", [None, 1, "random"])
def test_the_model_does_not_speak_for_the_user(
    provider: ChatProvider, wall: Wall, slice_bytes: Any
) -> None:
    tokens = (" Hi", ".\n", "Us", "er:", " What?")
    wall.script(told(*tokens, final=False, slice_bytes=slice_bytes), path=STORY_PATH)

    events = asked(provider)

    assert text_of(events) == "Hi."
    assert events[-1] == Finished(reason=FinishReason.STOP)


def test_a_stop_at_the_last_allowed_token_is_no_cut(provider: ChatProvider, wall: Wall) -> None:
    wall.script(told(" Hi", "\nUser:", final=False), path=STORY_PATH)

    last = asked(provider, a_call(max_output_tokens=2))[-1]

    assert last == Finished(reason=FinishReason.STOP)


def test_what_only_looked_like_the_users_word_is_said_after_all(
    provider: ChatProvider, wall: Wall
) -> None:
    wall.script(told(" Hi.\nUse", " it.\nUs"), path=STORY_PATH)

    assert text_of(asked(provider)) == "Hi.\nUse it.\nUs"


def test_a_stop_of_the_call_ends_the_answer(provider: ChatProvider, wall: Wall) -> None:
    wall.script(told(" one, t", "wo, three"), path=STORY_PATH)
    stops = a_call(sampling=Sampling(stop=("", "two")))
    disabled = a_call(sampling=Sampling(stop=("two",), disabled=frozenset({"stop"})))

    assert text_of(asked(provider, stops)) == "one, "
    assert text_of(asked(provider, disabled)) == "one, two, three"


def test_a_whole_answer_that_did_not_stream_is_read(provider: ChatProvider, wall: Wall) -> None:
    wall.script(Replay(body=b'{"output":" All of it."}', status=201), path=STORY_PATH)

    assert text_of(asked(provider)) == "All of it."


@pytest.mark.parametrize(
    "document",
    [
        {"statusCode": 429, "message": "Concurrent generation is locked"},
        {"error": "Too many requests"},
    ],
)
@pytest.mark.parametrize("streams", [True, False])
def test_an_error_under_a_good_status_is_a_failure(
    provider: ChatProvider, wall: Wall, document: dict[str, Any], streams: bool
) -> None:
    body = event({"token": " Hi", "final": False}) + event(document)
    wall.script(Replay(body=body if streams else json.dumps(document).encode()), path=STORY_PATH)

    failure = failed(provider)

    assert (failure.kind, failure.in_band) == (FailureKind.RATE_LIMIT, True)


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (told(" Hi", final=False), FailureKind.NETWORK),
        (Replay(body=event({"token": "a"}) + b'data:{"tok\n\n'), FailureKind.NETWORK),
        (CutAfter(tokens=0), FailureKind.NETWORK),
        (Refuse(status=400, body={"statusCode": 400, "message": "No."}), FailureKind.BAD_REQUEST),
        (Refuse(status=401, body={"statusCode": 401, "message": "No."}), FailureKind.AUTH),
        (Refuse(status=409, body={"statusCode": 409, "message": "No."}), FailureKind.SERVER_ERROR),
        (Refuse(status=503), FailureKind.OVERLOADED),
    ],
)
def test_what_goes_wrong_is_one_failure_at_the_end(
    provider: ChatProvider, wall: Wall, behaviour: Behaviour, kind: FailureKind
) -> None:
    wall.script(behaviour, path=STORY_PATH)

    events = asked(provider)

    assert [is_terminal(event) for event in events] == [False] * (len(events) - 1) + [True]
    assert kind_of(events[-1]) is kind


def test_the_stop_ends_a_read_that_waits(provider: ChatProvider, wall: Wall) -> None:
    wall.script(Stall(after_tokens=0), path=STORY_PATH)
    stop = ThreadStop()

    def read() -> list[StreamEvent]:
        return list(provider.stream(a_call(), key=KEY, stop=stop, deadline=NEVER))

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read)
        wall.await_seen(1, timeout_s=WAIT_S)
        stop.set()

        with pytest.raises(Cancelled):
            reading.result(WAIT_S)


def test_nothing_is_asked_past_the_deadline(provider: ChatProvider, wall: Wall) -> None:
    stream = provider.stream(a_call(), key=KEY, stop=ThreadStop(), deadline=Deadline(0.0))

    assert [kind_of(event) for event in stream] == [FailureKind.TIMEOUT]
    assert wall.seen == ()


def test_the_key_shows_nowhere(provider: ChatProvider, wall: Wall) -> None:
    leak = {"statusCode": 401, "message": f"Bad token {CANARY}"}
    wall.script([Refuse(status=401, body=leak), Replay(body=event(leak))], path=STORY_PATH)

    events = [*asked(provider), *asked(provider)]

    assert [kind_of(event) for event in events] == [FailureKind.AUTH, FailureKind.AUTH]
    assert CANARY not in repr(events)


def test_a_refused_parameter_is_left_out_at_once_and_from_then_on(
    provider: ChatProvider, wall: Wall
) -> None:
    refusal = Refuse(status=400, body={"statusCode": 400, "message": "unknown field 'min_p'"})
    wall.script([refusal, told("Hi.")], path=STORY_PATH)
    call = a_call(sampling=Sampling(min_p=0.1))

    texts = [text_of(asked(provider, call)) for _ in range(2)]

    assert texts == ["Hi."] * 2
    assert ["min_p" in seen.body["parameters"] for seen in wall.seen] == [True, False, False]


# ── what an account pays for ────────────────────────────────────────────────────────────────

FIRST, SECOND = "/image/subscription", "/text/subscription"
JSON = (("Content-Type", "application/json"),)


@pytest.fixture
def runner() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def subscription(
    wall: Wall, http: HttpClient, clock: FrozenClock, runner: ThreadRunner
) -> NovelAiSubscription:
    return NovelAiSubscription(
        http=http,
        clock=clock,
        runner=runner,
        urls=(f"{wall.url}{FIRST}", f"{wall.url}{SECOND}"),
        longest_wait_s=WAIT_S,
    )


def paid(tier: object, context_tokens: object = 8192) -> Replay:
    said = {"tier": tier, "active": True, "perks": {"contextTokens": context_tokens}}
    return Replay(body=json.dumps(said).encode(), headers=JSON)


@pytest.mark.parametrize(
    ("model", "tier", "window"),
    [
        ("kayra-v1", 1, 3072),
        ("kayra-v1", 2, 6144),
        ("kayra-v1", 3, 8192),
        ("kayra-v1", 0, SAFE_TOKENS),
        ("kayra-v1", 9, SAFE_TOKENS),
        ("glm-4-6", 1, 4096),
        ("glm-4-6", 3, 8192),
        ("never-heard-of", 1, 5000),
    ],
)
def test_a_window_is_what_the_plan_gives(
    subscription: NovelAiSubscription, wall: Wall, model: str, tier: int, window: int
) -> None:
    wall.script(paid(tier, context_tokens=5000), path=FIRST)

    assert subscription.window_tokens(KEY, model) == window


@pytest.mark.parametrize(
    ("model", "window"), [("clio-v1", 8192), ("llama-3-erato-v1", 8192), ("xialong-v1", 36_864)]
)
def test_nothing_is_asked_where_the_window_is_the_same_for_everybody(
    subscription: NovelAiSubscription, wall: Wall, model: str, window: int
) -> None:
    assert subscription.window_tokens(KEY, model) == window
    assert wall.seen == ()


def test_the_question_carries_the_key_and_is_asked_once_a_day(
    subscription: NovelAiSubscription, wall: Wall, clock: FrozenClock
) -> None:
    wall.script([paid(1), paid(3)], path=FIRST)

    windows = [subscription.window_tokens(KEY, "kayra-v1") for _ in range(2)]
    clock.advance(KEPT_S)
    windows.append(subscription.window_tokens(KEY, "kayra-v1"))

    assert windows == [3072, 3072, 8192]
    assert [seen.key for seen in wall.seen] == [CANARY] * 2


def test_each_key_has_its_own_plan(subscription: NovelAiSubscription, wall: Wall) -> None:
    wall.script(paid(1), path=FIRST, key="one")
    wall.script(paid(3), path=FIRST, key="three")

    windows = [subscription.window_tokens(Secret(key), "kayra-v1") for key in ("one", "three")]

    assert windows == [3072, 8192]


def test_the_second_address_is_asked_where_the_first_has_moved(
    subscription: NovelAiSubscription, wall: Wall
) -> None:
    moved = {"statusCode": 400, "message": "Please refresh NovelAI.net."}
    wall.script(Refuse(status=400, body=moved), path=FIRST)
    wall.script(paid(3), path=SECOND)

    assert subscription.window_tokens(KEY, "kayra-v1") == 8192


@pytest.mark.parametrize(
    "behaviour",
    [
        Refuse(status=401),
        CutAfter(tokens=None),
        Replay(body=b"<html>", headers=JSON),
        Replay(body=b"[]", headers=JSON),
        Replay(body=b'{"perks":[]}', headers=JSON),
        Replay(body=b"{%b}" % (b" " * 100_000), headers=JSON),
        paid("3", context_tokens=True),
    ],
)
def test_a_question_without_an_answer_leaves_a_safe_window_and_is_not_asked_again_at_once(
    subscription: NovelAiSubscription, wall: Wall, clock: FrozenClock, behaviour: Step
) -> None:
    wall.script(behaviour, path=FIRST)
    wall.script([behaviour, paid(3)], path=SECOND)

    windows = [subscription.window_tokens(KEY, "kayra-v1") for _ in range(2)]
    clock.advance(KEPT_AFTER_FAILURE_S)
    windows.append(subscription.window_tokens(KEY, "kayra-v1"))

    assert windows == [SAFE_TOKENS, SAFE_TOKENS, 8192]
    assert len(wall.seen) == 4


class NeverDone(Work[Any]):
    """Work that does not end; counts who waits for it."""

    done = False

    def __init__(self) -> None:
        self.waits: list[float | None] = []

    def result(self, timeout_s: float | None) -> Any:
        self.waits.append(timeout_s)
        raise StillRunning("it is still running")

    def abandon(self, settle_s: float) -> bool:
        return False


class IdleRunner(Runner):
    """Takes work and does none of it."""

    running = 0

    def __init__(self) -> None:
        self.work = NeverDone()

    def start(self, work: object, name: str) -> Any:
        return self.work

    def here(self, work: object, look: object, *, first_look_s: float) -> Any:
        return self.work

    def close(self) -> None: ...


def test_one_turn_waits_a_bounded_time_for_a_slow_answer_and_the_next_one_not_at_all(
    http: HttpClient, clock: FrozenClock
) -> None:
    runner = IdleRunner()
    subscription = NovelAiSubscription(http=http, clock=clock, runner=runner, longest_wait_s=0.25)

    windows = [subscription.window_tokens(KEY, "kayra-v1") for _ in range(2)]

    assert windows == [SAFE_TOKENS, SAFE_TOKENS]
    assert runner.work.waits == [0.25]


def test_many_turns_at_once_ask_one_question(subscription: NovelAiSubscription, wall: Wall) -> None:
    everybody = threading.Barrier(8, timeout=WAIT_S)
    wall.script(Stall(after_tokens=None, for_s=0.1, then="close"), path=FIRST)
    wall.script(paid(2), path=SECOND)

    def ask(_: int) -> int:
        everybody.wait()
        return subscription.window_tokens(KEY, "kayra-v1")

    with ThreadPoolExecutor(8) as threads:
        windows = list(threads.map(ask, range(8), timeout=WAIT_S))

    assert windows == [6144] * 8
    assert len(wall.seen) == 2


def test_a_closed_runner_leaves_a_safe_window(
    subscription: NovelAiSubscription, runner: ThreadRunner
) -> None:
    runner.close()

    assert subscription.window_tokens(KEY, "kayra-v1") == SAFE_TOKENS


def test_no_key_is_kept(subscription: NovelAiSubscription, wall: Wall) -> None:
    wall.script(paid(3), path=FIRST)

    subscription.window_tokens(KEY, "kayra-v1")

    assert CANARY not in repr(vars(subscription))
