"""What every provider of chat models does.

Subclass as Test… and give `provider`, which speaks to the wall's address, and `dialects` if the
wall is to speak another one than OpenAI's.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from builders import a_model

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.runner import Cancelled
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER, Deadline
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.wall import answer as walls
from turnkeeper.infrastructure.wall.behaviour import (
    Behaviour,
    BigEvent,
    CommentsOnly,
    CutAfter,
    InBandError,
    Malformed,
    Refuse,
    Replay,
    Reset,
    Stall,
)
from turnkeeper.infrastructure.wall.dialect import Dialect, OpenAiDialect
from turnkeeper.infrastructure.wall.server import Wall

WAIT_S = 10.0
CANARY = "canary-0f9d3b"
KEY = Secret(CANARY)
HELLO = walls.Answer(tokens=("Hel", "lo ", "there"), reasoning=("Greet", " them."))
LEAK = f"Incorrect key: {CANARY}"


class ChatProviderContract:
    dialects: tuple[Dialect, ...] = (OpenAiDialect(),)

    @pytest.fixture
    def wall(self) -> Iterator[Wall]:
        with Wall(dialects=self.dialects) as wall:
            yield wall

    @pytest.fixture
    def http(self) -> Iterator[HttpClient]:
        client = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
        yield client
        client.close()

    @pytest.fixture
    def provider(self, wall: Wall, http: HttpClient) -> ChatProvider:
        raise NotImplementedError

    @pytest.fixture
    def unreachable(self, http: HttpClient) -> ChatProvider:
        """The provider at an address where nobody listens."""
        raise NotImplementedError

    def call(self, model: str = "alpha") -> ChatCall:
        return ChatCall(model=a_model(model), conversation=Conversation.of("Say hello."))

    def events(self, provider: ChatProvider, model: str = "alpha") -> list[StreamEvent]:
        return list(provider.stream(self.call(model), key=KEY, stop=ThreadStop(), deadline=NEVER))

    def failure(self, provider: ChatProvider) -> Failure:
        last = self.events(provider)[-1]
        assert isinstance(last, StreamFailed)
        return last.failure

    def test_an_answer_comes_whole_and_ends_well(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(HELLO)

        events = self.events(provider)

        assert text_of(events) == "Hello there"
        assert thoughts_of(events) == "Greet them."
        assert [event.reason for event in events if isinstance(event, Finished)] == [
            FinishReason.STOP
        ]

    @pytest.mark.parametrize("burst", [True, False])
    def test_the_end_comes_once_and_last(
        self, provider: ChatProvider, wall: Wall, burst: bool
    ) -> None:
        wall.script(walls.Answer(text="one two three", burst=burst))

        events = self.events(provider)

        assert [is_terminal(event) for event in events] == [False] * (len(events) - 1) + [True]

    def test_usage_is_reported_once(self, provider: ChatProvider, wall: Wall) -> None:
        counts = walls.Usage(input_tokens=7, output_tokens=3)
        wall.script(walls.Answer(text="hi", usage=counts))

        usages = [event for event in self.events(provider) if isinstance(event, Usage)]

        assert [(usage.input_tokens, usage.output_tokens) for usage in usages] == [(7, 3)]

    def test_tool_calls_come_whole_and_apart(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(
            walls.Answer(
                tool_calls=(
                    walls.ToolCall(name="look", arguments=('{"at"', ':"sea"}')),
                    walls.ToolCall(name="wait"),
                )
            )
        )

        events = self.events(provider)

        assert calls_of(events) == [("look", '{"at":"sea"}'), ("wait", "{}")]
        assert isinstance(events[-1], Finished)
        assert events[-1].reason is FinishReason.TOOL_CALLS

    def test_text_comes_before_the_answer_is_complete(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(Stall(after_tokens=2, of=walls.Answer(tokens=("a", "b", "c"))))
        stream = provider.stream(self.call(), key=KEY, stop=ThreadStop(), deadline=NEVER)

        first = next(event for event in stream if isinstance(event, TextDelta))

        assert first.text in ("a", "ab")

    def test_closing_the_stream_hangs_up(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(Stall(after_tokens=1))
        stream = provider.stream(self.call(), key=KEY, stop=ThreadStop(), deadline=NEVER)
        next(event for event in stream if isinstance(event, TextDelta))

        stream.close()  # type: ignore[attr-defined]

        assert wall.seen[0].client_gone.wait(WAIT_S)

    @pytest.mark.parametrize(
        "silence", [Stall(after_tokens=None), Stall(after_tokens=0), Stall(after_tokens=2)]
    )
    def test_the_stop_ends_a_read_that_waits(
        self, provider: ChatProvider, wall: Wall, silence: Stall
    ) -> None:
        wall.script(silence)
        stop = ThreadStop()

        def read() -> list[StreamEvent]:
            return list(provider.stream(self.call(), key=KEY, stop=stop, deadline=NEVER))

        with ThreadPoolExecutor(1) as threads:
            reading = threads.submit(read)
            wall.await_seen(1, timeout_s=WAIT_S)
            stop.set()

            with pytest.raises(Cancelled):
                reading.result(WAIT_S)
        assert wall.seen[0].client_gone.wait(WAIT_S)

    def test_nothing_is_asked_once_stopped(self, provider: ChatProvider, wall: Wall) -> None:
        stop = ThreadStop()
        stop.set()

        with pytest.raises(Cancelled):
            list(provider.stream(self.call(), key=KEY, stop=stop, deadline=NEVER))
        assert wall.seen == ()

    def test_nothing_is_asked_past_the_deadline(self, provider: ChatProvider, wall: Wall) -> None:
        events = list(
            provider.stream(self.call(), key=KEY, stop=ThreadStop(), deadline=Deadline(0.0))
        )

        assert [kind_of(event) for event in events] == [FailureKind.TIMEOUT]
        assert wall.seen == ()

    @pytest.mark.parametrize("then", ["end", "close", "reset"])
    @pytest.mark.parametrize("more", [0, 20])
    def test_an_answer_that_breaks_off_is_a_failure(
        self, provider: ChatProvider, wall: Wall, then: str, more: int
    ) -> None:
        wall.script(CutAfter(tokens=40, then=then, bytes_more=more))  # type: ignore[arg-type]

        assert self.failure(provider).kind is FailureKind.NETWORK

    @pytest.mark.parametrize(
        "behaviour",
        [Reset(), CutAfter(tokens=None), CutAfter(tokens=0), CutAfter(tokens=0, then="end")],
        ids=["reset", "no head", "no body", "empty body"],
    )
    def test_no_answer_at_all_is_a_failure(
        self, provider: ChatProvider, wall: Wall, behaviour: Behaviour
    ) -> None:
        wall.script(behaviour)

        assert self.failure(provider).kind is FailureKind.NETWORK

    def test_an_event_that_is_broken_is_a_failure(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(Malformed(after_tokens=3))

        assert self.failure(provider).kind is FailureKind.NETWORK

    def test_an_event_without_end_is_a_failure(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(BigEvent(size_bytes=None))

        assert self.failure(provider).kind is FailureKind.SERVER_ERROR

    def test_keep_alive_comments_are_no_text(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(CommentsOnly(every_s=0.001, for_s=0.01, of=HELLO))

        assert text_of(self.events(provider)) == "Hello there"

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (400, FailureKind.BAD_REQUEST),
            (401, FailureKind.AUTH),
            (402, FailureKind.QUOTA),
            (403, FailureKind.PERMISSION),
            (404, FailureKind.MODEL_NOT_FOUND),
            (429, FailureKind.RATE_LIMIT),
            (500, FailureKind.SERVER_ERROR),
            (503, FailureKind.OVERLOADED),
            (307, FailureKind.BAD_REQUEST),
        ],
    )
    def test_a_refusal_is_one_failure(
        self, provider: ChatProvider, wall: Wall, status: int, kind: FailureKind
    ) -> None:
        wall.script(Refuse(status=status, body="No."))

        events = self.events(provider)

        assert [kind_of(event) for event in events] == [kind]

    def test_a_refusal_says_how_long_to_wait(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(Refuse(status=429, headers=(("Retry-After", "2"),)))

        assert self.failure(provider).retry_after_s == 2.0

    def test_an_error_within_an_answer_is_a_failure(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script(InBandError(status=429, after_tokens=5))

        failure = self.failure(provider)

        assert (failure.kind, failure.in_band) == (FailureKind.RATE_LIMIT, True)

    def test_a_page_of_html_is_no_answer(self, provider: ChatProvider, wall: Wall) -> None:
        page = b"<!DOCTYPE html><html><title>Oops</title></html>"
        wall.script(Replay(body=page, headers=(("Content-Type", "text/html"),)))

        assert self.failure(provider).kind is FailureKind.SERVER_ERROR

    def test_an_address_where_nobody_listens_is_a_failure(self, unreachable: ChatProvider) -> None:
        assert self.failure(unreachable).kind is FailureKind.NETWORK

    @pytest.mark.parametrize(
        "behaviour",
        [
            Refuse(status=400, body={"error": {"message": LEAK, "code": LEAK, "param": CANARY}}),
            Refuse(status=401, body={"error": LEAK}),
            Refuse(status=500, body=f"<html>{LEAK}</html>"),
            Refuse(status=503, body=LEAK),
            InBandError(status=401, message=LEAK, after_tokens=2),
            Malformed(payload=f"data: {{{LEAK}\n\n".encode()),
            Malformed(payload=f'{{"error": "{LEAK}"}}\n\n'.encode(), then="end"),
            Replay(body=LEAK.encode()),
            Replay(body=f'{{"error": "{LEAK}"}}'.encode()),
            Reset(),
        ],
    )
    def test_the_key_shows_nowhere(
        self, provider: ChatProvider, wall: Wall, behaviour: Behaviour
    ) -> None:
        wall.script(behaviour)

        events = self.events(provider)

        assert isinstance(events[-1], StreamFailed)
        assert CANARY not in repr(events)

    def test_the_key_shows_in_no_exception(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(Stall(after_tokens=1))
        stop = ThreadStop()
        stream = provider.stream(self.call(), key=KEY, stop=stop, deadline=NEVER)
        next(event for event in stream if isinstance(event, TextDelta))
        stop.set()

        with pytest.raises(Cancelled) as raised:
            list(stream)

        links = [raised.value, raised.value.__cause__, raised.value.__context__]
        assert CANARY not in repr(links)

    def test_the_key_is_sent(self, provider: ChatProvider, wall: Wall) -> None:
        wall.script(HELLO)

        self.events(provider)

        assert [seen.key for seen in wall.seen] == [CANARY]

    def test_the_next_call_uses_the_same_connection(
        self, provider: ChatProvider, wall: Wall
    ) -> None:
        wall.script([HELLO, Refuse(status=429), HELLO])

        for _ in range(3):
            self.events(provider)

        assert (len(wall.seen), wall.connections) == (3, 1)

    def test_calls_of_many_threads_stay_apart(self, provider: ChatProvider, wall: Wall) -> None:
        models = [f"model-{number}" for number in range(8)]
        for model in models:
            wall.script(walls.Answer(tokens=(model, "!") * 20), model=model)
        ready = threading.Barrier(len(models), timeout=WAIT_S)

        def ask(model: str) -> str:
            ready.wait()
            return "".join(text_of(self.events(provider, model)) for _ in range(5))

        with ThreadPoolExecutor(len(models)) as threads:
            texts = list(threads.map(ask, models, timeout=WAIT_S * 3))

        assert texts == [f"{model}!" * 100 for model in models]


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thoughts_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ReasoningDelta))


def calls_of(events: list[StreamEvent]) -> list[tuple[str, str]]:
    """Names and arguments of the calls, in order; each begins with an id and its name."""
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    for event in events:
        if isinstance(event, ToolCallDelta):
            if event.index not in names:
                assert event.call_id
                assert event.name
                names[event.index] = event.name
            arguments[event.index] = arguments.get(event.index, "") + event.arguments
    return [(names[index], arguments[index]) for index in sorted(names)]


def is_terminal(event: StreamEvent) -> bool:
    return isinstance(event, Finished | StreamFailed)


def kind_of(event: StreamEvent) -> FailureKind | None:
    return event.failure.kind if isinstance(event, StreamFailed) else None
