"""The catalogue of models: lists over real sockets, by a clock that stands still."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Event
from typing import Any, TypeVar

import pytest
from builders import a_model, an_endpoint
from fakes import FrozenClock, ScriptedProvider, says
from raw_server import NEVER_OPEN, WAIT_S, Peer, RawServer, answering, reply, serving

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.model import Limits
from turnkeeper.domain.model_facts import ModelFacts
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.model_catalogue import (
    KEPT_AFTER_FAILURE_S,
    KEPT_S,
    ListedProvider,
    ModelCatalogue,
)
from turnkeeper.infrastructure.providers.list_sources import ListSource, list_sources
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop, ThreadWork

T = TypeVar("T")

KEY = Secret("sk-c4n4ry-0123456789")
GONE = reply(b"{}", status="503 Service Unavailable")


class WatchedRunner(ThreadRunner):
    """A runner whose works can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.works: list[ThreadWork[Any]] = []

    def start(self, work: Callable[[Stop], T], name: str) -> ThreadWork[T]:
        started = super().start(work, name)
        self.works.append(started)
        return started

    def finish(self) -> int:
        """Wait for all that was started, and say how much that was."""
        for work in self.works:
            work.result(WAIT_S)
        return len(self.works)


@pytest.fixture
def runner() -> Iterator[WatchedRunner]:
    runner = WatchedRunner()
    yield runner
    runner.close()


@pytest.fixture
def http() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper/test")
    yield client
    client.close()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


Make = Callable[..., ModelCatalogue]


@pytest.fixture
def make(http: HttpClient, clock: FrozenClock, runner: WatchedRunner) -> Make:
    def make(base: str, **more: Any) -> ModelCatalogue:
        everywhere = dict.fromkeys(
            ("openrouter", "google", "anthropic", "groq", "lmstudio"), f"http://{base}/v1"
        )
        sources = list_sources(everywhere)
        return ModelCatalogue(http=http, clock=clock, runner=runner, sources=sources, **more)

    return make


def openrouter_list(window: int, name: str = "maker/model") -> bytes:
    return reply(json.dumps({"data": [{"id": name, "context_length": window}]}).encode())


def facts_of(window: int) -> ModelFacts:
    return ModelFacts(limits=Limits(window_tokens=window))


def test_nothing_is_known_until_the_list_was_read(make: Make, runner: WatchedRunner) -> None:
    with answering(openrouter_list(9000)) as server:
        catalogue = make(server.host)
        before = catalogue.facts("openrouter", "maker/model")
        runner.finish()

        assert (before, catalogue.facts("openrouter", "maker/model")) == (None, facts_of(9000))
    assert [one.line for one in server.received] == ["GET /v1/models HTTP/1.1"]


def test_nobody_waits_for_a_list_that_does_not_come(make: Make, runner: WatchedRunner) -> None:
    asked, let_go = Event(), Event()

    def talk(peer: Peer) -> None:
        peer.receive()
        asked.set()
        let_go.wait(WAIT_S)
        peer.send(openrouter_list(9000))

    with serving(talk) as server:
        catalogue = make(server.host)
        known = [catalogue.facts("openrouter", "maker/model")]
        assert asked.wait(WAIT_S)
        known += [catalogue.facts("openrouter", "maker/model") for _ in range(3)]
        let_go.set()

        assert (known, runner.finish()) == ([None] * 4, 1)
    assert catalogue.facts("openrouter", "maker/model") == facts_of(9000)


def test_a_list_is_read_again_after_a_day_and_not_before(
    make: Make, runner: WatchedRunner, clock: FrozenClock
) -> None:
    with answering(openrouter_list(1000), openrouter_list(2000)) as server:
        catalogue = make(server.host)
        seen = []
        for after_s in (0, KEPT_S - 1, 1, 0):
            clock.advance(after_s)
            seen.append(catalogue.facts("openrouter", "maker/model"))
            runner.finish()

    assert seen == [None, facts_of(1000), facts_of(1000), facts_of(2000)]
    assert len(server.received) == 2


def test_a_list_that_failed_is_asked_for_again_after_ten_minutes(
    make: Make, runner: WatchedRunner, clock: FrozenClock
) -> None:
    with answering(GONE, openrouter_list(2000)) as server:
        catalogue = make(server.host)
        seen = []
        for after_s in (0, KEPT_AFTER_FAILURE_S - 1, 1, 0):
            clock.advance(after_s)
            seen.append(catalogue.facts("openrouter", "maker/model"))
            runner.finish()

    assert seen == [None, None, None, facts_of(2000)]
    assert len(server.received) == 2


@pytest.mark.parametrize(
    "failure",
    [
        GONE,
        reply(b'{"data": []}'),
        reply(b'{"data": {"a": 1}}'),
        reply(b"<html>"),
        reply(b"[" * 100_000),
        reply(b"{}", status="302 Found", headers=f"Location: http://{NEVER_OPEN}/"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n",
    ],
)
def test_what_is_known_survives_a_later_failure(
    make: Make, runner: WatchedRunner, clock: FrozenClock, failure: bytes
) -> None:
    with answering(openrouter_list(1000), failure) as server:
        catalogue = make(server.host, lookup_limit_s=0.2)
        catalogue.facts("openrouter", "maker/model")
        runner.finish()
        clock.advance(KEPT_S)
        catalogue.facts("openrouter", "maker/model")
        runner.finish()

        assert catalogue.facts("openrouter", "maker/model") == facts_of(1000)
        assert (len(server.received), runner.finish()) == (2, 2)


def test_a_provider_that_cannot_be_reached_is_as_one_that_says_nothing(
    make: Make, runner: WatchedRunner
) -> None:
    catalogue = make(NEVER_OPEN)
    known = [catalogue.facts("openrouter", "maker/model")]
    runner.finish()
    known.append(catalogue.facts("openrouter", "maker/model"))

    assert (known, runner.finish()) == ([None, None], 1)


def test_no_runner_no_list_and_no_error(make: Make, runner: WatchedRunner) -> None:
    catalogue = make(NEVER_OPEN)
    runner.close()

    assert catalogue.facts("openrouter", "maker/model") is None


def test_a_closing_runner_ends_a_look_up(make: Make, runner: WatchedRunner) -> None:
    asked = Event()

    def talk(peer: Peer) -> None:
        peer.receive()
        asked.set()
        peer.wait_for_close()

    with serving(talk) as server:
        make(server.host, lookup_limit_s=WAIT_S).facts("openrouter", "maker/model")
        assert asked.wait(WAIT_S)
        runner.close()

        assert runner.running == 0


def test_one_provider_does_not_hold_up_another(make: Make, runner: WatchedRunner) -> None:
    both, let_go = [Event(), Event()], Event()

    def talk(peer: Peer) -> None:
        peer.receive()
        next(event for event in both if not event.is_set()).set()
        let_go.wait(WAIT_S)

    with serving(talk) as server:
        catalogue = make(server.host, lookup_limit_s=WAIT_S)
        catalogue.facts("openrouter", "maker/model")
        assert both[0].wait(WAIT_S)
        catalogue.offer("groq", KEY)
        assert both[1].wait(WAIT_S)
        let_go.set()

        assert runner.finish() == 2


@pytest.mark.parametrize("provider", ["deepseek", "openai", "custom:7", "unknown", ""])
def test_of_other_providers_nothing_is_known(
    make: Make, runner: WatchedRunner, provider: str
) -> None:
    catalogue = make(NEVER_OPEN)
    catalogue.offer(provider, KEY)

    assert (catalogue.facts(provider, "model"), runner.finish()) == (None, 0)


@pytest.mark.parametrize("name", ["maker/model:online", "maker/model"])
def test_a_variant_that_is_not_listed_is_taken_for_its_model(
    make: Make, runner: WatchedRunner, name: str
) -> None:
    with answering(openrouter_list(9000)) as server:
        catalogue = make(server.host)
        catalogue.facts("openrouter", name)
        runner.finish()

        assert catalogue.facts("openrouter", name) == facts_of(9000)


# ── lists that need a key ───────────────────────────────────────────────────────────────────

GOOGLE_LIST = reply(
    json.dumps({"models": [{"name": "models/gemini", "inputTokenLimit": 9000}]}).encode()
)


def test_a_list_that_needs_a_key_waits_for_one(make: Make, runner: WatchedRunner) -> None:
    with answering(GOOGLE_LIST) as server:
        catalogue = make(server.host)
        before = (catalogue.facts("google", "gemini"), runner.finish())
        catalogue.offer("google", KEY)
        runner.finish()

        assert before == (None, 0)
        assert catalogue.facts("google", "gemini") == facts_of(9000)
        assert catalogue.facts("google", "models/gemini") == facts_of(9000)


def test_a_second_key_is_not_needed_for_a_day(
    make: Make, runner: WatchedRunner, clock: FrozenClock
) -> None:
    with answering(GOOGLE_LIST) as server:
        catalogue = make(server.host)
        for after_s in (0, 1, KEPT_S - 2, 1):
            clock.advance(after_s)
            catalogue.offer("google", KEY)
            runner.finish()

    assert len(server.received) == 2


@pytest.mark.parametrize(
    ("provider", "line", "header", "value"),
    [
        ("google", "GET /v1/models?pageSize=1000 HTTP/1.1", "x-goog-api-key", KEY.reveal()),
        ("anthropic", "GET /v1/models?limit=1000 HTTP/1.1", "x-api-key", KEY.reveal()),
        ("anthropic", "GET /v1/models?limit=1000 HTTP/1.1", "anthropic-version", "2023-06-01"),
        ("groq", "GET /v1/models HTTP/1.1", "Authorization", f"Bearer {KEY.reveal()}"),
    ],
)
def test_the_key_goes_where_the_provider_looks_for_it(
    make: Make, runner: WatchedRunner, provider: str, line: str, header: str, value: str
) -> None:
    with answering(reply(b"{}")) as server:
        make(server.host).offer(provider, KEY)
        runner.finish()

    assert (server.received[0].line, server.received[0].headers[header]) == (line, value)


def test_a_public_list_is_never_shown_a_key(make: Make, runner: WatchedRunner) -> None:
    with answering(openrouter_list(9000)) as server:
        catalogue = make(server.host)
        catalogue.offer("openrouter", KEY)
        catalogue.facts("openrouter", "maker/model")
        runner.finish()

    assert [KEY.reveal() in str(one) for one in server.received] == [False]


def test_lm_studio_is_asked_the_former_way_if_the_present_one_fails(
    make: Make, runner: WatchedRunner
) -> None:
    former = reply(b'{"data": [{"id": "m", "max_context_length": 9000, "type": "llm"}]}')
    with answering(reply(b'{"error": "x"}', status="404 Not Found"), former) as server:
        catalogue = make(server.host)
        catalogue.offer("lm-studio", KEY)
        runner.finish()

        assert catalogue.facts("lmstudio", "m") == replace(facts_of(9000), images=False)
    assert [one.line.split()[1] for one in server.received] == ["/api/v1/models", "/api/v0/models"]


# ── keys come with calls ────────────────────────────────────────────────────────────────────


class TestListedProvider:
    @pytest.fixture
    def server(self) -> Iterator[RawServer]:
        with answering(GOOGLE_LIST) as server:
            yield server

    def ask(self, provider: ChatProvider, call: ChatCall, key: Secret | None) -> int:
        return len(list(provider.stream(call, key=key, stop=ThreadStop(), deadline=NEVER)))

    def test_a_call_with_a_key_is_answered_and_lets_the_list_be_read(
        self, make: Make, runner: WatchedRunner, server: RawServer
    ) -> None:
        catalogue = make(server.host)
        inner = ScriptedProvider(gemini=says("hello"))
        listed = ListedProvider(inner, name="google", catalogue=catalogue)
        call = ChatCall(model=a_model("gemini", "google"), conversation=Conversation())

        assert self.ask(listed, call, KEY) == 2
        runner.finish()
        assert catalogue.facts("google", "gemini") == facts_of(9000)
        assert inner.calls == [("gemini", KEY.reveal())]

    @pytest.mark.parametrize(("key", "at_endpoint"), [(None, False), (KEY, True)])
    def test_the_key_of_an_endpoint_is_shown_to_nobody_else(
        self,
        make: Make,
        runner: WatchedRunner,
        server: RawServer,
        key: Secret | None,
        at_endpoint: bool,
    ) -> None:
        inner = ScriptedProvider(gemini=says("hello"))
        listed = ListedProvider(inner, name="google", catalogue=make(server.host))
        call = ChatCall(
            model=a_model("gemini", "google"),
            conversation=Conversation(),
            endpoint=an_endpoint() if at_endpoint else None,
        )

        assert (self.ask(listed, call, key), runner.finish()) == (2, 0)


def test_no_key_shows_in_the_repr_of_what_is_kept(make: Make) -> None:
    source = ListSource(names=("a",), urls=("http://a/models",), read=lambda listed: {})

    assert KEY.reveal() not in repr((source, vars(make(NEVER_OPEN))))
