from collections.abc import Iterator

import pytest
from fakes import FrozenClock
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from past_turns import CANARY, ended, journal, ran, rescued, started

from turnkeeper.domain import events
from turnkeeper.domain.events import Entry
from turnkeeper.infrastructure.telemetry.aside import Aside
from turnkeeper.infrastructure.telemetry.genai import provider_name
from turnkeeper.infrastructure.telemetry.turn_spans import TurnSpans
from turnkeeper.infrastructure.threads import ThreadRunner

NOON_NS = round(FrozenClock().now().timestamp() * 1e9)


class Traced:
    """Listens with an SDK that keeps the spans."""

    def __init__(self, runner: ThreadRunner) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self._aside = Aside(runner)
        self.listen = TurnSpans(aside=self._aside, clock=FrozenClock(), tracers=self.provider)

    def of(self, entries: tuple[Entry, ...]) -> dict[str, ReadableSpan]:
        for entry in entries:
            self.listen(entry)
        return self.spans

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """By name."""
        assert self._aside.flush(30)
        return {span.name: span for span in self._kept.get_finished_spans()}


@pytest.fixture
def traced() -> Iterator[Traced]:
    runner = ThreadRunner()
    yield Traced(runner)
    runner.close()


def times(span: ReadableSpan) -> tuple[float, float]:
    """Start and end in seconds after noon."""
    assert span.start_time is not None
    assert span.end_time is not None
    began_ns, ended_ns = span.start_time - NOON_NS, span.end_time - NOON_NS
    return round(began_ns / 1e9, 6), round(ended_ns / 1e9, 6)


def test_a_turn_its_invocations_and_their_tools_are_spans_at_their_times(traced: Traced) -> None:
    spans = traced.of(rescued())

    assert {name: times(span) for name, span in spans.items()} == {
        "turnkeeper.turn": (0.0, 3.2),
        "chat model-0": (0.3, 1.0),
        "chat model-1": (1.1, 3.0),
        "execute_tool roll": (1.75, 2.25),
    }


def test_each_span_is_part_of_what_it_belongs_to(traced: Traced) -> None:
    spans = traced.of(rescued())
    name_of = {span.context.span_id: name for name, span in spans.items()}

    parents = {name: name_of[one.parent.span_id] for name, one in spans.items() if one.parent}

    assert parents == {
        "chat model-0": "turnkeeper.turn",
        "chat model-1": "turnkeeper.turn",
        "execute_tool roll": "chat model-1",
    }


def test_the_hosts_current_span_is_the_turns_parent(traced: Traced) -> None:
    with traced.provider.get_tracer("host").start_as_current_span("request") as request:
        spans = traced.of(rescued())

    parent = spans["turnkeeper.turn"].parent
    assert parent is not None
    assert parent.span_id == request.get_span_context().span_id


def test_an_invocation_has_the_names_of_the_conventions(traced: Traced) -> None:
    span = traced.of(rescued())["chat model-1"]

    assert span.kind is SpanKind.CLIENT
    assert span.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "wall",
        "gen_ai.request.model": "model-1",
        "gen_ai.response.model": "model-1-2026",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 34,
        "turnkeeper.attempt": 1,
        "turnkeeper.invocation": 1,
        "turnkeeper.adjust": "AsIs",
        "turnkeeper.key_id": 1,
        "turnkeeper.route": "server",
        "turnkeeper.outcome": "Answered",
    }


def test_a_failed_invocation_says_its_kind_and_nothing_of_what_was_said(traced: Traced) -> None:
    span = traced.of(rescued())["chat model-0"]

    assert span.attributes is not None
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "rate_limit"
    assert CANARY not in span.to_json()
    assert "private thing" not in span.to_json()


def test_a_tool_has_the_names_of_the_conventions(traced: Traced) -> None:
    span = traced.of(rescued())["execute_tool roll"]

    assert span.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "roll",
        "gen_ai.tool.type": "function",
        "turnkeeper.tool.state": "done",
        "turnkeeper.tool.replayed": False,
    }


def test_what_happens_around_the_invocations_is_noted_on_the_turn(traced: Traced) -> None:
    turn = traced.of(rescued())["turnkeeper.turn"]

    assert [event.name for event in turn.events] == [
        "key_leased",
        "message_posted",
        "message_taken_back",
    ]


@pytest.mark.parametrize(
    ("status", "code"),
    [("completed", StatusCode.UNSET), ("timeout", StatusCode.ERROR), ("error", StatusCode.ERROR)],
)
def test_a_turn_is_an_error_where_nobody_was_answered(
    traced: Traced, status: str, code: StatusCode
) -> None:
    spans = traced.of(journal((0, started()), (1, ended(status)), (1, events.CleanedUp())))

    assert spans["turnkeeper.turn"].status.status_code is code


def test_an_invocation_that_was_cut_off_ends_with_its_turn(traced: Traced) -> None:
    spans = traced.of(
        journal((0, started()), (1, ran(0, 0)), (3, ended("error")), (4, events.CleanedUp()))
    )

    assert times(spans["chat model-0"]) == (1.0, 4.0)


def test_events_that_come_out_of_order_make_the_same_spans(traced: Traced) -> None:
    first, *middle, last = rescued()

    spans = traced.of((first, *reversed(middle), last))

    assert times(spans["execute_tool roll"]) == (1.75, 2.25)


def test_a_turn_that_still_runs_has_no_span_yet(traced: Traced) -> None:
    assert traced.of(rescued()[:-1]) == {}


def test_what_comes_after_a_turn_begins_no_other(traced: Traced) -> None:
    traced.of(rescued())
    late = events.MessageTakenBack(message_id="m9", late=True)

    traced.listen(Entry(turn_id="t1", seq=14, at_s=9.0, event=late))
    traced.listen(Entry(turn_id="t1", seq=15, at_s=9.0, event=events.CleanedUp()))

    assert len(traced.spans) == 4


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("google", "gcp.gemini"),
        ("mistral", "mistral_ai"),
        ("openai", "openai"),
        ("custom:7", "custom"),
    ],
)
def test_providers_have_the_names_of_the_conventions(ours: str, theirs: str) -> None:
    assert provider_name(ours) == theirs


def test_the_names_are_those_of_the_published_conventions() -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as published

    from turnkeeper.infrastructure.telemetry import genai

    ours = {value for value in vars(genai).values() if str(value).startswith("gen_ai.")}

    assert ours <= set(map(str, vars(published).values()))
